"""Three agents of an AutoGen swarm hand a task around. digd tells the third receiver to handle it.

    build/release/bin/digd --data-dir /tmp/digd &
    pip install ./clients/python autogen-agentchat 'autogen-ext' && python examples/autogen_swarm.py

The models are replayed, so that it needs no key: give the agents your own model clients instead. DIGD_URL names another daemon.
"""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import Swarm
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

import digd
import digd.autogen

CAN = ModelInfo(vision=False, function_calling=True, json_output=False, structured_output=False, family=ModelFamily.UNKNOWN)
FREE = RequestUsage(prompt_tokens=0, completion_tokens=0)


class Model(ReplayChatCompletionClient):
    """Hands off first, and answers if it is asked again; prints what the monitor says to it."""

    def __init__(self, name, next_one):
        call = FunctionCall(id="1", name=f"transfer_to_{next_one}", arguments="{}")
        first = CreateResult(finish_reason="function_calls", content=[call], usage=FREE, cached=False)
        super().__init__([first, "Then I do it. DONE"], model_info=CAN)
        self.name = name

    async def create(self, messages, **options):
        for message in messages:
            if "monitor" in str(message.content):
                print(f"{self.name}'s model was given:", message.content)
        return await super().create(messages, **options)


async def main():
    ring = {"ann": "bob", "bob": "cid", "cid": "ann"}
    agents = [AssistantAgent(name, Model(name, to), handoffs=[to]) for name, to in ring.items()]
    async with digd.Run("autogen-example", agents=list(ring)) as run:
        runtime = digd.autogen.Runtime(run)
        swarm = Swarm(agents, termination_condition=TextMentionTermination("DONE"), runtime=runtime)
        result = await runtime.run_team(swarm, task="Who does this?")
        await runtime.stop_when_idle()
    print("the answer:", f"{result.messages[-1].source}: {result.messages[-1].content}")


asyncio.run(main())
