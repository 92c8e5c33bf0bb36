"""Healthy programs with teams of autogen-agentchat: persons, own agents, states, streams, cancellations."""

from __future__ import annotations

import asyncio

from autogen_agentchat.agents import BaseChatAgent, UserProxyAgent
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import (
    ExternalTermination,
    HandoffTermination,
    MaxMessageTermination,
    TextMentionTermination,
)
from autogen_agentchat.messages import HandoffMessage, StructuredMessage, TextMessage
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_core import CancellationToken
from pydantic import BaseModel

from attach import Model, assistant, attached, calls, streamed, without_identity
from zoo import healthy


@healthy("autogen: a user proxy in a chat")
async def user_proxy(probe):
    async with attached(probe) as at:

        def answer(prompt):
            probe.call("input")
            return "APPROVE"

        team = at.team(
            RoundRobinGroupChat(
                [assistant(probe, "writer", "a text"), UserProxyAgent("user", input_func=answer)],
                termination_condition=TextMentionTermination("APPROVE"),
            )
        )
        return await streamed(probe, team.run_stream(task="Write."))


class Stopping(BaseChatAgent):
    """The program's own agent, without a model."""

    def __init__(self, name, act):
        super().__init__(name, "acts")
        self.act = act

    @property
    def produced_message_types(self):
        return (TextMessage,)

    async def on_messages(self, messages, cancellation_token):
        return Response(chat_message=TextMessage(content=str(await self.act(messages)), source=self.name))

    async def on_reset(self, cancellation_token):
        pass


@healthy("autogen: agents without models, stopped from outside")
async def stopped_outside(probe):
    stop = ExternalTermination()

    async def count(messages):
        if probe.call("turn") == 4:
            stop.set()
        return len(messages)

    async with attached(probe) as at:
        team = at.team(RoundRobinGroupChat([Stopping("a", count), Stopping("b", count)], termination_condition=stop))
        return await streamed(probe, team.run_stream(task="Count."))


@healthy("autogen: a run that the user cancels")
async def cancelled(probe):
    token = CancellationToken()

    async def cancel(messages):
        token.cancel()
        return "cancelled"

    async with attached(probe) as at:
        team = at.team(RoundRobinGroupChat([Stopping("a", cancel)], max_turns=3))
        try:
            await team.run(task="Go.", cancellation_token=token)
        except asyncio.CancelledError:
            return "cancelled"


@healthy("autogen: state saved, loaded into a second team, and reset")
async def states(probe):
    async with attached(probe) as at:

        def build():
            agents = [assistant(probe, "ann", "1", "3", "5"), assistant(probe, "bob", "2", "4", "6")]
            return RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(3))

        first, second = at.team(build()), build()
        await first.run(task="Count.")
        state = await first.save_state()
        probe.saw(cleaned_state(state))
        await second.load_state(state)
        probe.saw(without_identity(await second.run(task="Go on.")))
        await first.reset()
        probe.saw(cleaned_state(await first.save_state()))
        return without_identity(await first.run(task="Again."))


def cleaned_state(state):
    from attach import cleaned

    return cleaned(dict(state))


class Verdict(BaseModel):
    good: bool
    why: str


@healthy("autogen: structured messages and JSON")
async def structured(probe):
    async with attached(probe) as at:
        judge = assistant(probe, "judge", '{"good": true, "why": "short"}', output_content_type=Verdict)
        reader = assistant(probe, "reader", '{"answer": 42}')
        team = at.team(
            RoundRobinGroupChat([judge, reader], max_turns=2, custom_message_types=[StructuredMessage[Verdict]])
        )
        return await streamed(probe, team.run_stream(task='{"question": "good?"}'))


@healthy("autogen: streamed models and empty answers")
async def streaming(probe):
    async with attached(probe) as at:
        agents = [
            assistant(probe, "ann", "one two three", "", model_client_stream=True),
            assistant(probe, "bob", "", ""),
        ]
        team = at.team(RoundRobinGroupChat(agents, max_turns=4))
        return await streamed(probe, team.run_stream(task="Speak."))


@healthy("autogen: a loop of tools with equal texts")
async def tool_loop(probe):
    def run_code(code: str) -> str:
        """Runs code."""
        probe.call("run_code")
        return "ok"

    async with attached(probe) as at:
        code = '{"code": "1"}'
        coder = assistant(
            probe,
            "coder",
            calls("run_code", run_code=code),
            calls("run_code", "run_code", run_code=code),
            "It works.",
            tools=[run_code],
            max_tool_iterations=5,
            reflect_on_tool_use=True,
        )
        team = at.team(RoundRobinGroupChat([coder], max_turns=1))
        return await streamed(probe, team.run_stream(task="Run it."))


@healthy("autogen: a team that raises and is replaced")
async def retried(probe):
    async with attached(probe) as at:

        async def fail(messages):
            if probe.call("turn") == 1:
                raise ConnectionError("no network")
            return "done"

        for _ in range(2):
            try:
                team = at.team(RoundRobinGroupChat([Stopping("a", fail), assistant(probe, "b", "fine")], max_turns=2))
                return await streamed(probe, team.run_stream(task="Try."))
            except RuntimeError as error:
                probe.saw(str(error).splitlines()[0])


@healthy("autogen: two teams at once, then a third on their results")
async def teams_at_once(probe):
    async with attached(probe) as at:
        teams = [
            at.team(RoundRobinGroupChat([assistant(probe, f"{n}1", "x"), assistant(probe, f"{n}2", "y")], max_turns=2))
            for n in ("red", "blue")
        ]
        results = await asyncio.gather(*(t.run(task="Solve.") for t in teams))
        text = " ".join(r.messages[-1].to_text() for r in results)
        last = at.team(RoundRobinGroupChat([assistant(probe, "judge", "both")], max_turns=1))
        return without_identity(await last.run(task=text))


@healthy("autogen: a team on a runtime that the program starts and stops")
async def own_runtime(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        agents = [assistant(probe, "ann", "1", "3"), assistant(probe, "bob", "2", "DONE")]
        team = RoundRobinGroupChat(agents, termination_condition=TextMentionTermination("DONE"), runtime=runtime)
        runtime.start()
        result = await streamed(probe, team.run_stream(task="Count."))
        await runtime.stop_when_idle()
        return result


@healthy("autogen: a debate of a group with a moderator who stops it")
async def group_debate(probe):
    async with attached(probe) as at:
        agents = [
            assistant(probe, "pro", "yes", "yes!"),
            assistant(probe, "con", "no", "no!"),
            assistant(probe, "moderator", "go on", "STOP: a draw"),
        ]
        team = at.team(
            RoundRobinGroupChat(
                agents,
                termination_condition=TextMentionTermination("STOP", sources=["moderator"]) & MaxMessageTermination(5),
            )
        )
        return await streamed(
            probe,
            team.run_stream(
                task=[TextMessage(content="Debate.", source="user"), TextMessage(content="Be short.", source="host")]
            ),
        )


def own_team(at, runtime, make):
    """Returns a team and the function that runs it: on the program's runtime if digd is attached, else on its own."""
    if at.run is None:
        team = make(None)
        return team.run, team.run_stream
    team = make(runtime)
    return (lambda **options: runtime.run_team(team, **options)), (
        lambda **options: runtime.run_team_stream(team, **options)
    )


@healthy("autogen: teams that the runtime runs, with a person and a cancelled run")
async def run_by_runtime(probe):
    async with attached(probe) as at:
        runtime = at.runtime()
        agent = assistant(probe, "agent", calls("transfer_to_user"), "Booked. TERMINATE", handoffs=["user"])
        done = HandoffTermination(target="user") | TextMentionTermination("TERMINATE")
        run, stream = own_team(at, runtime, lambda r: Swarm([agent], termination_condition=done, runtime=r))
        probe.saw(without_identity(await run(task="Book.")))
        probe.saw(await streamed(probe, stream(task=HandoffMessage(source="user", target="agent", content="Monday"))))
        token = CancellationToken()

        async def cancel(messages):
            token.cancel()

        run, _ = own_team(at, runtime, lambda r: RoundRobinGroupChat([Stopping("a", cancel)], max_turns=3, runtime=r))
        try:
            await run(task="Go.", cancellation_token=token)
        except asyncio.CancelledError:
            probe.saw("cancelled")
        agents = [assistant(probe, "ann", "1"), assistant(probe, "bob", "2")]
        run, _ = own_team(at, runtime, lambda r: RoundRobinGroupChat(agents, max_turns=2, runtime=r))
        return without_identity(await run(task="Count."))


@healthy("autogen: a team that raises on the program's runtime")
async def raises_on_runtime(probe):
    async with attached(probe) as at:
        runtime = at.runtime()

        async def fail(messages):
            raise ConnectionError("no network")

        agents = [assistant(probe, "ann", "1"), Stopping("b", fail)]
        run, _ = own_team(at, runtime, lambda r: RoundRobinGroupChat(agents, max_turns=4, runtime=r))
        try:
            await run(task="Count.")
        except RuntimeError as error:
            return str(error)


@healthy("autogen: teams that are dumped, paused, resumed and used after the run")
async def dumped(probe):
    async def pause(messages):
        await team.pause()
        await team.resume()
        return "went on"

    async with attached(probe) as at:
        team = at.team(RoundRobinGroupChat([assistant(probe, "ann", "1", "2"), Stopping("b", pause)], max_turns=2))
        first = await team.run(task="Go.")
        probe.saw(sorted(vars(team._participants[0])))
    probe.saw(without_identity(first))
    return without_identity(await team.run(task="Again."))


@healthy("autogen: custom agents that a selector calls in any order")
async def arithmetic(probe):
    def agent(name, operation):
        async def act(messages):
            return operation(int(messages[-1].to_text()))

        return Stopping(name, act)

    async with attached(probe) as at:
        agents = [agent("add", lambda n: n + 1), agent("double", lambda n: 2 * n), agent("same", lambda n: n)]
        selecting = Model(probe, "selector", "add", "same", "double", "same", "double", "add")
        team = at.team(
            SelectorGroupChat(
                agents, selecting, allow_repeated_speaker=True, termination_condition=MaxMessageTermination(7)
            )
        )
        return await streamed(probe, team.run_stream(task="10"))


@healthy("autogen: a run that is cancelled by its task, and another one after it")
async def cancelled_by_task(probe):
    async with attached(probe) as at:
        started, go = asyncio.Event(), asyncio.Event()

        async def wait(messages):
            started.set()
            await go.wait()

        team = at.team(RoundRobinGroupChat([Stopping("slow", wait)], max_turns=3))
        task = asyncio.create_task(team.run(task="Go."))
        await started.wait()
        task.cancel()
        await asyncio.sleep(0)
        go.set()
        try:
            await task
        except asyncio.CancelledError:
            probe.saw("cancelled")
        agents = [assistant(probe, "ann", "1"), assistant(probe, "bob", "2")]
        return without_identity(await at.team(RoundRobinGroupChat(agents, max_turns=2)).run(task="Count."))


@healthy("autogen: a stream that its reader leaves early")
async def left_early(probe):
    async with attached(probe) as at:
        agents = [assistant(probe, "ann", "1"), assistant(probe, "bob", "2")]
        team = at.team(RoundRobinGroupChat(agents, max_turns=2))
        stream = team.run_stream(task="Count.")
        async for item in stream:
            probe.saw(type(item).__name__)
            if len(getattr(item, "content", "")) == 1:
                break
        await stream.aclose()


@healthy("autogen: a debate of one agent with itself, and one speaker in two rounds of a graph")
async def graph_any(probe):
    async with attached(probe) as at:
        agents = [
            assistant(probe, "start", "go"),
            assistant(probe, "left", "l"),
            assistant(probe, "right", "r"),
            assistant(probe, "end", "first", "second"),
        ]
        builder = DiGraphBuilder()
        for agent in agents:
            builder.add_node(agent)
        builder.add_edge(agents[0], agents[1]).add_edge(agents[0], agents[2])
        builder.add_edge(agents[1], agents[3], activation_group="l", activation_condition="any")
        builder.add_edge(agents[2], agents[3], activation_group="r", activation_condition="any")
        team = at.team(GraphFlow(agents, builder.build(), termination_condition=MaxMessageTermination(10)))
        return without_identity(await team.run(task="Go."))
