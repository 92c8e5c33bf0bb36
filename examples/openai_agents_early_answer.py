"""An OpenAI Agents SDK writer answers although its researcher failed. digd gives the answer back; the run continues.

    build/release/bin/digd --data-dir /tmp/digd &
    python examples/openai_agents_early_answer.py

Needs the packages `digd` and `openai-agents`. The models are scripted, so the example needs no key; omit `model=` for
real ones. DIGD_URL selects another daemon.
With `DIGD_MODE=shadow` digd changes nothing: it reports the early answer and logs what it would have done.
"""

import asyncio
import json
import os

from agents import Agent, Runner, set_tracing_disabled
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

import digd
import digd.openai_agents


def ask(number):
    return [function_call("research", json.dumps({"input": "Find sources."}), call_id=f"call-{number}")]


researcher = Agent(
    name="researcher",
    model=ScriptedModel(
        [
            ModelStep.raise_error(RuntimeError("the search engine is down")),
            [assistant_message("42 sources")],
        ]
    ),
)
writer = Agent(
    name="writer",
    tools=[researcher.as_tool("research", "Finds sources.")],
    model=ScriptedModel(
        [
            ask(1),
            [assistant_message("A report without any source.")],  # too early: its request was never answered
            ask(2),
            [assistant_message("A report with 42 sources.")],
        ]
    ),
)


async def main():
    set_tracing_disabled(True)
    async with digd.Run(mode=os.environ.get("DIGD_MODE", "enforce")) as run:
        with digd.openai_agents.attach(run):
            result = await Runner.run(writer, "Write a report.")
    for call in writer.model.calls:
        last = call.input[-1]
        print("the writer's model was given:", last.get("content") or last.get("output"))
    print("the answer:", result.final_output)


asyncio.run(main())
