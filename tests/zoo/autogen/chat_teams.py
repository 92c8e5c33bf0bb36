"""Healthy teams of autogen-agentchat, by kind of team, in the shapes of its tutorials."""

from __future__ import annotations

from autogen_agentchat.agents import SocietyOfMindAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import (
    FunctionalTermination,
    HandoffTermination,
    MaxMessageTermination,
    SourceMatchTermination,
    TextMentionTermination,
)
from autogen_agentchat.messages import HandoffMessage
from autogen_agentchat.teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_agentchat.tools import AgentTool, TeamTool

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


@healthy("autogen: a team that continues without a task")
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


@healthy("autogen: swarm that the program's own condition pauses for a person")
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


@healthy("autogen: swarm whose maximum of messages is reached at a hand-off")
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
