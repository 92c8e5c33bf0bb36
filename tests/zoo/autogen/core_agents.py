"""The messages and agents of the systems made of core agents."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from autogen_core import (
    ClosureAgent,
    ClosureContext,
    MessageContext,
    RoutedAgent,
    TopicId,
    TypeSubscription,
    message_handler,
)


@dataclass
class Task:
    content: str


@dataclass
class Result:
    content: str


@dataclass
class Note:
    content: str


def to(topic, source="default"):
    return TopicId(topic, source)


class ScriptedAgent(RoutedAgent):
    """Records each message and calls the function `act` with it."""

    def __init__(self, probe, act):
        super().__init__("acts")
        self.probe = probe
        self.act = act
        self.seen = []

    async def _handle(self, message, ctx):
        self.probe.call(f"handler {self.id.type}")
        self.seen.append(message.content)
        return await self.act(self, message, ctx)

    async def save_state(self):
        return {"seen": list(self.seen), "fields": sorted(vars(self))}

    async def load_state(self, state):
        self.seen = list(state["seen"])


class Worker(ScriptedAgent):
    @message_handler
    async def on_task(self, message: Task, ctx: MessageContext) -> Result | None:
        return await self._handle(message, ctx)

    async def publish(self, message, topic):
        await self.publish_message(message, topic)


class Collector(ScriptedAgent):
    @message_handler
    async def on_result(self, message: Result, ctx: MessageContext) -> None:
        await self._handle(message, ctx)

    async def publish(self, message, topic):
        await self.publish_message(message, topic)


class Listener(RoutedAgent):
    """Cannot send anything."""

    def __init__(self, probe):
        super().__init__("listens")
        self.probe = probe

    @message_handler
    async def on_result(self, message: Result | Note, ctx: MessageContext) -> None:
        self.probe.call(f"handler {self.id.type}")
        self.probe.saw(["heard", message.content, ctx.is_rpc])


async def agent(at, runtime, name, act, kind=Worker, topic=None):
    await kind.register(runtime, name, lambda: kind(at.probe, act))
    if topic:
        await runtime.add_subscription(TypeSubscription(topic, name))


async def listener(at, runtime, name="listener", topic="results"):
    await Listener.register(runtime, name, lambda: Listener(at.probe))
    await runtime.add_subscription(TypeSubscription(topic, name))


async def results_queue(runtime, topic="results"):
    """A closure agent that collects the results, as in the tutorial."""
    queue = asyncio.Queue()

    async def collect(_agent: ClosureContext, message: Result, ctx: MessageContext) -> None:
        await queue.put(message)

    await ClosureAgent.register_closure(
        runtime, "collect", collect, subscriptions=lambda: [TypeSubscription(topic, "collect")]
    )
    return queue


def all_of(queue):
    return sorted(queue.get_nowait().content for _ in range(queue.qsize()))


async def answers(agent, message, ctx):
    return Result(f"{agent.id.type}: {message.content}")


async def publishes(agent, message, ctx):
    await agent.publish(Result(f"{agent.id.type}: {message.content}"), to("results"))


async def absorbs(agent, message, ctx):
    return None
