"""The adapter for the OpenAI Agents SDK: what it reports, what it leaves alone, and what it costs.

Whole systems, healthy and broken, are in tests/zoo/openai_agents.
"""

import asyncio
import concurrent.futures
import contextvars
import itertools
import json
import threading

import digd
import digd.openai_agents
import digd.sync
import pytest
from agents import (
    Agent,
    MaxTurnsExceeded,
    RunConfig,
    RunHooks,
    Runner,
    SQLiteSession,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from agents.run import get_default_agent_runner
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from digd.openai_agents.conversation import Conversation
from pydantic import BaseModel

from client_helpers import async_test, nobody, url_of
from framework_runs import WINDOW_MS, fired, told_of

set_tracing_disabled(True)

NOTE = "Note from the monitor of this run"
ids = itertools.count(1)


class Why(BaseModel):
    reason: str


async def ignore(context, why: Why):
    pass


def answers(text):
    return [assistant_message(text)]


def calls(tool, **arguments):
    return function_call(tool, json.dumps(arguments), call_id=f"call-{next(ids)}")


def hands_to(agent, **arguments):
    return [calls(f"transfer_to_{agent}", **arguments)]


def scripted(name, *steps, **options):
    return Agent(name=name, model=ScriptedModel(steps), **options)


def read_by(agent, call=-1):
    """The input of one of the agent's model calls, as one text."""
    return json.dumps(agent.model.calls[call].input, default=str)


def failing_researcher():
    """A writer whose researcher fails once, and who answers too early."""
    researcher = scripted("researcher", ModelStep.raise_error(RuntimeError("down")), answers("42 sources"))
    return scripted(
        "writer",
        [calls("research", input="find")],
        answers("Done without."),
        [calls("research", input="find")],
        answers("Done, with 42."),
        tools=[researcher.as_tool("research", "finds sources")],
    )


def detections_of(daemon, run):
    return [entry["detection"]["rule"] for entry in told_of(daemon, f"{run}/detections")["detections"]]


def activations_of(daemon, run):
    return [(a["agent"], [i["reaction"] for i in a["inputs"]]) for a in told_of(daemon, f"{run}/graph")["activations"]]


def kinds_of(daemon, run):
    """Each event's kind, submitted ones marked by a star, with its recipients."""
    events = told_of(daemon, f"{run}/graph")["events"]
    return [(e["kind"] + "*" * bool(e.get("submit")), [d["agent"] for d in e["deliveries"]]) for e in events]


# ---- what is reported


@async_test
async def test_one_run_is_a_task_an_activation_and_a_submitted_answer(shared_daemon):
    async with digd.Run("one-run", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(scripted("ann", answers("7")), "How many?")
    assert kinds_of(shared_daemon, "one-run") == [("task", ["ann"]), ("answer*", [])]
    assert activations_of(shared_daemon, "one-run") == [("ann", ["consume"])]
    assert told_of(shared_daemon, "one-run")["ended"] == "success"


@async_test
async def test_a_result_that_a_later_run_follows_is_information_for_it_and_no_answer(shared_daemon):
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
async def test_a_bare_handoff_is_new_work_and_a_reroute_only_back_to_an_agent_that_had_it(shared_daemon):
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
        (activation,) = told_of(shared_daemon, f"{name}/graph")["activations"]
        assert bool(activation.get("failed")) != is_caught
        assert told_of(shared_daemon, name)["ended"] == ("success" if is_caught else "failure")


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
async def test_an_approval_that_nobody_gives_in_this_run_leaves_its_task_pending(shared_daemon):
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
async def test_an_agent_outside_a_closed_roster_joins_when_it_is_about_to_run(shared_daemon):
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
async def test_only_the_task_that_is_attached_is_watched(shared_daemon):
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
async def test_two_digd_runs_at_once_are_told_apart(shared_daemon):
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
async def test_a_stream_is_watched_after_the_attachment_and_reported_as_lost_after_the_run(shared_daemon, caplog):
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
async def test_a_run_after_the_digd_run_is_reported_as_not_watched(shared_daemon, caplog):
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

    async def wait_for_ever(call):
        started.set()
        await never.wait()

    async def program():
        async with digd.Run("cancelled", mode="enforce", url=url_of(shared_daemon)) as run:
            with digd.openai_agents.attach(run):
                await Runner.run(scripted("slow", ModelStep.respond(wait_for_ever)), "Go.")

    task = asyncio.create_task(program())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told_of(shared_daemon, "cancelled")["ended"] == "aborted" and not detections_of(shared_daemon, "cancelled")
    assert not caplog.records


@async_test
async def test_any_name_of_an_agent_is_one_that_the_daemon_takes(shared_daemon, caplog):
    async with digd.Run("names", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            for name in ("", "é" * 300, "a\ud800b"):
                await Runner.run(scripted(name, answers("7")), "How many?")
    assert run.counters.errors == {} and not [r for r in caplog.records if r.name == "digd"]
    assert len(activations_of(shared_daemon, "names")) == 3


# ---- what is left alone


@async_test
async def test_the_default_mode_is_shadow_and_only_enforce_gives_an_early_answer_back(shared_daemon, monkeypatch):
    monkeypatch.delenv("DIGD_MODE", raising=False)
    for name, mode, answer in (
        ("early-default", None, "Done without."),
        ("early-enforced", "enforce", "Done, with 42."),
    ):
        writer = failing_researcher()
        async with digd.Run(name, mode=mode, url=url_of(shared_daemon)) as run:
            with digd.openai_agents.attach(run):
                result = await Runner.run(writer, "Write a report.")
        assert result.final_output == answer
        assert any(NOTE in read_by(writer, call) for call in range(len(writer.model.calls))) == (mode == "enforce")
        found, *_ = fired(shared_daemon, name, "early_termination")
        assert found["healed"] == (mode == "enforce")


@async_test
async def test_an_attachment_after_the_hello_follows_no_verdict_either(shared_daemon, monkeypatch):
    monkeypatch.delenv("DIGD_MODE", raising=False)
    async with digd.Run("late", url=url_of(shared_daemon)) as run:
        await run.emit(["somebody"], fyi=True)
        assert run.connected and run.welcome["mode"] == "enforce"
        with digd.openai_agents.attach(run):
            assert (await Runner.run(failing_researcher(), "Write a report.")).final_output == "Done without."
    found, *_ = fired(shared_daemon, "late", "early_termination")
    assert not found["healed"] and found["cause"] == "as_is"


@async_test
async def test_shadow_and_mode_off_take_no_turn_of_the_event_loop(shared_daemon):
    async def turns_of_the_loop(mode):
        helper = scripted("helper", answers("7"))
        billing = scripted(
            "billing", [calls("ask", input="x")], answers("It is right."), tools=[helper.as_tool("ask", "x")]
        )
        triage = scripted("triage", hands_to("billing"), handoffs=[billing])
        count = 0

        async def tick():
            nonlocal count
            while True:
                count += 1
                await asyncio.sleep(0)

        async def work():
            nonlocal count
            task = asyncio.create_task(tick())
            await asyncio.sleep(0)
            count = 0
            await Runner.run(triage, "Is it right?")
            task.cancel()
            return count

        if mode is None:
            return await work()
        async with digd.Run(mode=mode, url=url_of(shared_daemon)) as run:
            with digd.openai_agents.attach(run):
                return await work()

    plain = await turns_of_the_loop(None)
    assert await turns_of_the_loop("shadow") == plain and await turns_of_the_loop("off") == plain
    assert await turns_of_the_loop("enforce") > plain


@async_test
async def test_enforce_waits_once_for_each_held_message_and_never_otherwise(shared_daemon, monkeypatch):
    waits = []
    verdicts = digd.session.Session.verdicts

    async def counted(self, ticket):
        if ticket.verdicts is None:
            waits.append(ticket)
        return await verdicts(self, ticket)

    monkeypatch.setattr(digd.session.Session, "verdicts", counted)
    monkeypatch.setattr(asyncio, "sleep", None)
    helper = scripted("helper", answers("7"))
    billing = scripted(
        "billing", [calls("ask", input="x")], answers("It is right."), tools=[helper.as_tool("ask", "x")]
    )
    triage = scripted("triage", hands_to("billing"), handoffs=[billing])
    async with digd.Run("held", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(triage, "Is it right?")
        assert len(waits) == 4  # task, hand-off, request, its answer
    assert len(waits) == 4 and run.counters.timeouts == 0


@async_test
async def test_mode_off_leaves_no_trace(shared_daemon):
    before = get_default_agent_runner()
    threads, tasks = threading.active_count(), len(asyncio.all_tasks())
    agent = scripted("ann", answers("7"), answers("8"), answers("9"))
    async with digd.Run("off", mode="off", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run) as team:
            assert get_default_agent_runner() is before
            await Runner.run(agent, "How many?")
            task = await team.task("Count.", to=["ann"])
            assert (await team.work(agent, task, to=["bob"])).text == "8"
            assert (await team.final(agent, "Sum up.")).final_output == "9"
            assert len(asyncio.all_tasks()) == tasks and threading.active_count() == threads
    with pytest.raises(Exception):
        told_of(shared_daemon, "off")


@async_test
async def test_the_programs_agents_hooks_and_configuration_stay_as_they_are(shared_daemon):
    seen = []

    class Hooks(RunHooks):
        async def on_agent_start(self, context, agent):
            seen.append(agent.name)

        async def on_handoff(self, context, from_agent, to_agent):
            seen.append(to_agent is billing)

    def shorten(data):
        seen.append("filter")
        return data.model_data

    billing = scripted("billing", answers("It is right."))
    triage = scripted("triage", hands_to("billing"), handoffs=[billing])
    runner, config = get_default_agent_runner(), RunConfig(call_model_input_filter=shorten)
    async with digd.Run("untouched", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(triage, "Is it right?", hooks=Hooks(), run_config=config)
    assert seen == ["triage", "filter", True, "billing", "filter"]
    assert result.last_agent is billing and triage.handoffs == [billing]
    assert config.call_model_input_filter is shorten and get_default_agent_runner() is runner


@async_test
async def test_a_runner_that_the_program_sets_meanwhile_stays(shared_daemon):
    from agents.run import AgentRunner, set_default_agent_runner

    before, own = get_default_agent_runner(), AgentRunner()
    try:
        async with digd.Run(url=url_of(shared_daemon)) as run:
            with digd.openai_agents.attach(run):
                set_default_agent_runner(own)
        assert get_default_agent_runner() is own
    finally:
        set_default_agent_runner(before)


@async_test
async def test_without_a_daemon_a_run_goes_as_it_would(caplog):
    researcher = scripted("researcher", answers("42 sources"))
    writer = scripted(
        "writer",
        [calls("research", input="find sources")],
        answers("Done."),
        tools=[researcher.as_tool("research", "finds sources")],
    )
    empty = scripted("empty", answers(""))
    async with digd.Run("alone", url=nobody(), mode="enforce") as run:
        with digd.openai_agents.attach(run) as team:
            await team.work(writer, "Write it.", to=["empty"])
            assert (await Runner.run(empty, "Read it.")).final_output == ""
            with pytest.raises(MaxTurnsExceeded):
                busy = scripted("busy", [calls("research", input="x")], tools=writer.tools)
                await Runner.run(busy, "Go.", max_turns=1)
    assert len([r for r in caplog.records if r.name == "digd"]) == 1


@async_test
async def test_a_fault_of_the_adapter_does_not_become_one_of_the_program(shared_daemon, monkeypatch, caplog):
    async def broken(self, agent, items):
        raise KeyError("a fault")

    monkeypatch.setattr(Conversation, "_before_model", broken)
    agent = scripted("ann", answers("7"), answers("8"))
    async with digd.Run("faulty", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            assert [(await Runner.run(agent, "How many?")).final_output for _ in range(2)] == ["7", "8"]
    assert len([r for r in caplog.records if "the adapter for the OpenAI Agents SDK failed" in r.message]) == 1


# ---- healing and its bounds


@async_test
async def test_a_session_keeps_the_history_and_the_give_back_comes_on_top(shared_daemon):
    session = SQLiteSession("s")
    async with digd.Run("with-session", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(failing_researcher(), "Write a report.", session=session)
    assert result.final_output == "Done, with 42."
    texts = [json.dumps(item) for item in await session.get_items()]
    assert sum("Write a report." in t for t in texts) == 1 and sum("was not accepted yet" in t for t in texts) == 1
    session.close()


@async_test
async def test_a_handoff_to_an_agent_that_has_left_goes_back_to_its_author(shared_daemon):
    billing = scripted("billing", answers("never"))
    triage = scripted("triage", hands_to("billing"), answers("I do it myself."), handoffs=[billing])
    async with digd.Run("left-handoff", agents=["triage", "billing"], mode="enforce", url=url_of(shared_daemon)) as run:
        await run.agent_left("billing")
        with digd.openai_agents.attach(run):
            result = await Runner.run(triage, "Do it.")
    assert result.final_output == "I do it myself." and result.last_agent is triage and not billing.model.calls
    assert "reached nobody" in read_by(triage) and "transfer_to_billing" not in read_by(triage)
    (found,) = fired(shared_daemon, "left-handoff", "orphaned_event")
    assert found["healed"] and found["evidence"] == ["billing"]


@async_test
async def test_a_request_to_an_agent_that_has_left_goes_back_to_its_author(shared_daemon):
    reviewer = scripted("reviewer", answers("never"))
    writer = scripted(
        "writer",
        [calls("review", input="is it good?")],
        answers("I looked at it myself."),
        tools=[reviewer.as_tool("review", "reviews")],
    )
    roster = ["writer", "reviewer"]
    async with digd.Run("left-request", agents=roster, mode="enforce", url=url_of(shared_daemon)) as run:
        await run.agent_left("reviewer")
        with digd.openai_agents.attach(run):
            await Runner.run(writer, "Write a report.")
    assert "reached nobody" in read_by(writer) and not reviewer.model.calls
    (found,) = fired(shared_daemon, "left-request", "orphaned_event")
    assert found["healed"] and detections_of(shared_daemon, "left-request") == ["orphaned_event"]


@async_test
async def test_a_loop_that_stands_still_holds_a_thread_up_for_a_bounded_time(shared_daemon, monkeypatch):
    monkeypatch.setattr(digd.openai_agents.feed, "MAX_LOOP_DELAY_S", 0.0)
    agent = scripted("ann", answers("7"))

    def ask():
        asyncio.set_event_loop(asyncio.new_event_loop())
        try:
            return Runner.run_sync(agent, "How many?").final_output
        finally:
            asyncio.get_event_loop().close()
            asyncio.set_event_loop(None)

    async with digd.Run("stuck", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            run._conversation.deadline_s = 0.01  # the daemon's, in tests, is a minute
            with concurrent.futures.ThreadPoolExecutor() as threads:
                assert (
                    threads.submit(contextvars.copy_context().run, ask).result() == "7"
                )  # the loop of the run waits here


@async_test
async def test_an_agent_gets_nothing_back_beyond_the_bound(shared_daemon):
    async with digd.Run("bounded", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run, max_returns_per_agent=0):
            assert (await Runner.run(failing_researcher(), "Write a report.")).final_output == "Done without."
    found, *_ = fired(shared_daemon, "bounded", "early_termination")
    assert found["cause"] == "attempts"


@async_test
async def test_no_message_is_held_once_the_time_for_holding_is_used_up(shared_daemon, caplog):
    async with digd.Run("no-time", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run, max_added_ms=0):
            assert (await Runner.run(failing_researcher(), "Write a report.")).final_output == "Done without."
    assert run.counters.as_is > 0 and not run.heals


@async_test
async def test_nobody_waits_and_an_error_is_raised_at_once_unless_the_user_asks_for_healing(shared_daemon, monkeypatch):
    async def wait_for(*_):
        raise AssertionError("waited")

    @function_tool
    def look():
        return "nothing yet"

    clerk = scripted("clerk", [calls("look")], answers(""), tools=[look])
    rules = {name: {"window_ms": 3_600_000} for name in ("deadlock", "missing_termination")}
    async with digd.Run("unasked", mode="enforce", rules=rules, url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run) as team:
            monkeypatch.setattr(team, "_wait_for_healing", wait_for)
            with pytest.raises(MaxTurnsExceeded):
                await Runner.run(clerk, "Look.", max_turns=1)
            assert (await Runner.run(clerk, "Say nothing.")).final_output == ""
    assert len(clerk.model.calls) == 2


@async_test
async def test_an_empty_answer_is_healed_where_the_user_waits_for_it(shared_daemon):
    writer = scripted("writer", answers(""), answers("The report."))
    rules = {"missing_termination": {"window_ms": WINDOW_MS, "max_attempts": 1}}
    async with digd.Run("missing", mode="enforce", rules=rules, url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run, wait_for_healing_ms=60_000):
            result = await Runner.run(writer, "Write a report.")
    assert result.final_output == "The report." and "submit the final answer now" in read_by(writer)
    found, *_ = fired(shared_daemon, "missing", "missing_termination")
    assert found["healed"] and found["agent"] == "writer"


@async_test
async def test_only_errors_of_agents_are_healed(shared_daemon):
    clerk = scripted("clerk", ModelStep.raise_error(ConnectionError("no network")), answers("never"))
    rules = {"deadlock": {"window_ms": WINDOW_MS}}
    async with digd.Run("no-network", mode="enforce", rules=rules, url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run, wait_for_healing_ms=60_000, heal_errors=True):
            with pytest.raises(ConnectionError):
                await Runner.run(clerk, "Do it.")
    assert len(clerk.model.calls) == 1


@async_test
async def test_a_streamed_answer_is_out_and_never_given_back(shared_daemon):
    writer = failing_researcher()
    async with digd.Run("streamed", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = Runner.run_streamed(writer, "Write a report.")
            async for _ in result.stream_events():
                pass
    assert result.final_output == "Done without." and len(writer.model.calls) == 2
    found, *_ = fired(shared_daemon, "streamed", "early_termination")
    assert not found["healed"] and found["cause"] == "as_is"


def test_a_wait_below_zero_is_refused():
    with pytest.raises(ValueError, match="wait_for_healing_ms"):
        digd.openai_agents.attach(digd.Run(), wait_for_healing_ms=-1)
