"""Helpers of the tests of the adapter for the OpenAI Agents SDK: scripted agents, and what the daemon recorded."""

import itertools
import json

from agents import Agent, set_tracing_disabled
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from pydantic import BaseModel

from framework_runs import read_run

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
    """A writer whose researcher fails once, and that then answers too early."""
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
    return [entry["detection"]["rule"] for entry in read_run(daemon, f"{run}/detections")["detections"]]


def activations_of(daemon, run):
    return [(a["agent"], [i["reaction"] for i in a["inputs"]]) for a in read_run(daemon, f"{run}/graph")["activations"]]


def kinds_of(daemon, run):
    """The kind of each event, with a star if it is submitted, and its recipients."""
    events = read_run(daemon, f"{run}/graph")["events"]
    return [(e["kind"] + "*" * bool(e.get("submit")), [d["agent"] for d in e["deliveries"]]) for e in events]
