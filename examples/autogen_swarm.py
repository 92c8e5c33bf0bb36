"""Three agents of an AutoGen swarm hand a task around. digd asks one of them to handle it.

    build/release/bin/digd --data-dir /tmp/digd &
    python examples/autogen_swarm.py

Needs the packages `digd`, `autogen-agentchat` and `autogen-ext`. The models are replayed, so the example needs no key.
Replace them with your own model clients. DIGD_URL selects another daemon.
"""

import asyncio
import os

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import Swarm
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

import digd
import digd.autogen

MODEL_INFO = ModelInfo(
    vision=False, function_calling=True, json_output=False, structured_output=False, family=ModelFamily.UNKNOWN
)
NO_USAGE = RequestUsage(prompt_tokens=0, completion_tokens=0)


class Model(ReplayChatCompletionClient):
    """Hands off unless the monitor's note asks for something else; prints the note."""

    def __init__(self, name, target):
        call = FunctionCall(id="1", name=f"transfer_to_{target}", arguments="{}")
        self.hand_off = CreateResult(finish_reason="function_calls", content=[call], usage=NO_USAGE, cached=False)
        self.answer = CreateResult(finish_reason="stop", content="Then I do it. DONE", usage=NO_USAGE, cached=False)
        self.name = name
        super().__init__([], model_info=MODEL_INFO)

    async def create(self, messages, **options):
        notes = [m.content for m in messages if "Do not pass it on" in str(m.content)]
        for text in notes:
            print(f"{self.name}'s model was given:", text)
        return self.answer if notes else self.hand_off


async def main():
    ring = {"ann": "bob", "bob": "cid", "cid": "ann"}
    agents = [AssistantAgent(name, Model(name, to), handoffs=[to]) for name, to in ring.items()]
    done = TextMentionTermination("DONE") | MaxMessageTermination(16)
    # With the mode "shadow" digd reports and changes nothing.
    async with digd.Run(agents=list(ring), mode=os.environ.get("DIGD_MODE", "enforce")) as run:
        swarm = digd.autogen.instrument(Swarm(agents, termination_condition=done), run)
        result = await swarm.run(task="Who does this?")
    print("the end:", f"{result.messages[-1].source}: {result.messages[-1].content}")


asyncio.run(main())
