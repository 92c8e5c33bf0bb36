"""Events that wait for a person: the hold, and the verdicts in which it ends. No I/O and no clock."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from .messages import Intervention, Verdict


@dataclass(frozen=True)
class Hold:
    """A hold of the daemon. `verdict` is the one that began it; at `deadline` the client does `on_timeout` itself.

    deadline: in seconds of the conversation's monotonic clock.
    """

    id: str
    verdict: Verdict
    on_timeout: str | None
    deadline: float


def decided(hold: Hold, end: Intervention) -> Verdict:
    """The verdict that the daemon sent: deliver the event, or give it to these recipients instead."""
    if end.action == "reroute":
        return dataclasses.replace(
            hold.verdict, action="reroute", recipients=end.recipients, inject=end.inject, hold=hold.id
        )
    return _released(hold, end.inject)


def timed_out(hold: Hold) -> Verdict:
    """The verdict if no decision has arrived in time. Without the daemon a return goes to nobody."""
    if hold.on_timeout == "return":
        return dataclasses.replace(hold.verdict, action="reroute", recipients=(), hold=hold.id)
    return _released(hold, None)


def _released(hold: Hold, text: str | None) -> Verdict:
    return dataclasses.replace(hold.verdict, action="inject" if text else "deliver", inject=text, hold=hold.id)
