"""The events on their way to nodes, and what is kept of a node's execution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..messages import Event, Verdict
from . import internals
from .internals import SENDS, TO, Write
from .text import Notes


@dataclass(frozen=True)
class Mail:
    """An event on its way to a node."""

    event: str
    holders: frozenset[str]  # the nodes that have had this work, unchanged
    verdict: Verdict | None = None
    text: str | None = None


@dataclass
class Acting:
    """An activation from its node's start to its last write."""

    id: str
    node: str
    mails: list[Mail]
    task: Any
    notes: Notes
    unread: list[Verdict] = field(default_factory=list)  # injections that the input could not take

    @property
    def inputs(self) -> list[str]:
        return list(dict.fromkeys(m.event for m in self.mails))


@dataclass(frozen=True)
class EndedBranch:
    event: str
    node: str
    place: tuple[int, str]  # step and path of the task
    payload: Any


@dataclass
class Plan:
    """The writes of a task that start nodes, as events: new ones, and inputs that are rerouted."""

    outputs: list[Event] = field(default_factory=list)
    writes: dict[str, Write] = field(default_factory=dict)  # by the event that stands for it
    returned: list[Write] = field(default_factory=list)  # what the rerouted inputs stand for
    reactions: dict[str, Any] = field(default_factory=dict)
    holders: frozenset[str] = frozenset()

    def unchanged(self) -> tuple[Verdict, ...]:
        """The verdicts that let everything go as the node wrote it."""
        return tuple(Verdict(e, "deliver", to) for e, to in self.reactions.items()) + tuple(
            Verdict(o.id, "deliver", o.recipients, submit=o.submit) for o in self.outputs
        )


class Mailbox:
    """Mail by the write that it belongs to. Nodes of a step do not see what others write in the same step."""

    def __init__(self) -> None:
        self._step = 0
        self._by_channel: dict[str, list[tuple[int, Mail]]] = {}
        self._sends: dict[str, list[tuple[int, Any, Mail]]] = {}  # by node, with the argument of the Send

    def next_step(self) -> None:
        self._step += 1

    def post(self, write: Write, mail: Mail) -> None:
        channel, value = write
        if channel == SENDS:
            self._sends.setdefault(str(value.node), []).append((self._step, value.arg, mail))
        else:
            self._by_channel.setdefault(channel, []).append((self._step, mail))

    def post_now(self, node: str, mail: Mail) -> None:
        """For a graph that has stopped: its next step may take this up."""
        self._by_channel.setdefault(TO + node, []).append((self._step - 1, mail))

    def has_mail(self, node: str) -> bool:
        return bool(self._by_channel.get(TO + node))

    def collect(self, loop: Any, task: Any) -> list[Mail]:
        """Takes out the mail that a task takes up: of its Send, or of the channels that are open to it."""
        if task.path[0] == internals.PUSH:
            return self._collect_send(task)
        found = []
        for channel in task.triggers:
            if channel in self._by_channel and internals.is_available(loop, channel):
                found += [mail for step, mail in self._by_channel[channel] if step < self._step]
                self._by_channel[channel] = [entry for entry in self._by_channel[channel] if entry[0] >= self._step]
        return found

    def _collect_send(self, task: Any) -> list[Mail]:
        waiting = self._sends.get(task.name, [])
        for i, (step, argument, mail) in enumerate(waiting):
            if argument is task.input and step < self._step:
                del waiting[i]
                return [mail]
        return [waiting.pop(0)[2]] if waiting and waiting[0][0] < self._step else []
