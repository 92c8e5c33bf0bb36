"""Healthy teams of autogen-agentchat, in the shapes of its tutorials."""

from __future__ import annotations

import asyncio

from autogen_agentchat.agents import BaseChatAgent, SocietyOfMindAgent, UserProxyAgent
from autogen_agentchat.base import Handoff, Response
from autogen_agentchat.conditions import (
    ExternalTermination,
    FunctionalTermination,
    HandoffTermination,
    MaxMessageTermination,
    SourceMatchTermination,
    TextMentionTermination,
)
from autogen_agentchat.messages import HandoffMessage, StructuredMessage, TextMessage
from autogen_agentchat.teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import CancellationToken
from pydantic import BaseModel

from attach import Model, assistant, attached, calls, streamed, without_identity
from zoo import healthy


@healthy("autogen: round robin, ended by a maximum of messages")
async def round_robin_max_messages(probe):
    async with attached(probe) as at:
        agents = [
            assistant(probe, "poet", "a verse", "a better verse"),
            assistant(probe, "critic", "more", "still more"),
        ]
        team = at.team(RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(4)))
        return await streamed(probe, team.run_stream(task="Write a verse."))


@healthy("autogen: reflection of coder and reviewer, ended by a text")
async def reflection(probe):
    async with attached(probe) as at:
        coder = assistant(probe, "coder", "print(1)", "print(2)")
        reviewer = assistant(probe, "reviewer", "use 2", "APPROVE")
        done = TextMentionTermination("APPROVE")
        result = await at.team(RoundRobinGroupChat([coder, reviewer], termination_condition=done)).run(
            task="Print two."
        )
        return without_identity(result)


@healthy("autogen: a person between runs of one turn each")
async def person_between_runs(probe):
    async with attached(probe) as at:
        writer = assistant(probe, "writer", "one", "two", "three")
        team = at.team(RoundRobinGroupChat([writer], max_turns=1))
        for task in ("Write a poem.", "Shorter.", "Funnier."):
            probe.saw(without_identity(await team.run(task=task)))


@healthy("autogen: a team that is run on without a task")
async def run_on(probe):
    async with attached(probe) as at:
        agents = [assistant(probe, "ann", "1", "3", "5"), assistant(probe, "bob", "2", "4", "6")]
        team = at.team(RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(3)))
        probe.saw(without_identity(await team.run(task="Count.")))
        return without_identity(await team.run())


@healthy("autogen: a maximum of messages that the task alone reaches")
async def no_turn_at_all(probe):
    async with attached(probe) as at:
        team = at.team(
            RoundRobinGroupChat([assistant(probe, "ann", "never")], termination_condition=MaxMessageTermination(1))
        )
        return without_identity(await team.run(task="Nothing to do."))


@healthy("autogen: selector chat with a model that selects")
async def selector(probe):
    async with attached(probe) as at:
        agents = [
            assistant(probe, "planner", "research, then write", "TERMINATE", description="plans"),
            assistant(probe, "researcher", "facts", description="researches"),
            assistant(probe, "writer", "a text", description="writes"),
        ]
        selecting = Model(probe, "selector", "planner", "researcher", "writer", "planner")
        done = TextMentionTermination("TERMINATE") | MaxMessageTermination(20)
        team = at.team(SelectorGroupChat(agents, selecting, termination_condition=done))
        return await streamed(probe, team.run_stream(task="Write about bees."))


@healthy("autogen: selector chat with a function, one speaker several times")
async def selector_function(probe):
    def select(messages):
        probe.call("select")
        return "solver" if len(messages) < 4 else "checker"

    async with attached(probe) as at:
        agents = [assistant(probe, "solver", "7", "7", "7"), assistant(probe, "checker", "7 it is")]
        team = at.team(
            SelectorGroupChat(
                agents,
                Model(probe, "unused"),
                selector_func=select,
                allow_repeated_speaker=True,
                emit_team_events=True,
                termination_condition=SourceMatchTermination(["checker"]),
            )
        )
        return await streamed(probe, team.run_stream(task="How many? Vote three times."))


def refund(flight: str) -> str:
    """Refunds a flight."""
    return f"{flight} is refunded"


@healthy("autogen: swarm with tools and hand-offs")
async def swarm(probe):
    async with attached(probe) as at:
        triage = assistant(probe, "triage", calls("transfer_to_refunder"), "All done. TERMINATE", handoffs=["refunder"])
        refunder = assistant(
            probe,
            "refunder",
            calls("refund", refund='{"flight": "LH1"}'),
            calls("transfer_to_triage"),
            handoffs=["triage"],
            tools=[refund],
        )
        team = at.team(Swarm([triage, refunder], termination_condition=TextMentionTermination("TERMINATE")))
        return await streamed(probe, team.run_stream(task="Refund my flight LH1."))


@healthy("autogen: swarm with a hand-off to a person, resumed")
async def swarm_with_person(probe):
    async with attached(probe) as at:
        agent = assistant(
            probe,
            "agent",
            calls("transfer_to_user"),
            calls("transfer_to_user"),
            "Booked. TERMINATE",
            handoffs=[Handoff(target="user", message="Which day?")],
        )
        done = HandoffTermination(target="user") | TextMentionTermination("TERMINATE")
        team = at.team(Swarm([agent], termination_condition=done))
        probe.saw(without_identity(await team.run(task="Book a flight.")))
        for text in ("Some day.", "Monday."):
            answer = HandoffMessage(source="user", target="agent", content=text)
            probe.saw(await streamed(probe, team.run_stream(task=answer)))


@healthy("autogen: swarm paused for a person by a condition of the program's own")
async def swarm_with_own_condition(probe):
    def to_person(messages):
        return any(isinstance(m, HandoffMessage) and m.target == "human" for m in messages)

    async with attached(probe) as at:
        agent = assistant(probe, "agent", calls("transfer_to_human"), handoffs=[Handoff(target="human")])
        team = at.team(Swarm([agent], termination_condition=FunctionalTermination(to_person)))
        return without_identity(await team.run(task="Ask somebody."))


@healthy("autogen: swarm as an escalation ladder of hand-offs alone")
async def ladder(probe):
    async with attached(probe) as at:
        tiers = [
            assistant(probe, f"tier{n}", calls(f"transfer_to_tier{n + 1}"), handoffs=[f"tier{n + 1}"]) for n in range(5)
        ]
        tiers.append(assistant(probe, "tier5", "Solved. TERMINATE"))
        team = at.team(Swarm(tiers, termination_condition=TextMentionTermination("TERMINATE")))
        return without_identity(await team.run(task="It is broken."))


@healthy("autogen: swarm in which triage asks one specialist after the other")
async def polling(probe):
    async with attached(probe) as at:
        names = ["ann", "bob", "cid", "dan"]
        triage = assistant(probe, "triage", *(calls(f"transfer_to_{n}") for n in names), handoffs=names)
        others = [assistant(probe, n, calls("transfer_to_triage"), handoffs=["triage"]) for n in names[:-1]]
        others.append(assistant(probe, "dan", "Mine. TERMINATE"))
        team = at.team(Swarm([triage, *others], termination_condition=TextMentionTermination("TERMINATE")))
        return without_identity(await team.run(task="Whose is this?"))


@healthy("autogen: swarm that its maximum of messages ends at a hand-off")
async def swarm_cut_off(probe):
    async with attached(probe) as at:
        ann = assistant(probe, "ann", calls("transfer_to_bob"), handoffs=["bob"])
        bob = assistant(probe, "bob", "never")
        team = at.team(Swarm([ann, bob], termination_condition=MaxMessageTermination(2)))
        return without_identity(await team.run(task="Hand it on."))


@healthy("autogen: one agent that hands off to the user outside a swarm")
async def lazy_agent(probe):
    async with attached(probe) as at:
        lazy = assistant(
            probe,
            "lazy",
            calls("transfer_to_user"),
            "It is sunny. TERMINATE",
            handoffs=[Handoff(target="user", message="I cannot do this.")],
        )
        done = HandoffTermination(target="user") | TextMentionTermination("TERMINATE")
        team = at.team(RoundRobinGroupChat([lazy], termination_condition=done))
        probe.saw(without_identity(await team.run(task="What is the weather?")))
        return without_identity(await team.run(task="It is sunny."))


def flow(agents, *edges, entry=None):
    builder = DiGraphBuilder()
    named = {a.name: a for a in agents}
    for agent in agents:
        builder.add_node(agent)
    for start, end, *condition in edges:
        builder.add_edge(named[start], named[end], **({"condition": condition[0]} if condition else {}))
    if entry:
        builder.set_entry_point(named[entry])
    return builder.build()


@healthy("autogen: graph flow in sequence")
async def graph_sequence(probe):
    async with attached(probe) as at:
        agents = [assistant(probe, n, f"{n}'s") for n in ("draft", "edit", "publish")]
        team = at.team(GraphFlow(agents, flow(agents, ("draft", "edit"), ("edit", "publish"))))
        return await streamed(probe, team.run_stream(task="Write."))


@healthy("autogen: graph flow that fans out and joins")
async def graph_join(probe):
    async with attached(probe) as at:
        agents = [assistant(probe, n, f"{n}'s") for n in ("writer", "grammar", "style", "final")]
        graph = flow(agents, ("writer", "grammar"), ("writer", "style"), ("grammar", "final"), ("style", "final"))
        team = at.team(GraphFlow(agents, graph))
        return without_identity(await team.run(task="Write."))


@healthy("autogen: graph flow of two sources that fan out to shared joins")
async def graph_two_sources(probe):
    async with attached(probe) as at:
        agents = [assistant(probe, n, f"{n}'s") for n in ("a", "b", "a1", "a2", "b1", "b2", "end")]
        graph = flow(
            agents, ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2"), *((n, "end") for n in ("a1", "a2", "b1", "b2"))
        )
        team = at.team(GraphFlow(agents, graph))
        return without_identity(await team.run())


@healthy("autogen: graph flow with parallel ends of equal texts")
async def graph_open_ends(probe):
    async with attached(probe) as at:
        agents = [assistant(probe, n, "the same") for n in ("start", "left", "right")]
        team = at.team(GraphFlow(agents, flow(agents, ("start", "left"), ("start", "right"))))
        return without_identity(await team.run(task="Go."))


@healthy("autogen: graph flow with a loop and a condition")
async def graph_loop(probe):
    async with attached(probe) as at:
        agents = [
            assistant(probe, "maker", "v1", "v2", "v3"),
            assistant(probe, "judge", "no", "no", "APPROVE"),
            assistant(probe, "closer", "done"),
        ]
        graph = flow(
            agents,
            ("maker", "judge"),
            ("judge", "maker", lambda m: "APPROVE" not in m.to_model_text()),
            ("judge", "closer", lambda m: "APPROVE" in m.to_model_text()),
            entry="maker",
        )
        team = at.team(GraphFlow(agents, graph, termination_condition=MaxMessageTermination(20)))
        return without_identity(await team.run(task="Make it."))


def ledger(speaker, satisfied=False, progress=True):
    import json

    answers = {
        "is_request_satisfied": satisfied,
        "is_progress_being_made": progress,
        "is_in_loop": False,
        "instruction_or_question": f"{speaker}, go on",
        "next_speaker": speaker,
    }
    return json.dumps({k: {"reason": "so", "answer": v} for k, v in answers.items()})


@healthy("autogen: Magentic-One, with a new plan after a stall")
async def magentic(probe):
    async with attached(probe) as at:
        agents = [assistant(probe, "coder", "code", "better code"), assistant(probe, "runner", "it runs")]
        leading = Model(
            probe,
            "orchestrator",
            "facts",
            "plan",
            ledger("coder"),
            ledger("coder", progress=False),
            "new facts",
            "new plan",
            ledger("coder"),
            ledger("runner"),
            ledger("runner", satisfied=True),
            "The final answer.",
        )
        team = at.team(MagenticOneGroupChat(agents, leading, max_stalls=1))
        return await streamed(probe, team.run_stream(task="Make a program."))


@healthy("autogen: society of mind")
async def society(probe):
    async with attached(probe) as at:
        inner = RoundRobinGroupChat(
            [assistant(probe, "ann", "a draft"), assistant(probe, "bob", "APPROVE")],
            termination_condition=TextMentionTermination("APPROVE"),
        )
        mind = SocietyOfMindAgent("mind", team=inner, model_client=Model(probe, "mind", "the inner result"))
        team = at.team(RoundRobinGroupChat([mind, assistant(probe, "translator", "das Ergebnis")], max_turns=2))
        return await streamed(probe, team.run_stream(task="Write and translate."))


@healthy("autogen: society of mind, its inner team watched too")
async def society_watched(probe):
    async with attached(probe) as at:
        inner = at.team(
            RoundRobinGroupChat(
                [assistant(probe, "ann", "a draft"), assistant(probe, "bob", "APPROVE")],
                termination_condition=TextMentionTermination("APPROVE"),
            )
        )
        mind = SocietyOfMindAgent("mind", team=inner, model_client=Model(probe, "mind", "the inner result"))
        team = at.team(RoundRobinGroupChat([mind, assistant(probe, "translator", "das Ergebnis")], max_turns=2))
        return without_identity(await team.run(task="Write and translate."))


@healthy("autogen: a team that is a participant of a team")
async def nested_team(probe):
    async with attached(probe) as at:
        desk = at.team(
            RoundRobinGroupChat(
                [assistant(probe, "ann", "a draft", "again"), assistant(probe, "bob", "better", "best")],
                max_turns=2,
                name="desk",
            )
        )
        team = at.team(
            RoundRobinGroupChat(
                [desk, assistant(probe, "critic", "no", "DONE")], termination_condition=TextMentionTermination("DONE")
            )
        )
        return await streamed(probe, team.run_stream(task="Write."))


@healthy("autogen: agents and teams as tools")
async def tools_that_are_agents(probe):
    async with attached(probe) as at:
        helper = assistant(probe, "helper", "42")
        pair = at.team(RoundRobinGroupChat([assistant(probe, "ann", "a"), assistant(probe, "bob", "b")], max_turns=2))
        main = assistant(
            probe,
            "main",
            calls("helper", helper='{"task": "compute"}'),
            calls("pair", pair='{"task": "discuss"}'),
            "All is known.",
            max_tool_iterations=3,
            tools=[AgentTool(helper), TeamTool(pair, name="pair", description="a pair")],
        )
        team = at.team(RoundRobinGroupChat([main], max_turns=1))
        return without_identity(await team.run(task="Find out."))


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
    """An agent of the program's own, which has no model."""

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


@healthy("autogen: a run that its user cancels")
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


@healthy("autogen: a team that raises and is made anew")
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
    """A team on the program's runtime where digd is attached, else on its own; and what runs it."""
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


@healthy("autogen: a debate of one agent with itself, and the same speaker in two graph nodes' rounds")
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
