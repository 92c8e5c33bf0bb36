"""The adapter for the OpenAI Agents SDK: healing and its bounds."""

import asyncio
import concurrent.futures
import contextvars
import json

import digd
import digd.openai_agents
import pytest
from agents import MaxTurnsExceeded, Runner, SQLiteSession, function_tool
from agents.testing import ModelStep

from client_helpers import async_test, url_of
from framework_runs import WINDOW_MS, fired
from openai_agents_helpers import answers, calls, detections_of, failing_researcher, hands_to, read_by, scripted


@async_test
async def test_a_session_keeps_the_history_and_the_monitors_text_follows_it(shared_daemon):
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
async def test_a_blocked_loop_delays_a_thread_for_a_bounded_time(shared_daemon, monkeypatch):
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
async def test_nothing_returns_to_an_agent_beyond_the_bound(shared_daemon):
    async with digd.Run("bounded", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run, max_returns_per_agent=0):
            assert (await Runner.run(failing_researcher(), "Write a report.")).final_output == "Done without."
    found, *_ = fired(shared_daemon, "bounded", "early_termination")
    assert found["cause"] == "attempts"


@async_test
async def test_no_message_is_held_after_the_added_time(shared_daemon, caplog):
    async with digd.Run("no-time", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run, max_added_ms=0):
            assert (await Runner.run(failing_researcher(), "Write a report.")).final_output == "Done without."
    assert run.counters.as_is > 0 and not run.heals


@async_test
async def test_without_healing_options_nothing_waits_and_errors_are_raised_at_once(shared_daemon, monkeypatch):
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
async def test_an_empty_answer_is_healed_if_the_user_waits_for_it(shared_daemon):
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
async def test_a_streamed_answer_is_never_given_back(shared_daemon):
    writer = failing_researcher()
    async with digd.Run("streamed", mode="enforce", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = Runner.run_streamed(writer, "Write a report.")
            async for _ in result.stream_events():
                pass
    assert result.final_output == "Done without." and len(writer.model.calls) == 2
    found, *_ = fired(shared_daemon, "streamed", "early_termination")
    assert not found["healed"] and found["cause"] == "as_is"


def test_a_negative_wait_is_refused():
    with pytest.raises(ValueError, match="wait_for_healing_ms"):
        digd.openai_agents.attach(digd.Run(), wait_for_healing_ms=-1)
