"""The OpenAI Agents SDK under digd: the seven rules in its runs, and that its models see what the healing says."""

import asyncio
import itertools
import json

import digd
import digd.openai_agents
import pytest
from agents import Agent, MaxTurnsExceeded, Runner, function_tool, handoff, set_tracing_disabled
from agents.run import get_default_agent_runner
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from pydantic import BaseModel

from framework_runs import fired
from helpers import async_test, nobody, url_of

set_tracing_disabled(True)

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
    rules = {"missing_termination": {"window_ms": 50}}
    async with digd.Run("missing", url=url_of(shared_daemon), rules=rules) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(writer, "Write a report.")
    assert result.final_output == "The report."
    assert "submit the final answer now" in read_by(writer)
    (found,) = fired(shared_daemon, "missing", "missing_termination")
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
    async with digd.Run("deadlock", url=url_of(shared_daemon), rules={"deadlock": {"window_ms": 50}}) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(clerk, "Look until it is there.", max_turns=2)
    assert result.final_output == "There is nothing."
    assert "Nobody is working" in read_by(clerk)
    (found,) = fired(shared_daemon, "deadlock", "deadlock")
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
            drafts = [await team.step(p, f"{p.name}, plan it.", to=["editor"]) for p in planners]
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
            handed = await asyncio.gather(*(team.step(d, task, to=["editor"]) for d in drafts))
            await team.final(editor, handed)
    assert "Do not count both results" in read_by(editor)
    (found,) = fired(shared_daemon, "task-of-two", "repeated_subproblem")
    assert found["healed"]
