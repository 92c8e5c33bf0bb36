"""Guards against teams of the OpenAI Agents SDK that fan out, repeat themselves, overspend or hang, live."""

import asyncio

import pytest
from agents import Agent, MaxTurnsExceeded, Runner, function_tool
from agents.testing import ScriptedModel

import digd
import digd.openai_agents
from client_helpers import async_test, url_of
from guards_helpers import detections_of_guard, person
from openai_agents_helpers import answers, calls, hands_to, read_by, scripted


def guarded(daemon, run, **guards):
    return digd.Run(run, mode="enforce", url=url_of(daemon), guards=guards)


@async_test
async def test_an_agent_that_asks_more_and_more_agents_is_asked_to_stop(shared_daemon):
    helper = scripted("helper", *[answers("done")] * 9)
    asks = [[calls("help", input=f"part {i}")] for i in range(4)]
    lead = scripted("lead", *asks, answers("I stop."), tools=[helper.as_tool("help", "helps")])
    async with guarded(shared_daemon, "oa-fan-out", fan_out={"max_depth": 4}) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(lead, "Write it.")
    assert result.final_output == "I stop." and len(helper.model.calls) < 4
    found = detections_of_guard(shared_daemon, "fan_out", "oa-fan-out")
    assert found[0]["healed"] and found[0]["limits"] == ["max_depth"]
    assert "Delegate less: do this part yourself" in read_by(lead)


@async_test
async def test_an_agent_that_repeats_a_request_reads_why_it_came_back(shared_daemon):
    helper = scripted("helper", *[answers("I do not know")] * 9)
    same = [[calls("help", input="the same")] for _ in range(4)]
    lead = scripted("lead", *same, answers("I try something else."), tools=[helper.as_tool("help", "helps")])
    guard = {"max_repeats": 2, "action": "return"}
    async with guarded(shared_daemon, "oa-repeats", repetition=guard) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(lead, "Write it.")
    assert result.final_output == "I try something else." and len(helper.model.calls) == 2
    found = detections_of_guard(shared_daemon, "repetition", "oa-repeats")
    assert [d["healing"] for d in found] == ["reroute"] * len(found) and len(found) == 2


@pytest.mark.parametrize("decision", ["release", "return"])
@async_test
async def test_a_person_is_asked_about_a_hand_off_that_costs_too_much(shared_daemon, decision):
    name = f"oa-held-{decision}"
    worker = scripted("worker", answers("The work."))
    lead = scripted("lead", hands_to("worker", reason="r"), answers("I do it cheaply."), handoffs=[worker])
    async with guarded(shared_daemon, name, budget={"max_model_calls": 0, "action": "hold"}) as run:
        with digd.openai_agents.attach(run):
            with person(shared_daemon, (decision, "Do it yourself.")) as decided:
                result = await Runner.run(lead, "Write it.")
    assert [(h["guard"], h["sender"], h["recipients"]) for h in decided] == [("budget", "lead", ["worker"])]
    assert result.final_output == ("The work." if decision == "release" else "I do it cheaply.")
    assert ("Do it yourself." in read_by(lead)) == (decision == "return")


@async_test
async def test_a_hand_off_that_goes_to_nobody_stops_the_run_with_a_text(shared_daemon):
    worker = scripted("worker", answers("never"))
    lead = scripted("lead", hands_to("worker", reason="r"), answers("never"), handoffs=[worker])
    async with guarded(shared_daemon, "oa-cancel", budget={"max_model_calls": 0, "action": "cancel"}) as run:
        with digd.openai_agents.attach(run):
            with pytest.raises(digd.Cancelled, match="max_model_calls"):
                await Runner.run(lead, "Write it.")
    assert not worker.model.calls


@async_test
async def test_the_model_whose_request_goes_to_nobody_reads_why(shared_daemon):
    helper = scripted("helper", answers("never"))
    lead = scripted("lead", [calls("help", input="x")], answers("I do it."), tools=[helper.as_tool("help", "helps")])
    guard = {"max_depth": 0, "action": "cancel"}
    async with guarded(shared_daemon, "oa-nobody", fan_out=guard) as run:
        with digd.openai_agents.attach(run):
            run.on_intervention("cancel")(lambda intervention: True)  # the program lets the agents go on
            result = await Runner.run(lead, "Write it.")
    assert result.final_output == "I do it." and not helper.model.calls
    assert "max_depth" in read_by(lead)


class Hanging(ScriptedModel):
    async def get_response(self, *args, **kwargs):
        await asyncio.Event().wait()

    async def stream_response(self, *args, **kwargs):
        await asyncio.Event().wait()
        yield


STALL = {"after_ms": 100, "action": "cancel"}


@async_test
async def test_a_run_that_hangs_is_cancelled_with_a_text(shared_daemon):
    async with guarded(shared_daemon, "oa-hangs", stall=STALL) as run:
        with digd.openai_agents.attach(run):
            with pytest.raises(digd.Cancelled, match="silent for 100 ms"):
                await Runner.run(Agent(name="lead", model=Hanging([])), "Write it.")
    (found,) = detections_of_guard(shared_daemon, "stall", "oa-hangs")
    assert found["healed"] and found["agent"] == "lead"


@async_test
async def test_the_caller_of_an_agent_that_hangs_reads_the_text(shared_daemon):
    helper = Agent(name="helper", model=Hanging([]))
    helps = helper.as_tool("help", "helps")
    lead = scripted("lead", [calls("help", input="do it")], answers("I do it."), tools=[helps])
    async with guarded(shared_daemon, "oa-tool", stall={**STALL, "except": ["lead"]}) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(lead, "Write it.")
    assert result.final_output == "I do it." and "silent for 100 ms" in read_by(lead)
    assert "cancelled agent 'helper'" in read_by(lead) and "go on without it" in read_by(lead)


@async_test
async def test_a_stream_that_hangs_ends(shared_daemon):
    async with guarded(shared_daemon, "oa-stream", stall=STALL) as run:
        with digd.openai_agents.attach(run):
            stream = Runner.run_streamed(Agent(name="lead", model=Hanging([])), "Write it.")
            async for _ in stream.stream_events():
                pass
    assert stream.final_output is None
