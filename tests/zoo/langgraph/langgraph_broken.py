"""Broken graphs: one for each rule that can fire. In `enforce` an agent reads the text and the run ends better.

Their nodes imitate a model: they read the last message, and act on digd's text if it is one.
"""

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState
from langgraph.types import Command, Send

from langgraph_attach import Team
from zoo import broken

QUESTION = {"messages": [HumanMessage("Write a parser.", id="m0")]}
THREAD = {"configurable": {"thread_id": "t"}}
PATIENT = {"window_ms": 400, "max_attempts": 1}  # longer than a busy machine's pause between two steps


def reads(state, *words):
    """Whether the last message is digd's text and contains these words."""
    last = state["messages"][-1]
    assert not isinstance(last, dict)
    return isinstance(last, HumanMessage) and last.id != "m0" and all(w in last.content for w in words)


def say(text, goto=()):
    return Command(update={"messages": [AIMessage(text, id=text)]}, goto=goto)


def texts(result):
    return [m.content for m in result["messages"]]


def ends_with(probe, result, healed):
    """Checks that the last message is `healed` in `enforce` only, and that the state contains no text of digd."""
    found = texts(result)
    assert (found[-1] == healed) == (probe.mode == "enforce"), found
    assert sum(isinstance(m, HumanMessage) for m in result["messages"]) == 1
    return found


@broken("langgraph goto an agent that does not exist", "orphaned_event")
def ghost(probe):
    pick = lambda s: say("over", "coder" if reads(s, '"ghost"', '"coder"') else "ghost")  # noqa: E731
    team = (
        Team(probe, MessagesState).node("supervisor", pick).node("coder", say("done", END)).edges((START, "supervisor"))
    )
    return ends_with(probe, team.compile().invoke(QUESTION), "done")


@broken("langgraph goto an agent that does not exist, on an event loop", "orphaned_event")
async def async_ghost(probe):
    pick = lambda s: say("over", "coder" if reads(s, '"coder"') else "ghost")  # noqa: E731
    team = (
        Team(probe, MessagesState).node("supervisor", pick).node("coder", say("done", END)).edges((START, "supervisor"))
    )
    return ends_with(probe, await team.compile().ainvoke(QUESTION), "done")


@broken("langgraph Send to an agent that does not exist", "orphaned_event")
def ghost_send(probe):
    pick = lambda s: say("over", "coder") if reads(s, '"coder"') else say("over", Send("ghost", s))  # noqa: E731
    team = (
        Team(probe, MessagesState).node("supervisor", pick).node("coder", say("done", END)).edges((START, "supervisor"))
    )
    return ends_with(probe, team.compile().invoke(QUESTION), "done")


@broken("langgraph handoff from a subgraph to an agent that does not exist", "orphaned_event")
def ghost_handoff(probe):

    def turn(state):
        return Command(goto="coder" if reads(state, '"coder"') else "ghost", graph=Command.PARENT, update={})

    inner = Team(probe, MessagesState).node("think", turn).edges((START, "think"))
    team = Team(probe, MessagesState).node("coder", say("done", END)).edges((START, "desk"))
    team.builder.add_node("desk", inner.builder.compile())
    return ends_with(probe, team.compile().invoke(QUESTION), "done")


@broken("langgraph two agents that pass the same work back and forth", "excessive_rerouting")
def ping_pong(probe):
    def passes(to):
        def decide(state):
            if reads(state, "rerouted") or probe.call("passes") > 8:
                return say("handled" if reads(state) else "gave up", END)
            return Command(goto=to)

        return decide

    team = (
        Team(probe, MessagesState)
        .node("sales", passes("support"))
        .node("support", passes("sales"))
        .edges((START, "sales"))
    )
    return ends_with(probe, team.compile().invoke(QUESTION), "handled")


@broken("langgraph answer while a join still waits", "early_termination")
def waiting_join(probe):
    """`right` never starts, so `merge` never runs, and the graph ends with the side branch's answer."""
    side = lambda s: say("fetch", "right") if reads(s, "still unresolved") else say("side", END)  # noqa: E731
    team = (
        Team(probe, MessagesState)
        .node("left", say("left"))
        .node("right", say("right"))
        .node("merge", say("merged", END))
    )
    team.node("side", side).edges((START, "left"), (["left", "right"], "merge")).edges(("left", "side"))
    return ends_with(probe, team.compile().invoke(QUESTION), "merged")


@broken(
    "langgraph join that never completes",
    "deadlock",
    wait_for_healing_ms=20_000,
    rules={"deadlock": PATIENT, "early_termination": {"mode": "observe"}},
)
def deadlock(probe):
    team = (
        Team(probe, MessagesState)
        .node("left", say("left"))
        .node("right", say("right"))
        .node("merge", say("merged", END))
    )
    graph = team.edges((START, "left"), (["left", "right"], "merge")).compile(checkpointer=InMemorySaver())
    result = graph.invoke(QUESTION, THREAD)
    assert ("merged" in texts(result)) == (probe.mode == "enforce")
    return texts(result)


@broken(
    "langgraph graph that ends without its answer",
    "missing_termination",
    wait_for_healing_ms=20_000,
    rules={"missing_termination": PATIENT},
)
def no_answer(probe):
    turn = lambda s: say("go", "writer") if reads(s) else say("researched", END)  # noqa: E731
    team = (
        Team(probe, MessagesState).node("research", turn).node("writer", say("report", END)).edges((START, "research"))
    )
    graph = team.compile({"submits": ["writer"]} if probe.attached else None, checkpointer=InMemorySaver())
    return ends_with(probe, graph.invoke(QUESTION, THREAD), "report")


@broken(
    "langgraph graph that ends without its answer, on an event loop",
    "missing_termination",
    wait_for_healing_ms=20_000,
    rules={"missing_termination": PATIENT},
)
async def async_no_answer(probe):
    turn = lambda s: say("go", "writer") if reads(s) else say("researched", END)  # noqa: E731
    team = (
        Team(probe, MessagesState).node("research", turn).node("writer", say("report", END)).edges((START, "research"))
    )
    graph = team.compile({"submits": ["writer"]} if probe.attached else None, checkpointer=InMemorySaver())
    return ends_with(probe, await graph.ainvoke(QUESTION, THREAD), "report")


@broken(
    "langgraph loop that hits its recursion limit",
    "deadlock",
    wait_for_healing_ms=20_000,
    heal_errors=True,
    rules={"deadlock": PATIENT},
)
def endless(probe):
    turn = lambda s: say("at last", END) if reads(s) else say("again", "work")  # noqa: E731
    graph = Team(probe, MessagesState).node("work", turn).edges((START, "work")).compile(checkpointer=InMemorySaver())
    return ends_with(probe, graph.invoke(QUESTION, {**THREAD, "recursion_limit": 6}), "at last")
