"""The adapter for the OpenAI Agents SDK does not change a program, and costs it no more than its held messages."""

import asyncio
import threading

import digd
import digd.openai_agents
import pytest
from agents import MaxTurnsExceeded, RunConfig, RunHooks, Runner
from agents.run import get_default_agent_runner
from digd.openai_agents.conversation import Conversation

from client_helpers import async_test, unused_address, url_of
from framework_runs import fired, read_run
from openai_agents_helpers import NOTE, answers, calls, failing_researcher, hands_to, read_by, scripted


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
async def test_an_attachment_after_the_hello_follows_no_verdict(shared_daemon, monkeypatch):
    monkeypatch.delenv("DIGD_MODE", raising=False)
    async with digd.Run("late", url=url_of(shared_daemon)) as run:
        await run.emit(["somebody"], fyi=True)
        assert run.connected and run.welcome["mode"] == "enforce"
        with digd.openai_agents.attach(run):
            assert (await Runner.run(failing_researcher(), "Write a report.")).final_output == "Done without."
    found, *_ = fired(shared_daemon, "late", "early_termination")
    assert not found["healed"] and found["cause"] == "as_is"


@async_test
async def test_shadow_and_mode_off_add_no_turn_of_the_event_loop(shared_daemon):
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
        read_run(shared_daemon, "off")


@async_test
async def test_the_programs_agents_hooks_and_configuration_stay_unchanged(shared_daemon):
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
async def test_a_runner_that_the_program_sets_while_attached_stays(shared_daemon):
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
async def test_without_a_daemon_a_run_behaves_as_without_digd(caplog):
    researcher = scripted("researcher", answers("42 sources"))
    writer = scripted(
        "writer",
        [calls("research", input="find sources")],
        answers("Done."),
        tools=[researcher.as_tool("research", "finds sources")],
    )
    empty = scripted("empty", answers(""))
    async with digd.Run("alone", url=unused_address(), mode="enforce") as run:
        with digd.openai_agents.attach(run) as team:
            await team.work(writer, "Write it.", to=["empty"])
            assert (await Runner.run(empty, "Read it.")).final_output == ""
            with pytest.raises(MaxTurnsExceeded):
                busy = scripted("busy", [calls("research", input="x")], tools=writer.tools)
                await Runner.run(busy, "Go.", max_turns=1)
    assert len([r for r in caplog.records if r.name == "digd"]) == 1


@async_test
async def test_an_error_of_the_adapter_does_not_reach_the_program(shared_daemon, monkeypatch, caplog):
    async def broken(self, agent, items):
        raise KeyError("a fault")

    monkeypatch.setattr(Conversation, "_before_model", broken)
    agent = scripted("ann", answers("7"), answers("8"))
    async with digd.Run("faulty", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            assert [(await Runner.run(agent, "How many?")).final_output for _ in range(2)] == ["7", "8"]
    assert len([r for r in caplog.records if "the adapter for the OpenAI Agents SDK failed" in r.message]) == 1
