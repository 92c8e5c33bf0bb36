"""Healthy systems of autogen-core, in the shapes of its design patterns."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from autogen_core import (
    AgentId,
    DefaultTopicId,
    MessageContext,
    RoutedAgent,
    TopicId,
    TypeSubscription,
    default_subscription,
    message_handler,
    type_subscription,
)
from autogen_core.models import UserMessage
from pydantic import BaseModel

from attach import Model, attached
from core_agents import Collector, Note, Result, Task, absorbs, agent, all_of, answers, publishes, results_queue, to
from zoo import healthy


@healthy("autogen: one message for several processors")
async def one_message_many(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        for name in ("ann", "bob"):
            await agent(at, runtime, name, absorbs, topic="work")
        runtime.start()
        await runtime.publish_message(Task("count"), to("work"))
        await runtime.stop_when_idle()


@healthy("autogen: messages by topic, results in a closure agent's queue")
async def by_topic(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        for name in ("urgent", "normal"):
            await agent(at, runtime, name, publishes, topic=name)
        queue = await results_queue(runtime)
        runtime.start()
        for name, text in (("urgent", "1"), ("normal", "2"), ("urgent", "3")):
            await runtime.publish_message(Task(text), to(name))
        await runtime.stop_when_idle()
        return all_of(queue)


@healthy("autogen: a broadcast whose results go to all agents")
async def broadcast(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def solve(agent, message, ctx):
            await agent.publish(Result(agent.id.type), to("all"))
            await agent.publish(Result("and more"), to("all"))

        for name in ("ann", "bob", "cid"):
            await agent(at, runtime, name, solve, topic="all")

        async def collect(agent, message, ctx):
            if len(agent.seen) == 6:
                await agent.publish(Note(" ".join(sorted(agent.seen))), to("nobody-listens"))
                probe.saw(sorted(agent.seen))

        await agent(at, runtime, "collector", collect, kind=Collector, topic="all")
        runtime.start()
        await runtime.publish_message(Task("solve"), to("all"))
        await runtime.stop_when_idle()


@healthy("autogen: a manager that asks workers directly")
async def direct(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def manage(agent, message, ctx):
            parts = await asyncio.gather(
                *(
                    agent.send_message(Task(f"{message.content} {n}"), AgentId(n, "default"))
                    for n in ("ann", "bob", "cid")
                )
            )
            return Result(", ".join(p.content for p in parts))

        await agent(at, runtime, "manager", manage)
        for name in ("ann", "bob", "cid"):
            await agent(at, runtime, name, answers)
        runtime.start()
        result = await runtime.send_message(Task("split"), AgentId("manager", "default"))
        await runtime.stop_when_idle()
        return result


@healthy("autogen: a workflow in sequence that prints its result")
async def sequence(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        steps = ["extract", "write", "format", "publish"]

        def step(model, following):
            async def act(agent, message, ctx):
                text = await model.ask(message.content)
                if following:
                    await agent.publish(Task(text), to(following))
                else:
                    probe.saw(text)

            return act

        for name, following in zip(steps, [*steps[1:], None]):
            await agent(at, runtime, name, step(Model(probe, name, f"{name} done"), following), topic=name)
        runtime.start()
        await runtime.publish_message(Task("a bottle"), to("extract"))
        await runtime.stop_when_idle()


class GroupMessage(BaseModel):
    body: UserMessage


class RequestToSpeak(BaseModel):
    pass


class Member(RoutedAgent):
    def __init__(self, model):
        super().__init__("a member")
        self.model = model
        self.history = []

    @message_handler
    async def on_message_of_group(self, message: GroupMessage, ctx: MessageContext) -> None:
        self.history.append(message.body)

    @message_handler
    async def on_request(self, message: RequestToSpeak, ctx: MessageContext) -> None:
        reply = (await self.model.create(self.history)).content
        await self.publish_message(
            GroupMessage(body=UserMessage(content=reply, source=self.id.type)), DefaultTopicId(type="group")
        )


class Manager(RoutedAgent):
    def __init__(self, probe, members):
        super().__init__("the manager")
        self.probe, self.members, self.turn = probe, members, 0

    @message_handler
    async def on_message_of_group(self, message: GroupMessage, ctx: MessageContext) -> None:
        self.probe.saw([message.body.source, message.body.content])
        if "APPROVE" in message.body.content:
            return
        self.turn += 1
        await self.publish_message(
            RequestToSpeak(), DefaultTopicId(type=self.members[(self.turn - 1) % len(self.members)])
        )


@healthy("autogen: a group chat made of core agents")
async def core_group_chat(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        models = {
            "writer": Model(probe, "writer", "a draft", "a better draft"),
            "editor": Model(probe, "editor", "no", "APPROVE"),
            "illustrator": Model(probe, "illustrator", "a picture"),
        }
        for name, model in models.items():
            await Member.register(runtime, name, lambda model=model: Member(model))
            await runtime.add_subscription(TypeSubscription(name, name))
            await runtime.add_subscription(TypeSubscription("group", name))
        await Manager.register(runtime, "manager", lambda: Manager(probe, list(models)))
        await runtime.add_subscription(TypeSubscription("group", "manager"))
        runtime.start()
        await runtime.publish_message(
            GroupMessage(body=UserMessage(content="Write.", source="User")), TopicId("group", "s1")
        )
        await runtime.stop_when_idle()


class Order(BaseModel):
    context: list[UserMessage]
    reply_to: str


@type_subscription("sales")
class Sales(RoutedAgent):
    def __init__(self, model):
        super().__init__("sells")
        self.model = model

    @message_handler
    async def on_order(self, message: Order, ctx: MessageContext) -> None:
        reply = (await self.model.create(message.context)).content
        if reply.startswith("transfer"):
            await self.publish_message(message, TopicId(reply.removeprefix("transfer "), ctx.topic_id.source))
        else:
            await self.publish_message(
                Order(
                    context=[*message.context, UserMessage(content=reply, source=self.id.type)],
                    reply_to=message.reply_to,
                ),
                TopicId(message.reply_to, ctx.topic_id.source),
            )


@type_subscription("person")
class Person(RoutedAgent):
    def __init__(self, probe, answers_to_give):
        super().__init__("a person")
        self.probe, self.answers_to_give = probe, answers_to_give

    @message_handler
    async def on_order(self, message: Order, ctx: MessageContext) -> None:
        self.probe.saw([m.content for m in message.context])
        if self.answers_to_give:
            context = [*message.context, UserMessage(content=self.answers_to_give.pop(0), source="person")]
            await self.publish_message(Order(context=context, reply_to="person"), TopicId("sales", ctx.topic_id.source))


@healthy("autogen: hand-offs between core agents and a person, with the same message passed on")
async def core_handoffs(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        await Sales.register(
            runtime, "sales", lambda: Sales(Model(probe, "sales", "transfer refunds", "transfer refunds"))
        )
        refunds = Model(probe, "refunds", "transfer repairs", "It is refunded.")
        await Sales.register(runtime, "refunds", lambda: Sales(refunds), skip_class_subscriptions=True)
        await runtime.add_subscription(TypeSubscription("refunds", "refunds"))
        await Sales.register(
            runtime, "repairs", lambda: Sales(Model(probe, "repairs", "It is repaired.")), skip_class_subscriptions=True
        )
        await runtime.add_subscription(TypeSubscription("repairs", "repairs"))
        await Person.register(runtime, "person", lambda: Person(probe, ["And the money?"]))
        runtime.start()
        await runtime.publish_message(
            Order(context=[UserMessage(content="It broke.", source="person")], reply_to="person"),
            TopicId("sales", "session-1"),
        )
        await runtime.stop_when_idle()


@healthy("autogen: an escalation ladder that passes the same object on")
async def core_ladder(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        names = [f"tier{n}" for n in range(6)]

        def tier(following):
            async def act(agent, message, ctx):
                if following is None:
                    return Result("solved")
                return await agent.send_message(message, AgentId(following, "default"))

            return act

        for name, following in zip(names, [*names[1:], None]):
            await agent(at, runtime, name, tier(following))
        runtime.start()
        result = await runtime.send_message(Task("It is broken."), AgentId("tier0", "default"))
        await runtime.stop_when_idle()
        return result


@healthy("autogen: a router that passes its message on to a topic of several")
async def router(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def route(agent, message, ctx):
            await agent.publish(message, to("experts"))

        await agent(at, runtime, "router", route, topic="work")
        for name in ("ann", "bob"):
            await agent(at, runtime, name, publishes, topic="experts")
        queue = await results_queue(runtime)
        runtime.start()
        await runtime.publish_message(Task("solve"), to("work"))
        await runtime.stop_when_idle()
        return all_of(queue)


@healthy("autogen: a mixture of agents in layers")
async def mixture(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def orchestrate(agent, message, ctx):
            previous = [message.content]
            for layer in range(2):
                asked = "; ".join(previous)
                previous = [
                    r.content
                    for r in await asyncio.gather(
                        *(agent.send_message(Task(asked), AgentId("worker", f"{layer}/{n}")) for n in range(3))
                    )
                ]
            return Result(await model.ask("; ".join(previous)))

        async def work(agent, message, ctx):
            return Result("the same")

        model = Model(probe, "orchestrator", "the final answer")
        await agent(at, runtime, "orchestrator", orchestrate)
        await agent(at, runtime, "worker", work)
        runtime.start()
        result = await runtime.send_message(Task("2 + 2?"), AgentId("orchestrator", "default"))
        await runtime.stop_when_idle()
        return result


class Solver(RoutedAgent):
    """Refines its answer with its neighbours' answers, as in the debate of AutoGen's design patterns."""

    def __init__(self, probe, rounds):
        super().__init__("solves")
        self.probe, self.rounds, self.round, self.heard = probe, rounds, 0, []

    @message_handler
    async def on_task(self, message: Task, ctx: MessageContext) -> None:
        await self._publish_answer()

    @message_handler
    async def on_result(self, message: Result, ctx: MessageContext) -> None:
        self.heard.append(message.content)
        if len(self.heard) == 2 * self.round:
            await self._publish_answer()

    async def _publish_answer(self):
        self.probe.call(f"round of {self.id.type}")
        self.round += 1
        if self.round > self.rounds:
            await self.publish_message(Note("42"), to("aggregate"))
        else:
            await self.publish_message(Result("42"), to(f"neighbours-of-{self.id.type}"))


class Aggregator(RoutedAgent):
    def __init__(self, probe):
        super().__init__("aggregates")
        self.probe, self.votes = probe, []

    @message_handler
    async def on_question(self, message: Task, ctx: MessageContext) -> None:
        await self.publish_message(Task(message.content), to("solvers"))

    @message_handler
    async def on_vote(self, message: Note, ctx: MessageContext) -> None:
        self.votes.append(message.content)
        if len(self.votes) == 4:
            self.probe.saw(max(set(self.votes), key=self.votes.count))
            await self.publish_message(Result(self.votes[0]), DefaultTopicId())


@healthy("autogen: a debate of solvers in a ring, decided by a vote")
async def debate(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        names = ["a", "b", "c", "d"]
        for n, name in enumerate(names):
            await Solver.register(runtime, name, lambda: Solver(probe, 2))
            await runtime.add_subscription(TypeSubscription("solvers", name))
            for other in (names[n - 1], names[(n + 1) % 4]):
                await runtime.add_subscription(TypeSubscription(f"neighbours-of-{other}", name))
        await Aggregator.register(runtime, "aggregator", lambda: Aggregator(probe))
        for topic in ("question", "aggregate"):
            await runtime.add_subscription(TypeSubscription(topic, "aggregator"))
        runtime.start()
        await runtime.publish_message(Task("6 * 7?"), to("question"))
        await runtime.stop_when_idle()


@dataclass
class Review:
    text: str
    approved: bool


@default_subscription
class Coder(RoutedAgent):
    def __init__(self, model):
        super().__init__("codes")
        self.model, self.memory = model, []

    @message_handler
    async def on_task(self, message: Task, ctx: MessageContext) -> None:
        self.memory.append(message)
        await self.publish_message(Note(await self.model.ask(message.content)), DefaultTopicId())

    @message_handler
    async def on_review(self, message: Review, ctx: MessageContext) -> None:
        if message.approved:
            await self.publish_message(Result("approved"), DefaultTopicId())
        else:
            await self.publish_message(Note(await self.model.ask(message.text)), DefaultTopicId())


@default_subscription
class Reviewer(RoutedAgent):
    def __init__(self, model):
        super().__init__("reviews")
        self.model = model

    @message_handler
    async def on_code(self, message: Note, ctx: MessageContext) -> None:
        reply = json.loads(await self.model.ask(message.content))
        await self.publish_message(Review(**reply), DefaultTopicId())


@healthy("autogen: reflection on the default topic, its result published to nobody")
async def core_reflection(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        await Coder.register(runtime, "coder", lambda: Coder(Model(probe, "coder", "v1", "v2")))
        replies = ['{"text": "no", "approved": false}', '{"text": "yes", "approved": true}']
        await Reviewer.register(runtime, "reviewer", lambda: Reviewer(Model(probe, "reviewer", *replies)))
        runtime.start()
        await runtime.publish_message(Task("code"), DefaultTopicId())
        await runtime.stop_when_idle()
