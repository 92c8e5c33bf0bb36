"""The OpenAI Agents SDK under digd: the seven rules in its runs, and that its models see what the healing says."""

import asyncio
import itertools
import json

import digd
import digd.openai_agents
import pytest
from agents import (Agent, GuardrailFunctionOutput, InputGuardrailTripwireTriggered, MaxTurnsExceeded, RunConfig, RunHooks,
                    Runner, SQLiteSession, function_tool, handoff, input_guardrail, set_tracing_disabled)
from agents.run import get_default_agent_runner
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
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
    """What the agent's model was given in one of its calls, as one text."""
    return json.dumps(agent.model.calls[call].input, default=str)


@async_test
async def test_an_answer_that_leaves_a_failed_request_open_is_given_back(shared_daemon):
    researcher = scripted("researcher", ModelStep.raise_error(RuntimeError("the model is down")), answers("42 sources"))
    ask = calls("research", input="find sources")
    writer = scripted("writer", [ask], answers("Done without sources."), [calls("research", input="find sources")],
                      answers("Done, with 42 sources."), tools=[researcher.as_tool("research", "finds sources")])
    async with digd.Run("early", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(writer, "Write a report.")
    assert result.final_output == "Done, with 42 sources."
    assert "was not accepted yet" not in read_by(writer, 1) and "was not accepted yet" in read_by(writer, 2)
    (found,) = fired(shared_daemon, "early", "early_termination")
    assert found["healed"] and found["healing"] == "reroute"


@async_test
async def test_a_run_that_answers_nothing_is_told_to_submit(shared_daemon):
    writer = scripted("writer", answers(""), answers("The report."))
    rules = {"missing_termination": {"window_ms": WINDOW_MS, "max_attempts": 1}}
    async with digd.Run("missing", url=url_of(shared_daemon), rules=rules) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(writer, "Write a report.")
    assert result.final_output == "The report."
    assert "submit the final answer now" in read_by(writer)
    found, *_ = fired(shared_daemon, "missing", "missing_termination")
    assert found["healed"] and found["agent"] == "writer"


@async_test
async def test_a_hand_off_to_somebody_who_is_not_there_comes_back_to_its_author(shared_daemon):
    refunds = scripted("refunds")
    billing = scripted("billing", answers("Your invoice is right."))
    triage = scripted("triage", hands_to("refunds", reason="wants money"), hands_to("billing"),
                      handoffs=[handoff(refunds, input_type=Why, on_handoff=ignore), billing])
    async with digd.Run("orphan", agents=["triage", "billing"], url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(triage, "My invoice is wrong.")
    assert result.final_output == "Your invoice is right." and result.last_agent.name == "billing"
    assert "reached nobody" in read_by(triage) and not refunds.model.calls
    (found,) = fired(shared_daemon, "orphan", "orphaned_event")
    assert found["healed"] and found["evidence"] == ["refunds"]


@async_test
async def test_a_request_to_a_tool_agent_who_is_not_there_is_answered_by_the_monitor(shared_daemon):
    reviewer = scripted("reviewer")
    writer = scripted("writer", [calls("review", input="is it good?")], answers("I looked at it myself: it is good."),
                      tools=[reviewer.as_tool("review", "reviews")])
    async with digd.Run("orphan-request", agents=["writer"], url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(writer, "Write a report.")
    assert "reached nobody" in read_by(writer) and not reviewer.model.calls
    (found,) = fired(shared_daemon, "orphan-request", "orphaned_event")
    assert found["healed"]


@async_test
async def test_a_run_that_broke_off_is_taken_up_again_with_the_text(shared_daemon):
    @function_tool
    def look():
        return "nothing yet"

    clerk = scripted("clerk", [calls("look")], [calls("look")], answers("There is nothing."), tools=[look])
    rules = {"deadlock": {"window_ms": WINDOW_MS, "max_attempts": 1}}
    async with digd.Run("deadlock", url=url_of(shared_daemon), rules=rules) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(clerk, "Look until it is there.", max_turns=2)
    assert result.final_output == "There is nothing."
    assert "Nobody is working" in read_by(clerk)
    found, *_ = fired(shared_daemon, "deadlock", "deadlock")
    assert found["healed"] and found["healing"] == "create"


@async_test
async def test_a_request_that_is_only_passed_around_is_told_to_be_handled(shared_daemon):
    first, second, third = scripted("first"), scripted("second"), scripted("third")
    agents = [first, second, third]
    for agent, to in zip(agents, (second, third, first)):
        agent.handoffs = [to]
        agent.model.enqueue(hands_to(to.name))
    first.model.enqueue(answers("Then I do it."))
    async with digd.Run("passed", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(first, "Who does this?")
    assert result.final_output == "Then I do it."
    assert "Do not pass it on again" in read_by(first)
    assert not any("Do not pass" in read_by(a, 0) for a in agents)
    (found,) = fired(shared_daemon, "passed", "excessive_rerouting")
    assert found["healed"] and found["healing"] == "inject"


@async_test
async def test_halves_of_two_plans_are_told_apart_for_whoever_joins_them(shared_daemon):
    helper = scripted("helper", *(answers(f"part {i}") for i in range(4)))
    planners = [scripted(name, [calls("help", input=f"{name} 1"), calls("help", input=f"{name} 2")],
                         answers(f"the plan of {name}"), tools=[helper.as_tool("help", "helps")]) for name in ("ann", "bob")]
    editor = scripted("editor", answers("Both plans, apart."))
    async with digd.Run("clash", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run) as team:
            drafts = [await team.work(p, f"{p.name}, plan it.", to=["editor"]) for p in planners]
            result = await team.final(editor, drafts)
    assert result.final_output == "Both plans, apart."
    assert "of another decomposition" in read_by(editor)
    (found,) = fired(shared_daemon, "clash", "cross_lineage_aggregation")
    assert found["healed"] and found["agent"] == "editor"


@async_test
async def test_a_question_asked_of_two_is_told_to_whoever_gets_both_results(shared_daemon):
    coder, tester = scripted("coder", answers("it is 7")), scripted("tester", answers("it is 8"))
    asks = [calls("code", input="count them"), calls("test", input="count them")]
    lead = scripted("lead", asks, answers("It is 7 or 8."),
                    tools=[coder.as_tool("code", "codes"), tester.as_tool("test", "tests")])
    async with digd.Run("repeated", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(lead, "How many?")
    assert "Do not count both results" in read_by(lead)
    (found,) = fired(shared_daemon, "repeated", "repeated_subproblem")
    assert found["healed"]


@async_test
async def test_one_task_given_to_two_agents_is_one_problem(shared_daemon):
    drafts = [scripted("ann", answers("a")), scripted("bob", answers("b"))]
    editor = scripted("editor", answers("b"))
    async with digd.Run("task-of-two", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run) as team:
            task = await team.task("Draft it.", to=["ann", "bob"])
            handed = await asyncio.gather(*(team.work(d, task, to=["editor"]) for d in drafts))
            await team.final(editor, handed)
    assert "Do not count both results" in read_by(editor)
    (found,) = fired(shared_daemon, "task-of-two", "repeated_subproblem")
    assert found["healed"]


def detections_of(daemon, run):
    return [entry["detection"]["rule"] for entry in told_of(daemon, f"{run}/detections")["detections"]]


@async_test
async def test_the_programs_agents_hooks_and_filters_stay_as_they_are(shared_daemon):
    seen = []

    class Hooks(RunHooks):
        async def on_agent_start(self, context, agent):
            seen.append(agent.name)

        async def on_handoff(self, context, from_agent, to_agent):
            seen.append(f"{from_agent.name}>{to_agent.name}")

    def shorten(data):
        seen.append("filter")
        return data.model_data

    billing = scripted("billing", answers("It is right."))
    triage = scripted("triage", hands_to("billing"), handoffs=[billing])
    runner = get_default_agent_runner()
    async with digd.Run("untouched", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            config = RunConfig(call_model_input_filter=shorten)
            await Runner.run(triage, "Is it right?", hooks=Hooks(), run_config=config)
            assert config.call_model_input_filter is shorten
    assert seen == ["triage", "filter", "triage>billing", "billing", "filter"]
    assert triage.handoffs == [billing] and get_default_agent_runner() is runner


@async_test
async def test_a_bare_hand_off_passes_the_task_on_and_one_with_words_is_work_of_its_own(shared_daemon):
    billing = scripted("billing", answers("It is right."))
    desk = scripted("desk", hands_to("billing", reason="money"),
                    handoffs=[handoff(billing, input_type=Why, on_handoff=ignore)])
    triage = scripted("triage", hands_to("desk"), handoffs=[desk])
    async with digd.Run("handed", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(triage, "Is it right?")
    graph = told_of(shared_daemon, "handed/graph")
    reactions = [[d["state"] for d in event["deliveries"]] for event in graph["events"]]
    assert reactions == [["rerouted", "consumed"], ["consumed"], []]  # task, hand-off, answer
    assert [a["agent"] for a in graph["activations"]] == ["triage", "desk", "billing"]


@async_test
async def test_without_a_daemon_a_run_goes_as_it_would(caplog):
    researcher = scripted("researcher", answers("42 sources"))
    writer = scripted("writer", [calls("research", input="find sources")], answers("Done."),
                      tools=[researcher.as_tool("research", "finds sources")])
    empty = scripted("empty", answers(""))
    async with digd.Run("alone", url=nobody()) as run:
        with digd.openai_agents.attach(run) as team:
            await team.work(writer, "Write it.", to=["empty"])
            assert (await Runner.run(empty, "Read it.")).final_output == ""
            with pytest.raises(MaxTurnsExceeded):
                await Runner.run(scripted("busy", [calls("research", input="x")], tools=writer.tools), "Go.", max_turns=1)
    assert len([r for r in caplog.records if r.name == "digd"]) == 1
    assert not any(NOTE in read_by(a, c) for a in (writer, researcher, empty) for c in range(len(a.model.calls)))


@async_test
async def test_in_mode_observe_everything_is_seen_and_nothing_changed(shared_daemon):
    reviewer = scripted("reviewer", answers("fine"))
    writer = scripted("writer", [calls("review", input="is it good?")], answers("It is."),
                      tools=[reviewer.as_tool("review", "reviews")])
    async with digd.Run("observed", agents=["writer"], mode="observe", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            await Runner.run(writer, "Write a report.")
    assert reviewer.model.calls and NOTE not in read_by(writer)
    (found,) = fired(shared_daemon, "observed", "orphaned_event")
    assert not found["healed"] and found["cause"] == "mode"


@async_test
async def test_a_session_keeps_what_was_said_and_the_give_back_comes_on_top(shared_daemon):
    researcher = scripted("researcher", ModelStep.raise_error(RuntimeError("down")), answers("42 sources"))
    writer = scripted("writer", [calls("research", input="find")], answers("Done without."), [calls("research", input="find")],
                      answers("Done, with 42."), tools=[researcher.as_tool("research", "finds sources")])
    session = SQLiteSession("s")
    async with digd.Run("with-session", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(writer, "Write a report.", session=session)
    assert result.final_output == "Done, with 42."
    texts = [json.dumps(item) for item in await session.get_items()]
    assert sum("Write a report." in t for t in texts) == 1 and sum("was not accepted yet" in t for t in texts) == 1
    session.close()


@async_test
async def test_a_run_that_waits_for_an_approval_goes_on_where_it_stopped(shared_daemon):
    @function_tool(needs_approval=True)
    def pay():
        return "paid"

    clerk = scripted("clerk", [calls("pay")], answers("It is paid."), tools=[pay])
    async with digd.Run("approved", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(clerk, "Pay it.")
            state = result.to_state()
            state.approve(result.interruptions[0])
            result = await Runner.run(clerk, state)
    assert result.final_output == "It is paid."
    graph = told_of(shared_daemon, "approved/graph")
    assert [a["agent"] for a in graph["activations"]] == ["clerk", "clerk"]
    assert not detections_of(shared_daemon, "approved")


@async_test
async def test_a_tool_agent_that_waits_for_an_approval_goes_on_where_it_stopped(shared_daemon):
    @function_tool(needs_approval=True)
    def pay():
        return "paid"

    payer = scripted("payer", [calls("pay")], answers("I paid it."), tools=[pay])
    clerk = scripted("clerk", [calls("payer", input="Pay.")], answers("It is paid."), tools=[payer.as_tool("payer", "pays")])
    async with digd.Run("approved-inside", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(clerk, "Pay it.")
            state = result.to_state()
            state.approve(result.interruptions[0])
            assert (await Runner.run(clerk, state)).final_output == "It is paid."
    graph = told_of(shared_daemon, "approved-inside/graph")
    assert [(a["agent"], [i["reaction"] for i in a["inputs"]]) for a in graph["activations"]] == [
        ("clerk", ["wait"]), ("payer", ["wait"]), ("payer", ["consume"]), ("clerk", ["consume", "consume"])]
    assert not detections_of(shared_daemon, "approved-inside") and run.counters.errors == {}


@async_test
async def test_runs_that_tools_start_by_themselves_and_streamed_ones_are_requests_too(shared_daemon):
    inner, streamed = scripted("inner", answers("7")), scripted("streamed", answers("8"))

    @function_tool
    async def ask() -> str:
        return (await Runner.run(inner, "How many?")).final_output

    async def look_on(event):
        pass

    lead = scripted("lead", [calls("ask"), calls("stream", input="And now?")], answers("7 or 8"),
                    tools=[ask, streamed.as_tool("stream", "streams", on_stream=look_on)])
    async with digd.Run("requests", url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            assert (await Runner.run(lead, "Count.")).final_output == "7 or 8"
    kinds = [event["kind"] for event in told_of(shared_daemon, "requests/graph")["events"]]
    assert sorted(kinds) == ["answer", "answer", "answer", "request", "request", "task"]
    assert not detections_of(shared_daemon, "requests") and run.counters.errors == {}


@async_test
async def test_what_a_guardrail_stops_stays_stopped(shared_daemon):
    @input_guardrail
    async def never(context, agent, input):
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    clerk = scripted("clerk", answers("no"), input_guardrails=[never])
    async with digd.Run("guarded", url=url_of(shared_daemon), rules={"deadlock": {"window_ms": 10}}) as run:
        with digd.openai_agents.attach(run):
            with pytest.raises(InputGuardrailTripwireTriggered):
                await Runner.run(clerk, "Do it.")
    assert len(clerk.model.calls) <= 1


@async_test
async def test_an_error_that_is_no_agents_doing_is_raised_at_once(shared_daemon):
    clerk = scripted("clerk", ModelStep.raise_error(ConnectionError("no network")), answers("never"))
    rules = {"deadlock": {"window_ms": 3_600_000}}  # whoever waited for it would not come back in time
    async with digd.Run("no-network", url=url_of(shared_daemon), rules=rules) as run:
        with digd.openai_agents.attach(run):
            with pytest.raises(ConnectionError):
                await Runner.run(clerk, "Do it.")
    (activation,) = told_of(shared_daemon, "no-network/graph")["activations"]
    assert activation["failed"]


@async_test
async def test_a_streamed_run_is_held_but_for_its_answer(shared_daemon):
    refunds, billing = scripted("refunds"), scripted("billing", answers("Your invoice is right."))
    triage = scripted("triage", hands_to("refunds", reason="wants money"), hands_to("billing"),
                      handoffs=[handoff(refunds, input_type=Why, on_handoff=ignore), billing])
    async with digd.Run("streamed", agents=["triage", "billing"], url=url_of(shared_daemon)) as run:
        with digd.openai_agents.attach(run):
            result = Runner.run_streamed(triage, "My invoice is wrong.")
            async for _ in result.stream_events():
                pass
    assert result.final_output == "Your invoice is right." and "reached nobody" in read_by(triage)
    assert not refunds.model.calls
    assert [e["submit"] for e in told_of(shared_daemon, "streamed/graph")["events"] if e.get("submit")] == [True]


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
    assert [a["agent"] for a in told_of(shared_daemon, "inside-only/graph")["activations"]] == ["inside"]


@async_test
async def test_two_runs_at_once_are_told_apart(shared_daemon):
    async def one(name):
        agent = scripted(name, answers(name))
        async with digd.Run(f"at-once-{name}", url=url_of(shared_daemon)) as run:
            with digd.openai_agents.attach(run):
                await Runner.run(agent, "Go.")

    before = get_default_agent_runner()
    await asyncio.gather(*(one(name) for name in ("ann", "bob", "cid")))
    assert get_default_agent_runner() is before
    for name in ("ann", "bob", "cid"):
        assert [a["agent"] for a in told_of(shared_daemon, f"at-once-{name}/graph")["activations"]] == [name]
