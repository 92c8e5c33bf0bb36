#!/usr/bin/env python3
"""A LangGraph graph that digd heals: `python3 examples/langgraph_healed.py`.

The supervisor's model answers with the name of an agent that does not exist. Without a daemon, LangGraph drops the
message and the graph ends there. With a daemon, the supervisor runs again, reads which agents exist, and chooses one.
Needs the packages `digd` and `langgraph`. The model is a fake that reads the last message.
"""

import logging
import os

from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

import digd.langgraph


def supervisor(state: MessagesState) -> Command:
    last = state["messages"][-1].content
    print(f"supervisor reads: {last}")
    choice = "coder" if '"coder"' in last else "programmer"
    print(f"supervisor calls: {choice}")
    return Command(update={"messages": [("ai", f"over to the {choice}")]}, goto=choice)


def coder(state: MessagesState) -> Command:
    print("coder answers")
    return Command(update={"messages": [("ai", "def parse(): ...")]}, goto=END)


builder = StateGraph(MessagesState)
builder.add_node("supervisor", supervisor)
builder.add_node("coder", coder)
builder.add_edge(START, "supervisor")
# Without a mode digd only reports.
digd.langgraph.instrument(builder, mode=os.environ.get("DIGD_MODE", "enforce"))

if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")
    result = builder.compile().invoke({"messages": [("user", "Write a parser.")]})
    print("result:", result["messages"][-1].content)
