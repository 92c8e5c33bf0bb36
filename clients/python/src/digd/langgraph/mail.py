"""The events that wait for nodes, and the record of a node's execution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..cancellation import Cancellable, Cancelled
from ..messages import Event, Verdict
from . import internals
from .internals import SENDS, TO, Write
from .text import Notes


@dataclass(frozen=True)
class MailItem:
    """An event that waits for a node."""

    event: str
    holders: frozenset[str]  # the nodes that have had this work, unchanged
    verdict: Verdict | None = None
    text: str | None = None


@dataclass
class NodeExecution:
    """An activation from its node's start to its last write."""

    id: str
    node: str
    mail: list[MailItem]
    task: Any
    notes: Notes
    unread_verdicts: list[Verdict] = field(default_factory=list)  # injections for which the input had no place
    work: Cancellable[Any] | None = None  # the running node; None if it runs in a thread, which nothing can interrupt
    cancel_text: str | None = None

    def cancel(self, text: str) -> None:
        """Ends the node where it waits. A node that runs in a thread ends as cancelled when it returns."""
        self.cancel_text = text
        if self.work is not None:
            self.work.cancel(text)

    def raise_if_cancelled(self) -> None:
        if self.cancel_text is not None:
            raise Cancelled(self.cancel_text)

    @property
    def inputs(self) -> list[str]:
        return list(dict.fromkeys(m.event for m in self.mail))


@dataclass(frozen=True)
class EndedBranch:
    event: str
    node: str
    position: tuple[int, str]  # step and path of the task
    payload: Any


@dataclass
class Plan:
    """A task's writes that start nodes, as events: new ones, and rerouted inputs."""

    outputs: list[Event] = field(default_factory=list)
    writes: dict[str, Write] = field(default_factory=dict)  # by the id of the new event
    rerouted_writes: list[Write] = field(default_factory=list)  # the writes that the rerouted inputs represent
    reactions: dict[str, Any] = field(default_factory=dict)
    holders: frozenset[str] = frozenset()

    def unchanged(self) -> tuple[Verdict, ...]:
        """Verdicts that deliver everything as the node wrote it."""
        return tuple(Verdict(e, "deliver", to) for e, to in self.reactions.items()) + tuple(
            Verdict(o.id, "deliver", o.recipients, submit=o.submit) for o in self.outputs
        )


class Mailbox:
    """Mail by the write that it belongs to. Nodes of a step do not get mail of the same step."""

    def __init__(self) -> None:
        self._step = 0
        self._by_channel: dict[str, list[tuple[int, MailItem]]] = {}
        self._sends: dict[str, list[tuple[int, Any, MailItem]]] = {}  # by node, with the argument of the Send

    def next_step(self) -> None:
        self._step += 1

    def post(self, write: Write, mail: MailItem) -> None:
        channel, value = write
        if channel == SENDS:
            self._sends.setdefault(str(value.node), []).append((self._step, value.arg, mail))
        else:
            self._by_channel.setdefault(channel, []).append((self._step, mail))

    def post_now(self, node: str, mail: MailItem) -> None:
        """Posts an item that the next step may collect, for a graph that has stopped."""
        self._by_channel.setdefault(TO + node, []).append((self._step - 1, mail))

    def has_mail(self, node: str) -> bool:
        return bool(self._by_channel.get(TO + node))

    def collect(self, loop: Any, task: Any) -> list[MailItem]:
        """Removes and returns the mail for a task: of its Send, or of its available channels."""
        if task.path[0] == internals.PUSH:
            return self._collect_send(task)
        found = []
        for channel in task.triggers:
            if channel in self._by_channel and internals.is_available(loop, channel):
                found += [mail for step, mail in self._by_channel[channel] if step < self._step]
                self._by_channel[channel] = [entry for entry in self._by_channel[channel] if entry[0] >= self._step]
        return found

    def _collect_send(self, task: Any) -> list[MailItem]:
        waiting = self._sends.get(task.name, [])
        for i, (step, argument, mail) in enumerate(waiting):
            if argument is task.input and step < self._step:
                del waiting[i]
                return [mail]
        return [waiting.pop(0)[2]] if waiting and waiting[0][0] < self._step else []
