"""Healthy systems of autogen-core with requests: tools, races, retries, cancellations and notices."""

from __future__ import annotations

import asyncio

from autogen_core import (
    AgentId,
    CancellationToken,
    DefaultInterventionHandler,
    DropMessage,
    FunctionCall,
    MessageContext,
    RoutedAgent,
    message_handler,
)
from autogen_core.models import UserMessage
from autogen_core.tool_agent import ToolAgent, tool_agent_caller_loop
from autogen_core.tools import FunctionTool

from attach import Model, attached, calls
from core_agents import Collector, Note, Result, Task, agent, all_of, answers, listener, results_queue, to
from zoo import healthy


class Approval(DefaultInterventionHandler):
    """A user's intervention handler: drops some tool calls, counts all messages, notes the end."""

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


@healthy("autogen: self-consistency by a vote, answered before the last vote")
async def quorum(probe):
    async with attached(probe) as at:
        runtime = at.runtime(answers=Note)

        async def vote(agent, message, ctx):
            await agent.publish(Result("7"), to("votes"))

        async def count(agent, message, ctx):
            if len(agent.seen) == 2:
                await agent.publish(Note("7"), to("answer"))

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


@healthy("autogen: an answer before its background request has ended")
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


@healthy("autogen: requests that raise, are repeated and replaced")
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
            await agent.publish(Result("the answer"), to("results"))

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
            await agent.publish(Note("begun"), to("log"))
            part = await agent.send_message(Task("part"), AgentId("worker", "default"))
            await agent.publish(Note("done"), to("log"))
            return part

        await agent(at, runtime, "lead", lead)
        await agent(at, runtime, "worker", answers)
        await listener(at, runtime, topic="log")
        runtime.start()
        result = await runtime.send_message(Task("go"), AgentId("lead", "default"))
        await runtime.stop_when_idle()
        return result
