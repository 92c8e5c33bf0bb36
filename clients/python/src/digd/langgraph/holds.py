"""Held events as interrupts: a graph with a checkpointer stops, and is resumed with a person's decision.

The write of a held event does not start its node. It starts the node HOLD_NODE, which only asks: it calls `interrupt`.
After the decision it makes the write, or starts the sender again. So no node of the program runs twice for a question,
and the program's own interrupts keep their order. The write and the question are in the checkpoint: another process
can resume the thread.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphInterrupt
from langgraph.types import Send, interrupt

from ..messages import Verdict
from .internals import CHECKPOINTER, SENDS, TO, Write, target_of

HOLD_NODE = "__digd_hold__"
DECISIONS = ("release", "return")
EXPECTED = 'expected "release", "return", or {"decision": "release" or "return", "text": "…", "by": "…"}'


@dataclass(frozen=True)
class Decision:
    decision: str
    text: str | None = None
    by: str | None = None

    def payload(self, question: dict[str, Any]) -> dict[str, Any]:
        """What digd records about the decision."""
        return {"held": {key: question[key] for key in ("run", "hold", "event")}, **vars(self)}

    def text_for_reader(self, question: dict[str, Any]) -> str | None:
        """What the recipient of a released event reads, or the sender of a returned one."""
        if self.decision == "release":
            return self.text
        to = ", ".join(repr(name) for name in question["to"])
        by_person = f"Your message to {to} came back and was not delivered."
        return f"{by_person} {self.text}" if self.text else f"{by_person} The reason was: {question['why']}"


def can_interrupt(checkpointer: Any, config: RunnableConfig | None) -> bool:
    """Whether an invocation can stop and be resumed: it has a checkpointer, its own or its parent's."""
    if checkpointer is False:
        return False
    used = ((config or {}).get("configurable") or {}).get(CHECKPOINTER, checkpointer)
    return isinstance(used, BaseCheckpointSaver)


def hold_write(run: str, node: str, verdict: Verdict, writes: Sequence[Write]) -> Write:
    """The write that asks a person instead of `writes`, which `node` made."""
    question = {
        "monitor": "digd",
        "run": run,
        "hold": verdict.hold,
        "event": verdict.event,
        "from": node,
        "to": [target_of(w) for w in writes],
        "why": verdict.inject or "; ".join(d.reason for d in verdict.detections),
        "rules": [d.rule for d in verdict.detections],
        "since": _now_ms(),
        "hold_ms": verdict.hold_ms,
        "on_timeout": verdict.on_timeout or "release",
        "resume_with": EXPECTED,
    }
    return SENDS, Send(HOLD_NODE, {"question": question, "writes": list(writes)})


def ask(question: dict[str, Any], *, may_time_out: bool) -> Decision:
    """Interrupts the graph until a person has decided. Call it within the task of HOLD_NODE.

    A graph resumed without a decision after `hold_ms` does `on_timeout`. An answer that is not a decision asks again.
    """
    error: str | None = None
    while True:
        try:
            answer = interrupt(question if error is None else {**question, "error": error})
        except GraphInterrupt:
            if may_time_out and error is None and _now_ms() >= question["since"] + question["hold_ms"]:
                return Decision(question["on_timeout"])
            raise
        named = answer if isinstance(answer, dict) else {"decision": answer}
        if named.get("decision") in DECISIONS:
            text, by = (str(named[key]) if named.get(key) else None for key in ("text", "by"))
            return Decision(named["decision"], text, by)
        error = f"{EXPECTED}, got {str(answer)[:200]!r}"


def restart_write(node: str) -> Write:
    return TO + node, None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
