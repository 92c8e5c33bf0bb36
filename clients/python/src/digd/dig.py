"""The Python library of the DIG paper (HappyEureka/dig): `digd.attach(graph)` streams a DIGGraph as it is recorded.

Observation only: the library records what has happened, so no message is held and nothing is healed. The adapter reads
`events`, `activations` and `agents` of the graph, subscribes to it, and wraps its `reroute_event` until `close()`, as
of commit f35f1929. The mapping is that of `digctl import dig-graph` (docs/importers.md).

Two facts are known only after the library has recorded an activation, so the adapter withholds the activation's end
until then. `reroute_event` names the target of a rerouted input. A later activation may show the recipient of an output
that names no agent.

The library records an activation when it has ended. Before that, digd cannot know whether agents rest or work. So the
rules that judge by time do not run, and report at the end of the run.
"""

from __future__ import annotations

import functools
import itertools
import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from . import sync
from .adapter import resolve_mode
from .forks import abandon_in_child
from .messages import Event, Outcome, Reaction
from .rules import EVENT_WINDOW_RULES, RUN_WINDOW_RULES
from .version import __version__

log = logging.getLogger("digd")

SYSTEM = "system"  # the library's name for its healers
UNSETTLED = ("pending", "wait")
MAX_WITHHELD = 64  # activations, and as many events; beyond it, the oldest waits no longer for missing facts
NEVER_MS = 10 * 365 * 24 * 3600 * 1000


def milliseconds(at: float | None) -> int | None:
    return None if at is None else int(at * 1000)


def label_of(reaction: Any) -> str:
    return str(getattr(reaction.label, "value", reaction.label))


def notes_of(activation: Any) -> Mapping[str, Any]:
    """The library's notes on an activation: failed, submitting, intervention."""
    notes = (getattr(activation, "metadata", None) or {}).get("dig")
    return notes if isinstance(notes, Mapping) else {}


def receivers_of(event: Any) -> list[str]:
    """The agents that an event names, and the agents that received it without being named."""
    agents = dict.fromkeys((*event.recipients, *(getattr(event, "received_at", None) or ())))
    return [a for a in agents if a != SYSTEM]


def recorded_targets(event: Any, by: str) -> tuple[str, ...] | None:
    """The agents to which an activation rerouted an event, if the event's stamps record a reroute before `attach`."""
    for stamp in getattr(event, "timestamps", ()):
        change = getattr(stamp, "metadata", None) or {}
        if getattr(stamp, "activation_id", None) == by and change.get("change") == "reroute":
            before, after = change.get("previous_recipient_reactions") or {}, change.get("recipients") or {}
            pending = [a for a, r in after.items() if r.get("label") == "pending"]
            return tuple([a for a in pending if (before.get(a) or {}).get("label") != "pending"] or pending)
    return None


class WithheldActivation:
    """An activation whose end is not reported yet, and the known targets of its reroutes."""

    def __init__(self, activation: Any) -> None:
        self.activation = activation
        self.rerouted = {
            event for event, reaction in activation.input_reactions.items() if label_of(reaction) == "reroute"
        }
        recorded = {e.id: recorded_targets(e, activation.id) for e in activation.inputs if e.id in self.rerouted}
        self.targets = {event: targets for event, targets in recorded.items() if targets is not None}
        self.outputs = [e for e in activation.outputs if e.source_activation_id == activation.id]
        self.is_finished = False


def guarded(method: Callable[..., None]) -> Callable[..., None]:
    """Serializes calls from several threads, and keeps an adapter's error out of the recording program."""

    @functools.wraps(method)
    def call(self: Attachment, *arguments: Any) -> None:
        with self._lock:
            if self._closed:
                return
            try:
                method(self, *arguments)
            except Exception:
                self._detach()
                log.warning("digd: the dig adapter failed; run %s is no longer watched", self.run_id, exc_info=True)

    return call


class Attachment:
    """One graph, streamed until `close()`. `run` is None before the first record, and in mode `off`."""

    def __init__(self, graph: Any, run_id: str | None = None, *, mode: str | None = None, **run: Any) -> None:
        self.graph = graph
        self.run_id = run_id or f"run-{uuid.uuid4().hex[:12]}"
        self.run: sync.Run | None = None
        mode = resolve_mode(mode)
        rules = run.pop("rules", None) or {}
        names = (*RUN_WINDOW_RULES, *EVENT_WINDOW_RULES)
        by_time = {name: {"window_ms": NEVER_MS, **rules.get(name, {})} for name in names}
        self._options = {
            "clock": "trace",
            "hold": False,
            "mode": "observe" if mode == "shadow" else mode,
            "capabilities": {"inject": False, "reroute": False, "create": False},
            "client": {"name": "digd-dig", "version": __version__},
            **run,
            "rules": {**rules, **by_time},
        }
        self._lock = threading.RLock()
        abandon_in_child(self)
        self._numbers = itertools.count(1)
        self._events: set[str] = set()
        self._activations: set[str] = set()
        self._agents: set[str] = set()  # registered agents
        self._active_agents: set[str] = set()
        self._is_roster_closed = False
        self._withheld: dict[str, WithheldActivation] = {}
        self._output_of: dict[str, str] = {}  # the activation of each withheld output
        self._unaddressed: dict[str, Any] = {}  # events that no agent can receive yet
        self._pending: dict[str, set[str]] = {}  # by event: the agents for which it is pending at the daemon
        self._is_rerouting = False
        self._is_submitted = False
        self._is_run_closed = False
        self._closed = mode == "off"
        if not self._closed:
            self._library_reroute = graph.reroute_event
            self._replaced_method = vars(graph).get("reroute_event")
            graph.reroute_event = self._reroute_event
            graph.subscribe(self._on_change)
            self._on_change()

    def close(self, error: BaseException | None = None, outcome: Outcome | None = None) -> None:
        """Reports the rest and ends the run. The graph can continue unwatched.

        outcome: the outcome of the run. Without it, a run that raised is a failure, and a run that submitted an answer,
        or left no event pending, is a success. Otherwise the outcome is unknown, and digd reports the problems at rest.
        After an error of the adapter, the rest was not watched: then a run that did not raise is aborted.
        """
        if not self._closed:
            self._on_change()
            self._report_all_ends()
        if not self._closed:
            self._detach()
            outcome = outcome or ("success" if error is None and self._is_done() else None)
        elif error is None:
            outcome = outcome or "aborted"
        if self.run is not None and not self._is_run_closed:
            self._is_run_closed = True
            if outcome is not None:
                self.run.end(outcome)
            self.run.close(error)

    def __enter__(self) -> Attachment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(error)

    def abandon(self, reason: str) -> None:
        """For a forked child, whose copy of the graph nobody watches. Another thread may hold the lock at the fork."""
        self._lock = threading.RLock()
        self._closed = True

    def _detach(self) -> None:
        self._closed = True
        if self.graph.reroute_event != self._reroute_event:
            return  # other code has wrapped the method since
        if self._replaced_method is None:
            del self.graph.reroute_event
        else:
            self.graph.reroute_event = self._replaced_method

    def _is_done(self) -> bool:
        """Whether the run came to rest with an answer: a submitted one, or a last message.

        The library's examples end with a message that no agent takes in. It counts as an answer if an agent settled
        every root event and every event that an agent took in.
        """
        if self._is_submitted:
            return True
        acts = [a for a in self.graph.activations.values() if a.agent_id != SYSTEM]
        taken_by = {e.id for a in acts for e in a.inputs}
        settled = {event for a in acts for event, r in a.input_reactions.items() if label_of(r) not in UNSETTLED}
        outside = {e.id for e in self.graph.events.values() if e.source_activation_id is None}
        is_last = [e for a in acts for e in a.outputs if receivers_of(e) and e.id not in settled]
        return (outside | taken_by) <= settled and bool(is_last)

    # ---- changes of the graph

    @guarded
    def _on_change(self) -> None:
        """Reports what was recorded, delivered or updated since the last call."""
        if self._is_rerouting:
            return
        run = self._open_run()
        if run is None:
            return
        activations = self._take_added(self.graph.activations, self._activations)
        added_now = {a.id for a in activations}
        for event in self._take_added(self.graph.events, self._events):
            if self._is_by_system(event):
                self._report_intervention(run, event)
            elif event.source_activation_id not in added_now:
                self._unaddressed[event.id] = event
        self._report_addressed(run)
        for activation in activations:
            if activation.agent_id != SYSTEM:
                self._report_activation(run, activation)
        self._trim(run)

    @staticmethod
    def _take_added(table: dict[str, Any], known: set[str]) -> list[Any]:
        """The entries added since the last call, in their order. The cost depends on these alone."""
        added = []
        for id in reversed(table):
            if id in known:
                break
            added.append(table[id])
        added.reverse()
        known.update(entry.id for entry in added)
        return added

    def _open_run(self) -> sync.Run | None:
        """Returns the run; opens it at the first record. The agents registered by then can receive; others join."""
        registered = set(self.graph.agents)
        if self.run is None:
            if not self.graph.events and not self.graph.activations:
                return None
            self._agents, self._is_roster_closed = registered, bool(registered)
            self.run = sync.Run(self.run_id, sorted(registered) or None, **self._options)
            self.run.open()
        elif registered != self._agents:
            for agent in sorted(registered - self._agents):
                self.run.agent_joined(agent)
            for agent in sorted(self._agents - registered):
                self.run.agent_left(agent)
                self._active_agents.discard(agent)
                for event in [e for e, agents in self._pending.items() if agent in agents]:
                    self._remove_pending(event, agent)
            self._agents = registered
        return self.run

    def _is_by_system(self, event: Any) -> bool:
        source = self.graph.activations.get(event.source_activation_id)
        return source is not None and source.agent_id == SYSTEM

    def _is_addressed(self, event: Any) -> bool:
        """Whether an agent can receive the event."""
        agents = receivers_of(event)
        return bool(agents) and (
            not self._is_roster_closed or any(a in self._agents or a in self._active_agents for a in agents)
        )

    # ---- root events

    def _report_addressed(self, run: sync.Run) -> None:
        """Reports the events that an agent can receive now, and the ends that are complete now."""
        for event in [e for e in self._unaddressed.values() if self._is_addressed(e)]:
            self._report_root(run, event)
        for withheld in [w for w in self._withheld.values() if self._is_complete(w)]:
            self._report_end(run, withheld)

    def _trim(self, run: sync.Run) -> None:
        """Reports the oldest withheld activations and events beyond MAX_WITHHELD."""
        while len(self._withheld) > MAX_WITHHELD:
            self._report_end(run, next(iter(self._withheld.values())), is_last=True)
        while len(self._unaddressed) > MAX_WITHHELD:
            self._report_root(run, next(iter(self._unaddressed.values())))

    def _report_root(self, run: sync.Run, event: Any, *extra_recipients: str) -> None:
        """Reports a root event, or an event recorded after the end of its activation was reported."""
        if self._unaddressed.pop(event.id, None) is None:
            return
        for agent in receivers_of(event):
            self._report_ends_of(run, agent)
        report = self._event(event, *extra_recipients)
        self._add_pending(event.id, report.recipients)
        run.emit(report.recipients, report.payload, kind=report.kind, id=report.id, ts=milliseconds(event.generated_at))

    def _report_intervention(self, run: sync.Run, event: Any) -> None:
        """Reports an event of one of the library's healers as a notice."""
        self._add_pending(event.id, receivers_of(event))
        run.emit(
            receivers_of(event),
            event.metadata.get("message"),
            kind="intervention",
            id=event.id,
            fyi=True,
            ts=milliseconds(event.generated_at),
        )

    def _event(self, event: Any, *extra_recipients: str, submit: bool = False) -> Event:
        return Event(
            event.id,
            tuple(dict.fromkeys((*receivers_of(event), *extra_recipients))),
            str(getattr(event.label, "value", event.label)),
            event.payload,
            submit=submit,
        )

    # ---- pending deliveries. digd refuses a message with a reroute of an event that is not pending any more

    def _add_pending(self, event: str, agents: Iterable[str]) -> None:
        present = {a for a in agents if not self._is_roster_closed or a in self._agents or a in self._active_agents}
        if present:
            self._pending.setdefault(event, set()).update(present)

    def _remove_pending(self, event: str, agent: str) -> None:
        agents = self._pending.get(event, set())
        agents.discard(agent)
        if not agents:
            self._pending.pop(event, None)

    def _is_pending(self, event: str, agent: str) -> bool:
        return agent in self._pending.get(event, ())

    # ---- activations

    def _report_activation(self, run: sync.Run, activation: Any) -> None:
        agent, inputs = activation.agent_id, [e.id for e in activation.inputs]
        self._report_ends_of(run, agent)
        for event in inputs:
            if event in self._unaddressed:
                self._report_root(run, self._unaddressed[event], agent)
            elif event in self._output_of:
                self._report_end(run, self._withheld[self._output_of[event]], taken_by=(event, agent))
        if notes_of(activation).get("submitting"):
            self._report_all_ends()
            self._is_submitted = True
        self._active_agents.add(agent)
        run.start_activation(agent, inputs, id=activation.id, ts=milliseconds(activation.started_at))
        for event in inputs:
            if event in self._pending:  # not settled, so taking it in counts as a delivery
                self._pending[event].add(agent)
        withheld = WithheldActivation(activation)
        if self._is_complete(withheld):
            self._report_end(run, withheld)
        else:
            self._withheld[activation.id] = withheld
            self._output_of.update((e.id, activation.id) for e in withheld.outputs)

    def _is_complete(self, withheld: WithheldActivation) -> bool:
        if notes_of(withheld.activation).get("failed") or notes_of(withheld.activation).get("submitting"):
            return True
        return withheld.rerouted <= set(withheld.targets) and all(map(self._is_addressed, withheld.outputs))

    def _report_ends_of(self, run: sync.Run, agent: str) -> None:
        """Reports the withheld ends of an agent that acts again, so that consumed events do not count as pending."""
        for withheld in [w for w in self._withheld.values() if w.activation.agent_id == agent]:
            self._report_end(run, withheld)

    @guarded
    def _report_all_ends(self) -> None:
        """Reports everything withheld at the end of the run. An event without a recipient reaches nobody."""
        if self.run is None:
            return
        for withheld in list(self._withheld.values()):
            self._report_end(self.run, withheld, is_last=True)
        for event in list(self._unaddressed.values()):
            self._report_root(self.run, event)

    def _report_end(
        self,
        run: sync.Run,
        withheld: WithheldActivation,
        *,
        taken_by: tuple[str, str] = ("", ""),
        is_last: bool = False,
    ) -> None:
        """Reports an activation's end. `taken_by`: an output, and the agent that took it in without being named.

        Unless `is_last`, an output without a recipient is withheld, and reported later without its source.
        """
        activation = withheld.activation
        if withheld.is_finished:
            return  # reporting one end may report others, this one included
        withheld.is_finished = True
        self._withheld.pop(activation.id, None)
        for event in withheld.outputs:
            self._output_of.pop(event.id, None)
        ts = milliseconds(activation.ended_at)
        failed = notes_of(activation).get("failed")
        if failed:
            text = f"{failed.get('error')}: {failed.get('message')}" if isinstance(failed, Mapping) else "failed"
            run.end_activation(activation.id, error=text, ts=ts)
            return
        submits = bool(notes_of(activation).get("submitting"))
        outputs = []
        for event in withheld.outputs:
            if submits or is_last or event.id == taken_by[0] or self._is_addressed(event):
                outputs.append(self._event(event, *(taken_by[1:] if event.id == taken_by[0] else ())))
            else:
                self._unaddressed[event.id] = event
        if submits:
            outputs = self._with_answer(activation, outputs)
        for agent in dict.fromkeys(agent for output in outputs for agent in output.recipients):
            self._report_ends_of(run, agent)
        reactions = self._reactions(withheld, is_last)
        run.end_activation(activation.id, reactions, outputs, inputs=[e.id for e in activation.inputs], ts=ts)
        for id, reaction in reactions.items():
            if reaction != "wait":
                self._remove_pending(id, activation.agent_id)
            if isinstance(reaction, tuple):
                self._add_pending(id, reaction)
        for output in outputs:
            self._add_pending(output.id, output.recipients)

    def _reactions(self, withheld: WithheldActivation, is_last: bool) -> dict[str, Reaction]:
        reactions: dict[str, Reaction] = {}
        for event, reaction in withheld.activation.input_reactions.items():
            label = label_of(reaction)
            if label == "reroute" and not self._is_pending(event, withheld.activation.agent_id):
                reactions[event] = "consume"
            elif label == "reroute" and (is_last or event in withheld.targets):
                reactions[event] = withheld.targets.get(event, ())
            elif label in ("consume", "discard"):
                reactions[event] = label  # type: ignore[assignment]
            else:
                reactions[event] = "wait"
        return reactions

    @staticmethod
    def _with_answer(activation: Any, outputs: list[Event]) -> list[Event]:
        """Marks the answer: the library marks the activation, but the protocol one output. Prefers one to nobody."""
        if not outputs:
            return [Event(f"{activation.id}:submit", (), payload=activation.native_output, submit=True)]
        answer = next((e for e in outputs if not e.recipients), outputs[-1])
        return [Event(e.id, e.recipients, e.kind, e.payload, submit=e is answer) for e in outputs]

    # ---- reroutes

    def _reroute_event(
        self, event: Any, *, to: Sequence[str], by: str, from_recipients: Sequence[str] | None = None
    ) -> Any:
        """Replaces the graph's method, which it calls. Only its arguments name the targets of a reroute in time."""
        holders = [a for a, r in event.recipients.items() if label_of(r) in UNSETTLED]
        if from_recipients is not None:
            holders = [a for a in from_recipients if a in event.recipients]
        self._is_rerouting = True
        try:
            return self._library_reroute(event, to=to, by=by, from_recipients=from_recipients)
        finally:
            self._is_rerouting = False
            self._on_rerouted(event, holders, tuple(to), by)

    @guarded
    def _on_rerouted(self, event: Any, holders: Iterable[str], to: tuple[str, ...], by: str) -> None:
        withheld = self._withheld.get(by)
        was_reported = (
            event.id in self._events and event.id not in self._unaddressed and event.id not in self._output_of
        )
        if withheld is not None and event.id in withheld.rerouted:
            withheld.targets[event.id] = to
            to = ()
            holders = [a for a in holders if a != withheld.activation.agent_id]
        elif (rerouter := self.graph.activations.get(by)) is not None and self._declares_reroute(rerouter, event):
            holders = [rerouter.agent_id, *holders]  # its end was reported with the reaction `wait` to this event
        self._on_change()
        if was_reported and self.run is not None:
            self._report_reroute(self.run, event, list(dict.fromkeys(holders)), to)

    @staticmethod
    def _declares_reroute(activation: Any, event: Any) -> bool:
        reaction = activation.input_reactions.get(event.id)
        return reaction is not None and label_of(reaction) == "reroute"

    def _report_reroute(self, run: sync.Run, event: Any, holders: Sequence[str], to: tuple[str, ...]) -> None:
        """Reports a reroute as one activation per holder: the first reroutes the event, the others discard it."""
        for i, agent in enumerate([a for a in holders if self._is_pending(event.id, a)]):
            self._remove_pending(event.id, agent)
            activation = run.start_activation(
                agent, [event.id], id=f"rerouted:{event.id}:{agent}:{next(self._numbers)}"
            )
            run.end_activation(activation, {event.id: to if to and i == 0 else "discard"}, inputs=[event.id])
            if i == 0:
                self._add_pending(event.id, to)


def attach(graph: Any, run_id: str | None = None, *, mode: str | None = None, **run: Any) -> Attachment:
    """Streams a DIGGraph to digd from now on, including its history. `run`: the arguments of `digd.Run`.

    Use it as a context manager, or call `close()` at the end.
    """
    return Attachment(graph, run_id, mode=mode, **run)
