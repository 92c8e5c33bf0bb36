"""Healthy systems of autogen-core by what a runtime does: typed messages, agents by key, subscriptions, tasks."""

from __future__ import annotations

import asyncio

from autogen_core import (
    AgentId,
    DefaultSubscription,
    DefaultTopicId,
    MessageContext,
    RoutedAgent,
    TypeSubscription,
    default_subscription,
    message_handler,
)
from autogen_core.models import UserMessage
from pydantic import BaseModel

from attach import Model, attached
from core_agents import (
    Collector,
    Listener,
    Note,
    Result,
    Task,
    Worker,
    absorbs,
    agent,
    all_of,
    answers,
    listener,
    publishes,
    results_queue,
    to,
)
from zoo import healthy


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Walker(RoutedAgent):
    """Typed messages: agents of one type with different keys handle a tree."""

    @message_handler
    async def on_tree(self, message: Tree, ctx: MessageContext) -> Tree:
        children = [await self.send_message(child, AgentId(self.id.type, child.name)) for child in message.children]
        return Tree(name=message.name.upper(), children=children)


@healthy("autogen: typed messages, agents by key, state saved and loaded")
async def typed(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        await Walker.register(runtime, "walker", lambda: Walker("walks"))
        await agent(at, runtime, "worker", answers)
        runtime.start()
        tree = Tree(name="a", children=[Tree(name="b", children=[Tree(name="c")]), Tree(name="d")])
        probe.saw((await runtime.send_message(tree, AgentId("walker", "a"))).model_dump())
        await runtime.send_message(Task('{"json": [1, 2]}'), AgentId("worker", "default"))
        await runtime.stop_when_idle()
        state = await runtime.agent_save_state(AgentId("worker", "default"))
        probe.saw(state)
        await runtime.agent_load_state(AgentId("worker", "other"), state)
        probe.saw(await runtime.agent_save_state(AgentId("worker", "other")))
        worker = await runtime.try_get_underlying_agent_instance(AgentId("worker", "default"), Worker)
        return [type(worker).__name__, worker.seen]


@healthy("autogen: declared answers, with empty texts")
async def declared(probe):
    async with attached(probe) as at:
        runtime = at.runtime(answers=(Result,))

        async def lead(agent, message, ctx):
            await agent.publish(Task(""), to("second"))

        async def second(agent, message, ctx):
            await agent.publish(Result(""), to("results"))

        await agent(at, runtime, "lead", lead, topic="work")
        await agent(at, runtime, "second", second, topic="second")
        queue = await results_queue(runtime)
        runtime.start()
        await runtime.publish_message(Task(""), to("work"))
        await runtime.stop_when_idle()
        return all_of(queue)


@healthy("autogen: agents that the program made, on the default topic of two sessions")
async def instances(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        for key in ("s1", "s2"):
            made = Listener(probe)
            await made.register_instance(runtime, AgentId("listener", key))
            probe.saw(sorted(vars(made)))
        await runtime.add_subscription(DefaultSubscription(agent_type="listener"))
        runtime.start()
        for key in ("s1", "s2"):
            await runtime.publish_message(Note(key), DefaultTopicId(source=key))
        await runtime.stop_when_idle()
        probe.saw(sorted(vars(made)))


@healthy("autogen: an aggregator that must not be interrupted between two messages")
async def uninterrupted(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def work(agent, message, ctx):
            await agent.publish(Note("begun"), to("log"))
            await agent.publish(Result(agent.id.type), to("results"))

        async def collect(agent, message, ctx):
            probe.saw(message.content)
            await agent.publish(Note(f"{len(agent.seen)} of 4"), to("log"))
            if len(agent.seen) == 4:
                await agent.publish(Note("all are there"), to("log"))

        for n in range(4):
            await agent(at, runtime, f"worker{n}", work, topic="work")
        await agent(at, runtime, "collector", collect, kind=Collector, topic="results")
        await listener(at, runtime, topic="log")
        runtime.start()
        await runtime.publish_message(Task("go"), to("work"))
        await runtime.stop_when_idle()


@healthy("autogen: a token that agents change and pass around for many rounds")
async def token_ring(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        ring = {"ann": "bob", "bob": "cid", "cid": "ann"}

        async def count(agent, message, ctx):
            message.content = str(int(message.content) + 1)
            if message.content != "20":
                await agent.publish(message, to(ring[agent.id.type]))

        for name in ring:
            await agent(at, runtime, name, count, topic=name)
        runtime.start()
        await runtime.publish_message(Task("0"), to("ann"))
        await runtime.stop_when_idle()


@healthy("autogen: a handler's exception that stops the runtime")
async def exception_stops(probe):
    async with attached(probe) as at:
        runtime = at.runtime(ignore_unhandled_exceptions=False)

        async def fails(agent, message, ctx):
            raise ValueError("broken")

        await agent(at, runtime, "broken", fails, topic="work")
        runtime.start()
        await runtime.publish_message(Task("go"), to("work"))
        try:
            await runtime.stop_when_idle()
        except ValueError as error:
            return str(error)


@healthy("autogen: subscriptions that come and go, messages that agents send to themselves")
async def dynamic(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def subscribe(agent, message, ctx):
            if message.content == "again":
                return Result("once more")
            subscription = TypeSubscription("later", "second")
            await agent.runtime.add_subscription(subscription)
            await agent.publish(Task("first"), to("later"))
            await agent.runtime.remove_subscription(subscription.id)
            await agent.publish(Task("second"), to("later"))
            await agent.runtime.add_subscription(TypeSubscription("later", "second"))
            return await agent.send_message(Task("again"), agent.id)

        await agent(at, runtime, "first", subscribe)
        await agent(at, runtime, "second", absorbs)
        runtime.start()
        result = await runtime.send_message(Task("go"), AgentId("first", "default"))
        await runtime.stop_when_idle()
        await runtime.close()
        return result


@default_subscription
class CodeWriter(RoutedAgent):
    """Writes code until an execution succeeds, as in AutoGen's code execution pattern."""

    def __init__(self, model):
        super().__init__("writes code")
        self.model, self.history = model, []

    @message_handler
    async def on_message_of_chat(self, message: Task, ctx: MessageContext) -> None:
        self.history.append(UserMessage(content=message.content, source="user"))
        reply = (await self.model.create(self.history)).content
        self.history.append(UserMessage(content=reply, source="writer"))
        await self.publish_message(Task(reply), DefaultTopicId())


@default_subscription
class CodeRunner(RoutedAgent):
    def __init__(self, probe):
        super().__init__("runs code")
        self.probe = probe

    @message_handler
    async def on_message_of_chat(self, message: Task, ctx: MessageContext) -> None:
        if message.content.startswith("run "):
            self.probe.call("run")
            await self.publish_message(Task("error"), DefaultTopicId())


@healthy("autogen: a writer and a runner of code that fails the same way several times")
async def code_execution(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        model = Model(probe, "writer", *["run a.py"] * 5, "I give up.")
        await CodeWriter.register(runtime, "writer", lambda: CodeWriter(model))
        await CodeRunner.register(runtime, "runner", lambda: CodeRunner(probe))
        runtime.start()
        await runtime.publish_message(Task("Write a program."), DefaultTopicId())
        await runtime.stop_when_idle()


@healthy("autogen: a runtime that is stopped, given messages, and started again")
async def started_again(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        await agent(at, runtime, "ann", publishes, topic="work")
        queue = await results_queue(runtime)
        for n in range(3):
            await runtime.publish_message(Task(f"early {n}"), to("work"))
            runtime.start()
            await runtime.stop_when_idle()
            await runtime.publish_message(Task(f"late {n}"), to("work"))
        runtime.start()
        probe.saw(await runtime.send_message(Note("not handled"), AgentId("ann", "default")))
        await runtime.stop()
        return all_of(queue)


@healthy("autogen: a handler that starts tasks and answers before they end")
async def background_tasks(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        tasks = []

        async def later(agent, message, ctx):
            async def publish_later():
                await asyncio.sleep(0)
                await agent.publish(Result("later"), to("results"))

            tasks.append(asyncio.create_task(publish_later()))
            return Result("at once")

        await agent(at, runtime, "lead", later)
        queue = await results_queue(runtime)
        runtime.start()
        probe.saw(await runtime.send_message(Task("go"), AgentId("lead", "default")))
        await asyncio.gather(*tasks)
        await runtime.stop_when_idle()
        return all_of(queue)
