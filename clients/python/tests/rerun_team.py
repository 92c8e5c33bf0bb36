"""A fake team for reruns: a planner asks a researcher, a writer answers. The researcher reads the wrong year, unless a
message says which. The checkpoints are in the SQLite file that DIGD_TEST_CHECKPOINTS names."""

import operator
import os
import sqlite3
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]
    figure: int
    answer: str


def planner(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage("Researcher, how many boats were there in 2019?")]}


def researcher(state: State) -> dict[str, Any]:
    knows_year = any("mind the year" in str(message.content) for message in state["messages"])
    return {"figure": 12 if knows_year else 21, "messages": [AIMessage("I looked it up.")]}


def writer(state: State) -> dict[str, Any]:
    return {"answer": f"There were {state['figure']} boats."}


def graph() -> Any:
    builder = StateGraph(State)
    builder.add_node("planner", planner)
    builder.add_node("researcher", researcher)
    builder.add_node("writer", writer)
    builder.add_edge(START, "planner")
    builder.add_edge("planner", "researcher")
    builder.add_edge("researcher", "writer")
    builder.add_edge("writer", END)
    return builder.compile(checkpointer=saver())


def saver() -> SqliteSaver:
    return SqliteSaver(sqlite3.connect(os.environ["DIGD_TEST_CHECKPOINTS"], check_same_thread=False))


class Rounds(TypedDict):
    log: Annotated[list[str], operator.add]


def rounds() -> Any:
    """A planner that starts one catcher, then three at once, then one."""
    catchers = {1: 1, 2: 3, 3: 1}

    def plan(state: Rounds) -> dict[str, Any]:
        return {"log": ["plan"]}

    def start(state: Rounds) -> list[Send] | str:
        number = catchers.get(state["log"].count("plan"))
        return [Send("catcher", {"log": []})] * number if number else END

    def catch(state: Rounds) -> dict[str, Any]:
        return {"log": ["fish"]}

    builder = StateGraph(Rounds)
    builder.add_node("planner", plan)
    builder.add_node("catcher", catch)
    builder.add_edge(START, "planner")
    builder.add_conditional_edges("planner", start, ["catcher", END])
    builder.add_edge("catcher", "planner")
    return builder


def solved(values: dict[str, Any]) -> bool:
    return values.get("answer") == "There were 12 boats."
