"""A team as a LangGraph graph: each agent is a node that chooses which nodes run next."""

from __future__ import annotations

import itertools
import operator
from typing import Annotated, Any, TypedDict

import digd.langgraph
from controls import Nothing
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send
from mind import USER, Log, Message, Mind, Model
from tasks import Task

HEALING_MS = 6000
WINDOW_MS = 1500
MAX_STEPS = 60


class Team(TypedDict, total=False):
    messages: list[BaseMessage]  # what one node reads: the input of `Send`
    sender: str
    known: list[str]
    answers: Annotated[list[str], operator.add]


def node_of(mind: Mind) -> Any:
    async def node(state: Team) -> Command[Any]:
        first, *others = state["messages"]
        incoming = Message(state.get("sender", USER), str(first.content), tuple(state.get("known", ())))
        texts = [str(message.content) for message in others]
        decision = await mind.decide(incoming, texts)
        goto: list[Any] = [letter(to, mind.name, text, mind.tells(text)) for to, text in decision.send]
        if decision.answer is None:
            return Command(goto=goto)
        returned = await mind.control.answer(mind.name)
        if returned is not None:
            return Command(
                goto=[*goto, letter(mind.name, incoming.sender, str(first.content), incoming.known, returned)]
            )
        return Command(goto=[*goto, "finish"], update={"answers": [decision.answer]})

    return node


def letter(to: str, sender: str, text: str, known: Any, *notes: str) -> Send:
    return Send(
        to, {"messages": [HumanMessage(text), *map(HumanMessage, notes)], "sender": sender, "known": sorted(known)}
    )


async def run(
    task: Task, control: Nothing, model: Model, log: Log, seed: int, monitor: dict[str, Any] | None
) -> str | None:
    """Runs the team once and returns its first answer. monitor: arguments of digd.Run, or None for no digd at all.

    Each invocation of the graph is a run of its own in digd: run-1, run-2 …
    """
    builder = StateGraph(Team)
    for name in task.team:
        builder.add_node(name, node_of(Mind(name, task, model, control, log, seed)))
        builder.add_edge(START, name)
    builder.add_node("finish", lambda state: {})
    builder.add_edge("finish", END)
    if monitor is not None:
        monitor = dict(monitor)
        run_id, invocations = monitor.pop("run"), itertools.count(1)
        rules = {name: {"window_ms": WINDOW_MS} for name in ("missing_termination", "deadlock")}
        digd.langgraph.instrument(
            builder,
            submits=["finish"],
            rules=rules,
            wait_for_healing_ms=HEALING_MS,
            run_id=lambda config: f"{run_id}-{next(invocations)}",
            **monitor,
        )
    graph = builder.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "study"}, "recursion_limit": MAX_STEPS}
    call: Any = {"messages": [HumanMessage(task.question)], "sender": USER}
    while True:
        state = await graph.ainvoke(call, config)
        if state.get("answers"):
            return state["answers"][0]
        wake_up = await control.rest()
        if wake_up is None:
            return None
        call = Command(goto=letter(wake_up[0], "Note", wake_up[1], ()))
