"""The adapter for the OpenAI Agents SDK: the events and activations that it reports.

Whole systems, healthy and broken, are in tests/zoo/openai_agents.
"""

import asyncio

import digd
import digd.openai_agents
import digd.sync
import pytest
from agents import Runner, function_tool, handoff
from agents.run import get_default_agent_runner
from agents.testing import ModelStep

from client_helpers import async_test, url_of
from framework_runs import read_run
from openai_agents_helpers import (
    Why,
    activations_of,
    answers,
    calls,
    detections_of,
    hands_to,
    ignore,
    kinds_of,
    scripted,
)


@async_test
async def test_one_run_is_a_task_an_activation_and_a_submitted_answer(shared_daemon):
    async with digd.Run("one-run", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(scripted("ann", answers("7")), "How many?")
    assert kinds_of(shared_daemon, "one-run") == [("task", ["ann"]), ("answer*", [])]
    assert activations_of(shared_daemon, "one-run") == [("ann", ["consume"])]
    assert read_run(shared_daemon, "one-run")["ended"] == "success"


@async_test
async def test_a_result_followed_by_another_run_is_a_notice_and_no_answer(shared_daemon):
    ann, bob = scripted("ann", answers("an outline")), scripted("bob", answers("a story"))
    async with digd.Run("two-runs", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(ann, "Outline it.")
        with digd.openai_agents.attach(run):
            await Runner.run(bob, "Write it.")
    assert kinds_of(shared_daemon, "two-runs") == [
        ("task", ["ann"]),
        ("answer", ["bob"]),
        ("task", ["bob"]),
        ("answer*", []),
    ]
    assert activations_of(shared_daemon, "two-runs") == [("ann", ["consume"]), ("bob", ["consume", "consume"])]


@async_test
async def test_equal_questions_are_separate_events(shared_daemon):
    solver = scripted("solver", *(answers(n) for n in "787"))
    async with digd.Run("votes", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await asyncio.gather(*(Runner.run(solver, "What is 3 + 4?") for _ in range(3)))
    assert sorted(kinds_of(shared_daemon, "votes")) == [("answer*", [])] + [("task", ["solver"])] * 3
    assert not detections_of(shared_daemon, "votes")


@async_test
async def test_a_bare_handoff_is_a_reroute_only_to_an_agent_that_had_the_task(shared_daemon):
    triage, billing, sales = (
        scripted("triage", hands_to("billing"), hands_to("sales")),
        scripted("billing"),
        scripted("sales", answers("I can help.")),
    )
    billing.model.enqueue(hands_to("triage"))
    triage.handoffs, billing.handoffs = [billing, sales], [triage]
    async with digd.Run("handed", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(triage, "Who can help?")
    assert kinds_of(shared_daemon, "handed") == [
        ("task", ["triage"]),
        ("handoff", ["billing", "triage"]),
        ("handoff", ["sales"]),
        ("answer*", []),
    ]
    assert [agent for agent, _ in activations_of(shared_daemon, "handed")] == ["triage", "billing", "triage", "sales"]


@async_test
async def test_agents_in_tools_are_requests_and_answers(shared_daemon):
    inner, streamed = scripted("inner", answers("7")), scripted("streamed", answers("8"))

    @function_tool
    async def ask() -> str:
        return (await Runner.run(inner, "How many?")).final_output

    async def look_on(event):
        pass

    lead = scripted(
        "lead",
        [calls("ask"), calls("stream", input="And now?")],
        answers("7 or 8"),
        tools=[ask, streamed.as_tool("stream", "streams", on_stream=look_on)],
    )
    async with digd.Run("requests", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            assert (await Runner.run(lead, "Count.")).final_output == "7 or 8"
    kinds = [kind for kind, _ in kinds_of(shared_daemon, "requests")]
    assert sorted(kinds) == ["answer", "answer", "answer*", "request", "request", "task"]
    assert not detections_of(shared_daemon, "requests") and run.counters.errors == {}


@async_test
async def test_a_failed_agent_tool_is_open_only_until_its_caller_tries_something_else(shared_daemon):
    first, second = scripted("first", ModelStep.raise_error(RuntimeError("down"))), scripted("second", answers("7"))
    lead = scripted(
        "lead",
        [calls("ask_first", input="x")],
        [calls("ask_second", input="x")],
        answers("7"),
        tools=[first.as_tool("ask_first", "x"), second.as_tool("ask_second", "x")],
    )
    async with digd.Run("fallback", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(lead, "Count.")
    assert [(a, r) for a, r in activations_of(shared_daemon, "fallback") if a == "first"] == [("first", ["consume"])]
    assert not detections_of(shared_daemon, "fallback")


@async_test
async def test_an_exception_that_leaves_the_run_is_a_failure_and_one_that_is_caught_is_not(shared_daemon):
    for name, is_caught in (("caught", True), ("left", False)):
        clerk = scripted("clerk", ModelStep.raise_error(ConnectionError("no network")))
        with pytest.raises(ConnectionError):
            async with digd.Run(name, url=url_of(shared_daemon)) as run:
                with digd.openai_agents.attach(run):
                    try:
                        await Runner.run(clerk, "Do it.")
                    except ConnectionError:
                        if not is_caught:
                            raise
            if is_caught:
                raise ConnectionError("after the run")
        (activation,) = read_run(shared_daemon, f"{name}/graph")["activations"]
        assert bool(activation.get("failed")) != is_caught
        assert read_run(shared_daemon, name)["ended"] == ("success" if is_caught else "failure")


@async_test
async def test_a_run_that_waits_for_an_approval_stays_one_activation(shared_daemon):
    @function_tool(needs_approval=True)
    def pay():
        return "paid"

    payer = scripted("payer", [calls("pay")], answers("I paid it."), tools=[pay])
    clerk = scripted(
        "clerk", [calls("payer", input="Pay.")], answers("It is paid."), tools=[payer.as_tool("payer", "pays")]
    )
    async with digd.Run("approved", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(clerk, "Pay it.")
            state = result.to_state()
            state.approve(result.interruptions[0])
            assert (await Runner.run(clerk, state)).final_output == "It is paid."
    assert activations_of(shared_daemon, "approved") == [
        ("clerk", ["consume"]),
        ("payer", ["consume"]),
        ("clerk", ["consume"]),
    ]
    assert not detections_of(shared_daemon, "approved") and run.counters.errors == {}


@async_test
async def test_a_missing_approval_leaves_its_task_pending(shared_daemon):
    @function_tool(needs_approval=True)
    def pay():
        return "paid"

    clerk = scripted("clerk", [calls("pay")], tools=[pay])
    async with digd.Run("unapproved", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(clerk, "Pay it.")
    assert activations_of(shared_daemon, "unapproved") == [("clerk", ["wait"])]
    assert not detections_of(shared_daemon, "unapproved")


@async_test
async def test_an_agent_outside_a_closed_roster_joins_before_it_runs(shared_daemon):
    billing = scripted("billing", answers("It is right."))
    triage = scripted(
        "triage", hands_to("billing", reason="money"), handoffs=[handoff(billing, input_type=Why, on_handoff=ignore)]
    )
    async with digd.Run("joined", agents=["triage"], mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(triage, "Is it right?")
    assert kinds_of(shared_daemon, "joined")[1] == ("handoff", ["billing"])
    assert not detections_of(shared_daemon, "joined")


@async_test
async def test_only_the_attached_task_is_watched(shared_daemon):
    outside, inside = scripted("outside", answers("a")), scripted("inside", answers("b"))
    attached, done = asyncio.Event(), asyncio.Event()

    async def elsewhere():
        await attached.wait()
        await Runner.run(outside, "Go.")
        done.set()

    task = asyncio.create_task(elsewhere())
    async with digd.Run("inside-only", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            attached.set()
            await done.wait()
            await Runner.run(inside, "Go.")
    await task
    assert [agent for agent, _ in activations_of(shared_daemon, "inside-only")] == ["inside"]


@async_test
async def test_concurrent_digd_runs_stay_separate(shared_daemon):
    async def run_named(name):
        async with digd.Run(f"at-once-{name}", url=url_of(shared_daemon)) as run:
            with digd.openai_agents.attach(run):
                await Runner.run(scripted(name, answers(name)), "Go.")

    before = get_default_agent_runner()
    await asyncio.gather(*(run_named(name) for name in ("ann", "bob", "cid")))
    assert get_default_agent_runner() is before
    for name in ("ann", "bob", "cid"):
        assert [agent for agent, _ in activations_of(shared_daemon, f"at-once-{name}")] == [name]


def test_a_synchronous_program_is_watched_through_the_synchronous_run(shared_daemon):
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        with digd.sync.Run("synchronous", mode="enforce", url=url_of(shared_daemon)) as run:
            with digd.openai_agents.attach(run):
                assert Runner.run_sync(scripted("ann", answers("7")), "How many?").final_output == "7"
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    assert kinds_of(shared_daemon, "synchronous") == [("task", ["ann"]), ("answer*", [])]


@async_test
async def test_a_stream_is_watched_after_detaching_and_logged_as_lost_after_the_run(shared_daemon, caplog):
    runner = get_default_agent_runner()
    async with digd.Run("stream-inside", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = Runner.run_streamed(scripted("ann", answers("7")), "How many?")
        async for _ in result.stream_events():
            pass
    assert kinds_of(shared_daemon, "stream-inside") == [("task", ["ann"]), ("answer*", [])]
    assert get_default_agent_runner() is runner and not caplog.records
    async with digd.Run("stream-outside", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = Runner.run_streamed(scripted("ann", answers("7")), "How many?")
    async for _ in result.stream_events():
        pass
    assert result.final_output == "7" and get_default_agent_runner() is runner
    assert [r.levelname for r in caplog.records if "has ended, but agent runs" in r.message] == ["WARNING"]


@async_test
async def test_a_run_after_the_digd_run_is_logged_as_not_watched(shared_daemon, caplog):
    agent = scripted("ann", answers("1"), answers("2"), answers("3"))
    run = digd.Run("over", url=url_of(shared_daemon))
    with digd.openai_agents.attach(run):
        async with run:
            await Runner.run(agent, "Count.")
        assert [(await Runner.run(agent, "Go on.")).final_output for _ in range(2)] == ["2", "3"]
    assert len([r for r in caplog.records if "they are not watched" in r.message]) == 1


@async_test
async def test_a_cancelled_program_logs_nothing_and_ends_aborted(shared_daemon, caplog):
    started, never = asyncio.Event(), asyncio.Event()

    async def wait_forever(call):
        started.set()
        await never.wait()

    async def program():
        async with digd.Run("cancelled", mode="enforce", url=url_of(shared_daemon)) as run:
            with digd.openai_agents.attach(run):
                await Runner.run(scripted("slow", ModelStep.respond(wait_forever)), "Go.")

    task = asyncio.create_task(program())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert read_run(shared_daemon, "cancelled")["ended"] == "aborted" and not detections_of(shared_daemon, "cancelled")
    assert not caplog.records


@async_test
async def test_the_daemon_accepts_any_name_of_an_agent(shared_daemon, caplog):
    async with digd.Run("names", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            for name in ("", "é" * 300, "a\ud800b"):
                await Runner.run(scripted(name, answers("7")), "How many?")
    assert run.counters.errors == {} and not [r for r in caplog.records if r.name == "digd"]
    assert len(activations_of(shared_daemon, "names")) == 3
