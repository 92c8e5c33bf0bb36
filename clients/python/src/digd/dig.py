"""The paper's own Python library (HappyEureka/dig): `digd.attach(graph)` streams a DIGGraph as it is recorded.

Observation only: the library records what has happened, so nothing is held. It tells of an activation when that has ended,
with its own times; the run therefore goes by the trace clock, and silence counts when the next thing is recorded, or at the
end. What an activation reroutes, the library says in the call after recording it: such an activation is told one step later.

What is used of a graph: `events`, `activations`, `agents`, `subscribe(listener)` and `reroute_event(event, *, to, by,
from_recipients)`, as of commit f35f1929. The mapping is that of `digctl import dig-graph` (docs/importers.md).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from . import sync
from .messages import Event, Reaction

SYSTEM = "system"  # the library's name for its healers
LIVE = ("pending", "wait")


def milliseconds(at: float | None) -> int | None:
    return None if at is None else int(at * 1000)


def label_of(reaction: Any) -> str:
    return str(getattr(reaction.label, "value", reaction.label))


def notes_of(activation: Any) -> Mapping[str, Any]:
    """What the library itself notes on an activation: failed, submitting, intervention."""
    notes = (getattr(activation, "metadata", None) or {}).get("dig")
    return notes if isinstance(notes, Mapping) else {}


class Attachment:
    """One graph, streamed until `close()`. Its calls come from whichever thread records; one at a time."""

    def __init__(self, graph: Any, run_id: str | None = None, **run: Any) -> None:
        self.graph = graph
        self._options = {"mode": "observe", "clock": "trace", "hold": False,
                         "client": {"name": "digd-dig", "version": "0.1.0"}, **run}
        self._run_id = run_id
        self.run: sync.Run | None = None
        self._events: set[str] = set()
        self._activations: set[str] = set()
        self._roster: set[str] = set()
        self._deferred: Any = None
        self._targets: dict[str, tuple[str, ...]] = {}
        self._rerouting = False
        self._closed = False
        self._reroute = graph.reroute_event
        graph.reroute_event = self._reroute_event
        graph.subscribe(self._changed)
        self._changed()

    def close(self, error: BaseException | None = None) -> None:
        """Tells what is left and ends the run. The graph can go on; nobody hears of it."""
        if self._closed:
            return
        self._changed()
        self._closed = True
        self.graph.reroute_event = self._reroute
        if self.run is not None:
            self.run.tick(int(time.time() * 1000))
            self.run.close(error)

    def __enter__(self) -> Attachment:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(error)

    # ---- what the library reports

    def _changed(self) -> None:
        if self._closed or self._rerouting:
            return
        run = self._opened()
        if run is None:
            return
        self._tell_deferred(run)
        activations = self._new(self.graph.activations, self._activations)
        made_now = {a.id for a in activations}
        for event in self._new(self.graph.events, self._events):
            if event.source_activation_id not in made_now or self._by_system(event):
                self._root(run, event)
        for activation in activations:
            self._activation(run, activation)

    @staticmethod
    def _new(table: dict[str, Any], known: set[str]) -> list[Any]:
        """What was added since, in its order; looks at no more than that."""
        found = []
        for id in reversed(table):
            if id in known:
                break
            found.append(table[id])
        found.reverse()
        known.update(one.id for one in found)
        return found

    def _opened(self) -> sync.Run | None:
        """The run, from the first thing recorded on; who is registered by then can receive."""
        if self.run is None:
            if not self.graph.events and not self.graph.activations:
                return None
            self._roster = set(self.graph.agents)
            self.run = sync.Run(self._run_id, sorted(self._roster) or None, **self._options)
            self.run.open()
        elif self._roster or self.graph.agents:
            now = set(self.graph.agents)
            for agent in sorted(now - self._roster):
                self.run.agent_joined(agent)
            for agent in sorted(self._roster - now):
                self.run.agent_left(agent)
            self._roster = now
        return self.run

    # ---- how it is told

    def _by_system(self, event: Any) -> bool:
        source = self.graph.activations.get(event.source_activation_id)
        return source is not None and source.agent_id == SYSTEM

    def _event(self, event: Any, submit: bool = False) -> Event:
        return Event(event.id, tuple(event.recipients), str(getattr(event.label, "value", event.label)), event.payload,
                     fyi=not event.recipients and not submit, submit=submit)

    def _root(self, run: sync.Run, event: Any) -> None:
        """An event from outside; a healer's, which asks nothing; or one that came after its activation was told."""
        said = self._event(event)
        ts = milliseconds(event.generated_at)
        if self._by_system(event):
            run.emit(said.recipients, event.metadata.get("message"), kind="intervention", id=said.id, fyi=True, ts=ts)
        else:
            run.emit(said.recipients, said.payload, kind=said.kind, id=said.id, fyi=said.fyi, ts=ts)

    def _activation(self, run: sync.Run, activation: Any) -> None:
        if activation.agent_id == SYSTEM:
            return
        inputs = [e.id for e in activation.inputs]
        run.start_activation(activation.agent_id, inputs, id=activation.id, ts=milliseconds(activation.started_at))
        self._deferred, self._targets = activation, {}
        if "reroute" not in [label_of(r) for r in activation.input_reactions.values()]:
            self._tell_deferred(run)

    def _tell_deferred(self, run: sync.Run) -> None:
        """The end of the last activation, which may have waited to learn where it reroutes to."""
        activation, self._deferred = self._deferred, None
        if activation is None:
            return
        ts = milliseconds(activation.ended_at)
        failed = notes_of(activation).get("failed")
        if failed:
            text = f"{failed.get('error')}: {failed.get('message')}" if isinstance(failed, Mapping) else "failed"
            run.end_activation(activation.id, error=text, ts=ts)
            return
        outputs = [e for e in activation.outputs if e.source_activation_id == activation.id]
        run.end_activation(activation.id, self._reactions(activation), self._outputs(activation, outputs),
                           inputs=[e.id for e in activation.inputs], ts=ts)

    def _reactions(self, activation: Any) -> dict[str, Reaction]:
        reactions: dict[str, Reaction] = {}
        for event, reaction in activation.input_reactions.items():
            label = label_of(reaction)
            if label == "reroute":
                reactions[event] = self._targets.get(event, ())
            elif label in ("consume", "wait", "discard"):
                reactions[event] = label  # type: ignore[assignment]
            else:
                reactions[event] = "wait"
        return reactions

    def _outputs(self, activation: Any, outputs: Sequence[Any]) -> list[Event]:
        """The library marks the activation that submits; the protocol its event: the one to nobody, else the last."""
        if not notes_of(activation).get("submitting"):
            return [self._event(e) for e in outputs]
        if not outputs:
            return [Event(f"{activation.id}:submit", (), payload=activation.native_output, submit=True)]
        answer = next((e for e in outputs if not e.recipients), outputs[-1])
        return [self._event(e, submit=e is answer) for e in outputs]

    # ---- reroutes

    def _reroute_event(self, event: Any, *, to: Sequence[str], by: str, from_recipients: Sequence[str] | None = None) -> Any:
        """In place of the graph's own method, which it calls: where a reroute goes is said nowhere else in time."""
        live = [a for a, r in event.recipients.items() if label_of(r) in LIVE] if from_recipients is None else list(from_recipients)
        declared = self._deferred is not None and self._deferred.id == by
        if declared:
            self._targets[event.id] = tuple(to)
        self._rerouting = True
        try:
            return self._reroute(event, to=to, by=by, from_recipients=from_recipients)
        finally:
            self._rerouting = False
            if not declared:
                self._changed()
                self._healed(event, live, tuple(to))

    def _healed(self, event: Any, holders: Sequence[str], to: tuple[str, ...]) -> None:
        """A healer took the event from its holders: each hands it on, the first to its new recipients."""
        if self.run is None or self._closed:
            return
        for i, agent in enumerate(holders):
            activation = self.run.start_activation(agent, [event.id], id=f"rerouted:{event.id}:{agent}:{time.time_ns()}")
            self.run.end_activation(activation, {event.id: to if i == 0 else "discard"}, inputs=[event.id])


def attach(graph: Any, run_id: str | None = None, **run: Any) -> Attachment:
    """Streams a DIGGraph to digd from now on, what it holds already included. `run`: what `digd.Run` takes.

    Use it as a context manager, or call `close()` at the end.
    """
    return Attachment(graph, run_id, **run)
