"""LangGraph: `digd.langgraph.instrument(builder)` before `builder.compile()`, or `instrument(compiled_graph)`.

Each invocation of an instrumented graph is a run, and each execution of a node an activation. An instrumented graph
inside another graph, a node or a tool is a run of its own. Its agents are its nodes, under their own names.

- START leads to one event for each node that it starts. They come from one activation of `__start__`, which is in no
  roster: all events of a run have one common ancestor.
- A node's writes are one event for each node that its edges, conditional edges, `goto` or `Send` start. So parallel
  work that the author declared counts neither as a repeated subproblem nor as an aggregation across lineages.
- A branch that leads nowhere ends with a `fyi` event. When the graph comes to rest, the adapter submits the answer.
- A bare `goto` (a command without an update) back to a node that has had the same work reroutes it.
- Events for a join or a deferred node wait until LangGraph runs the node.

Nothing is added to states, configurations, checkpoints or streams. `internals.py` lists the parts of LangGraph that
this package relies on beyond its documented interface.
"""

from __future__ import annotations

from .graph import instrument
from .text import add_text, notes

__all__ = ["add_text", "instrument", "notes"]
