"""Helpers of the LangGraph adapter's tests: a team of nodes, and what the daemon recorded."""

import json
import operator
import sqlite3
from typing import Annotated, TypedDict

import pytest
from langgraph.graph import START, StateGraph

import digd.langgraph
from client_helpers import url_of

PATIENT = {"window_ms": 1500, "max_attempts": 1}  # longer than a busy machine takes from one node to the next


class State(TypedDict):
    log: Annotated[list, operator.add]


class Team:
    """A graph of nodes that record their order and the texts that they got."""

    def __init__(self, state=State):
        self.builder = StateGraph(state)
        self.ran = []
        self.notes = {}

    def node(self, name, *results, asks=True, **more):
        """A node that returns these results in turn, then the last one. A callable result is called with the state."""
        times = iter(range(1000))

        def work(state):
            self.ran.append(name)
            self.notes.setdefault(name, []).extend(digd.langgraph.notes() if asks else ())
            result = results[min(next(times), len(results) - 1)] if results else {"log": [name]}
            return result(state) if callable(result) else result

        self.builder.add_node(name, work, **more)
        return self

    def edges(self, *edges):
        for start, end in edges:
            self.builder.add_edge(start, end)
        return self

    def compile(self, daemon, checkpointer=None, cache=None, **options):
        digd.langgraph.instrument(self.builder, **{"url": url_of(daemon), "mode": "enforce", **options})
        return self.builder.compile(checkpointer=checkpointer, cache=cache)


def rows(daemon, query):
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as db:
        return db.execute(query).fetchall()


def fired(daemon):
    """(rule, healing) of all detections, in order."""
    return rows(daemon, "SELECT rule, healing FROM detections ORDER BY id")


def frames(daemon, type):
    stored = [json.loads(f) for (f,) in rows(daemon, "SELECT frame FROM entries WHERE kind = 'message' ORDER BY id")]
    return [f for f in stored if f["type"] == type]


def started(daemon):
    return [(f["agent"], f["inputs"]) for f in frames(daemon, "activation_started") if f["agent"] != START]


def outputs(daemon):
    """(recipients, fyi, submit) of all events, in order."""
    return [
        (e["recipients"], bool(e.get("fyi")), bool(e.get("submit")))
        for f in frames(daemon, "activation_ended")
        for e in f.get("outputs", ())
    ]


@pytest.fixture(autouse=True)
def nothing_is_refused(request):
    """Checks that the daemon refused no message. It applies to every module that imports it."""
    daemon = request.getfixturevalue("daemon") if "daemon" in request.fixturenames else None
    yield
    assert daemon is None or rows(daemon, "SELECT code, frame FROM entries WHERE kind = 'refused'") == []
