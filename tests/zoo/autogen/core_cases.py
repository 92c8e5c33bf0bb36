"""Healthy systems of autogen-core, in the shapes of its design patterns."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from autogen_core import (
    AgentId,
    CancellationToken,
    ClosureAgent,
    ClosureContext,
    DefaultInterventionHandler,
    DefaultSubscription,
    DefaultTopicId,
    DropMessage,
    FunctionCall,
    MessageContext,
    RoutedAgent,
    TopicId,
    TypeSubscription,
    default_subscription,
    message_handler,
    type_subscription,
)
from autogen_core.models import UserMessage
from autogen_core.tool_agent import ToolAgent, tool_agent_caller_loop
from autogen_core.tools import FunctionTool
from pydantic import BaseModel

from attach import Model, attached, calls
from zoo import healthy


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


class Acting(RoutedAgent):
    """Takes every message of these examples, and acts as it is told."""

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


class Worker(Acting):
    @message_handler
    async def on_task(self, message: Task, ctx: MessageContext) -> Result | None:
        return await self._handle(message, ctx)

    async def tell(self, message, topic):
        await self.publish_message(message, topic)


class Collector(Acting):
    @message_handler
    async def on_result(self, message: Result, ctx: MessageContext) -> None:
        await self._handle(message, ctx)

    async def tell(self, message, topic):
        await self.publish_message(message, topic)


class Listener(RoutedAgent):
    """Can put nothing out."""

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
    await agent.tell(Result(f"{agent.id.type}: {message.content}"), to("results"))


async def absorbs(agent, message, ctx):
    return None


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


@healthy("autogen: a broadcast whose results all hear")
async def broadcast(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def solve(agent, message, ctx):
            await agent.tell(Result(agent.id.type), to("all"))
            await agent.tell(Result("and more"), to("all"))

        for name in ("ann", "bob", "cid"):
            await agent(at, runtime, name, solve, topic="all")

        async def collect(agent, message, ctx):
            if len(agent.seen) == 6:
                await agent.tell(Note(" ".join(sorted(agent.seen))), to("nobody-listens"))
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


@healthy("autogen: a workflow in sequence that prints its end")
async def sequence(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        steps = ["extract", "write", "format", "publish"]

        def step(model, following):
            async def act(agent, message, ctx):
                text = await model.ask(message.content)
                if following:
                    await agent.tell(Task(text), to(following))
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
    def __init__(self, probe, said):
        super().__init__("a person")
        self.probe, self.said = probe, said

    @message_handler
    async def on_order(self, message: Order, ctx: MessageContext) -> None:
        self.probe.saw([m.content for m in message.context])
        if self.said:
            context = [*message.context, UserMessage(content=self.said.pop(0), source="person")]
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
            await agent.tell(message, to("experts"))

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
    """Refines its answer with those of its neighbours, as in the debate of AutoGen's design patterns."""

    def __init__(self, probe, rounds):
        super().__init__("solves")
        self.probe, self.rounds, self.round, self.heard = probe, rounds, 0, []

    @message_handler
    async def on_task(self, message: Task, ctx: MessageContext) -> None:
        await self._say()

    @message_handler
    async def on_result(self, message: Result, ctx: MessageContext) -> None:
        self.heard.append(message.content)
        if len(self.heard) == 2 * self.round:
            await self._say()

    async def _say(self):
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


class Approval(DefaultInterventionHandler):
    """The user's: refuses some tool calls, counts everything, ends on a note."""

    def __init__(self, probe):
        self.probe = probe
        self.ended = False

    async def on_send(self, message, *, message_context, recipient):
        self.probe.call("intercepted send")
        if isinstance(message, FunctionCall) and "rm" in message.arguments:
            return DropMessage
        return message

    async def on_publish(self, message, *, message_context):
        self.probe.call("intercepted publish")
        self.ended = self.ended or isinstance(message, Note)
        return message


class ToolUser(RoutedAgent):
    def __init__(self, model, tools, tool_agent):
        super().__init__("uses tools")
        self.model, self.tools, self.tool_agent = model, tools, tool_agent

    @message_handler
    async def on_task(self, message: Task, ctx: MessageContext) -> Result:
        messages = await tool_agent_caller_loop(
            self,
            tool_agent_id=self.tool_agent,
            model_client=self.model,
            input_messages=[UserMessage(content=message.content, source="user")],
            tool_schema=self.tools,
            cancellation_token=ctx.cancellation_token,
        )
        await self.publish_message(Note("finished"), to("log"))
        return Result(str(messages[-1].content))


@healthy("autogen: tools with equal texts, a call that the user's intervention handler drops")
async def tool_agent(probe):
    def run(code: str) -> str:
        probe.call("tool")
        return "ok"

    async with attached(probe) as at:
        handler = Approval(probe)
        runtime = at.runtime(intervention_handlers=[handler])
        tools = [FunctionTool(run, description="runs code")]
        await ToolAgent.register(runtime, "tools", lambda: ToolAgent("tools", tools))
        model = Model(
            probe,
            "model",
            calls("run", "run", run='{"code": "1"}'),
            calls("run", run='{"code": "1"}'),
            "It works.",
            calls("run", run='{"code": "rm"}'),
        )
        await ToolUser.register(
            runtime, "user", lambda: ToolUser(model, [t.schema for t in tools], AgentId("tools", "default"))
        )
        runtime.start()
        probe.saw(await runtime.send_message(Task("run it"), AgentId("user", "default")))
        try:
            await runtime.send_message(Task("remove it"), AgentId("user", "default"))
        except Exception as error:
            probe.saw(type(error).__name__)
        await runtime.stop()  # AutoGen never counts a dropped message as done
        return handler.ended


@healthy("autogen: self-consistency by a vote, answered before the last one is in")
async def quorum(probe):
    async with attached(probe) as at:
        runtime = at.runtime(answers=Note)

        async def vote(agent, message, ctx):
            await agent.tell(Result("7"), to("votes"))

        async def count(agent, message, ctx):
            if len(agent.seen) == 2:
                await agent.tell(Note("7"), to("answer"))

        for n in range(4):
            await agent(at, runtime, f"voter{n}", vote, topic="work")
        await agent(at, runtime, "counter", count, kind=Collector, topic="votes")
        await listener(at, runtime, topic="answer")
        runtime.start()
        await runtime.publish_message(Task("How many?"), to("work"))
        await runtime.stop_when_idle()


@healthy("autogen: the fastest of several wins, the others are cancelled")
async def race(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        never = asyncio.Event()

        async def lead(agent, message, ctx):
            requests = [
                asyncio.create_task(agent.send_message(message, AgentId(n, "default")))
                for n in ("fast", "slow", "late")
            ]
            done, rest = await asyncio.wait(requests, return_when=asyncio.FIRST_COMPLETED)
            for request in rest:
                request.cancel()
            return done.pop().result()

        async def fast(agent, message, ctx):
            await started["slow"].wait()
            return Result("fast")

        started = {"slow": asyncio.Event()}

        async def slow(agent, message, ctx):
            started["slow"].set()
            await never.wait()
            return Result("too late")

        await agent(at, runtime, "lead", lead)
        await agent(at, runtime, "fast", fast)
        for name in ("slow", "late"):
            await agent(at, runtime, name, slow)
        runtime.start()
        result = await runtime.send_message(Task("race"), AgentId("lead", "default"))
        never.set()
        await runtime.stop_when_idle()
        return result


@healthy("autogen: requests that are not waited for when the answer is there")
async def not_awaited(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        go = asyncio.Event()
        background = []

        async def lead(agent, message, ctx):
            background.append(asyncio.create_task(agent.send_message(Task("later"), AgentId("slow", "default"))))
            return Result("now")

        async def slow(agent, message, ctx):
            await go.wait()
            return Result("later")

        await agent(at, runtime, "lead", lead)
        await agent(at, runtime, "slow", slow)
        runtime.start()
        probe.saw(await runtime.send_message(Task("go"), AgentId("lead", "default")))
        go.set()
        probe.saw((await background[0]).content)
        await runtime.stop_when_idle()


@healthy("autogen: requests that raise, are tried again and replaced")
async def retries(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def lead(agent, message, ctx):
            for _ in range(4):
                try:
                    return await agent.send_message(message, AgentId("flaky", "default"))
                except ConnectionError as error:
                    probe.saw(str(error))
            return await agent.send_message(message, AgentId("steady", "default"))

        async def flaky(agent, message, ctx):
            raise ConnectionError(f"no network, {len(agent.seen)}")

        await agent(at, runtime, "lead", lead)
        await agent(at, runtime, "flaky", flaky)
        await agent(at, runtime, "steady", answers)
        runtime.start()
        result = await runtime.send_message(Task("go"), AgentId("lead", "default"))
        await runtime.stop_when_idle()
        return result


@healthy("autogen: a subscriber that raises while another answers")
async def one_fails(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def fails(agent, message, ctx):
            raise ValueError("broken")

        async def lead(agent, message, ctx):
            await agent.tell(Result("the answer"), to("results"))

        await agent(at, runtime, "broken", fails, topic="work")
        await agent(at, runtime, "lead", lead, topic="work")
        queue = await results_queue(runtime)
        runtime.start()
        await runtime.publish_message(Task("go"), to("work"))
        await runtime.stop_when_idle()
        return all_of(queue)


@healthy("autogen: requests that raise and reach the program")
async def raises_outside(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def flaky(agent, message, ctx):
            if len(agent.seen) < 3:
                raise ConnectionError("no network")
            return Result("at last")

        await agent(at, runtime, "flaky", flaky)
        runtime.start()
        try:
            for _ in range(5):
                try:
                    return await runtime.send_message(Task("go"), AgentId("flaky", "default"))
                except ConnectionError as error:
                    probe.saw(str(error))
        finally:
            await runtime.stop_when_idle()


@healthy("autogen: a request that its user cancels")
async def core_cancelled(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        token, started = CancellationToken(), asyncio.Event()

        async def slow(agent, message, ctx):
            started.set()
            waiting = asyncio.get_running_loop().create_future()
            ctx.cancellation_token.link_future(waiting)
            await waiting

        await agent(at, runtime, "slow", slow)
        runtime.start()
        request = asyncio.create_task(
            runtime.send_message(Task("go"), AgentId("slow", "default"), cancellation_token=token)
        )
        await started.wait()
        token.cancel()
        try:
            await request
        except asyncio.CancelledError:
            probe.saw("cancelled")
        await runtime.stop_when_idle()


@healthy("autogen: a program that asks one agent after the other, and several at once")
async def outside_orchestrates(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        for name in ("writer", "editor", "judge"):
            await agent(at, runtime, name, answers)
        runtime.start()
        at_once = await asyncio.gather(
            *(runtime.send_message(Task(f"draft {n}"), AgentId("writer", f"w{n}")) for n in range(3))
        )
        text = " ".join(r.content for r in at_once)
        text = (await runtime.send_message(Task(text), AgentId("editor", "default"))).content
        result = await runtime.send_message(Task(text), AgentId("judge", "default"))
        await runtime.stop_when_idle()
        return result


@healthy("autogen: several tasks at once, each divided among the same workers")
async def several_tasks(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def divide(agent, message, ctx):
            parts = await asyncio.gather(
                *(agent.send_message(Task(f"{message.content}.{n}"), AgentId("worker", "default")) for n in range(3))
            )
            return Result(" ".join(p.content for p in parts))

        await agent(at, runtime, "lead", divide)
        await agent(at, runtime, "worker", answers)
        runtime.start()
        results = await asyncio.gather(
            *(runtime.send_message(Task(f"task{n}"), AgentId("lead", "default")) for n in range(3))
        )
        await runtime.stop_when_idle()
        return results


@healthy("autogen: an answer beside notices to loggers")
async def with_loggers(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def lead(agent, message, ctx):
            await agent.tell(Note("begun"), to("log"))
            part = await agent.send_message(Task("part"), AgentId("worker", "default"))
            await agent.tell(Note("done"), to("log"))
            return part

        await agent(at, runtime, "lead", lead)
        await agent(at, runtime, "worker", answers)
        await listener(at, runtime, topic="log")
        runtime.start()
        result = await runtime.send_message(Task("go"), AgentId("lead", "default"))
        await runtime.stop_when_idle()
        return result


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Walker(RoutedAgent):
    """Typed messages: a tree that is handled by agents of the same type with other keys."""

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
            await agent.tell(Task(""), to("second"))

        async def second(agent, message, ctx):
            await agent.tell(Result(""), to("results"))

        await agent(at, runtime, "lead", lead, topic="work")
        await agent(at, runtime, "second", second, topic="second")
        queue = await results_queue(runtime)
        runtime.start()
        await runtime.publish_message(Task(""), to("work"))
        await runtime.stop_when_idle()
        return all_of(queue)


@healthy("autogen: agents that were made by the program, on the default topic of two sessions")
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


@healthy("autogen: an aggregator that counts on not being interrupted between two messages")
async def uninterrupted(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def work(agent, message, ctx):
            await agent.tell(Note("begun"), to("log"))
            await agent.tell(Result(agent.id.type), to("results"))

        async def collect(agent, message, ctx):
            probe.saw(message.content)
            await agent.tell(Note(f"{len(agent.seen)} of 4"), to("log"))
            if len(agent.seen) == 4:
                await agent.tell(Note("all are there"), to("log"))

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
                await agent.tell(message, to(ring[agent.id.type]))

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
            await agent.tell(Task("first"), to("later"))
            await agent.runtime.remove_subscription(subscription.id)
            await agent.tell(Task("second"), to("later"))
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
    """Writes code until an execution satisfies it, as in AutoGen's code execution pattern."""

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


@healthy("autogen: a handler that starts tasks of its own and answers before they end")
async def background_tasks(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        tasks = []

        async def later(agent, message, ctx):
            async def tell():
                await asyncio.sleep(0)
                await agent.tell(Result("later"), to("results"))

            tasks.append(asyncio.create_task(tell()))
            return Result("at once")

        await agent(at, runtime, "lead", later)
        queue = await results_queue(runtime)
        runtime.start()
        probe.saw(await runtime.send_message(Task("go"), AgentId("lead", "default")))
        await asyncio.gather(*tasks)
        await runtime.stop_when_idle()
        return all_of(queue)
