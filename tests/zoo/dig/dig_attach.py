"""Attaches the zoo's systems on the paper's library, and records what a user of the library can observe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "clients" / "python" / "tests"))

import digd  # noqa: E402
from dig_double import Agent, DIGActivation, DIGEvent, DIGGraph, Label, Reaction  # noqa: E402, F401
from zoo import Probe  # noqa: E402


def record_of(graph: DIGGraph) -> dict[str, Any]:
    """Everything in a graph and its agents, except times."""
    return {
        "members": sorted(vars(graph)),
        "events": {
            id: [e.payload, e.snapshot(), e.source_activation_id, list(e.received_at), e.metadata]
            for id, e in graph.events.items()
        },
        "activations": {
            id: [
                a.agent_id,
                [e.id for e in a.inputs],
                [e.id for e in a.outputs],
                a.metadata,
                {e: r.label.value for e, r in a.input_reactions.items()},
            ]
            for id, a in graph.activations.items()
        },
        "mailboxes": {name: [e.id for e in getattr(a, "pending", ())] for name, a in graph.agents.items()},
    }


class Team:
    """A graph and its agents. Records each act, with the payloads of its inputs."""

    def __init__(self, probe: Probe, *names: str) -> None:
        self.probe = probe
        self.graph = DIGGraph()
        self.agents = {name: Agent(name, self.graph) for name in names}

    def task(self, payload: Any, *to: str) -> DIGEvent:
        """Records and delivers a root event."""
        event = self.graph.record_event(DIGEvent({"text": payload}, to))
        self.graph.deliver(event)
        return event

    @contextlib.contextmanager
    def act(self, name: str) -> Iterator[DIGActivation]:
        """An agent takes in all its pending events. Its outputs are delivered afterwards."""
        self.probe.call(name)
        with self.agents[name].activate() as activation:
            self.probe.saw([name, [e.payload for e in activation.inputs]])
            yield activation
        self.graph.deliver(*activation.outputs)

    def send(self, name: str, **parts: str) -> None:
        """An agent acts and sends a part to each of these agents."""
        with self.act(name) as activation:
            activation.outputs = [DIGEvent({"text": text}, [to]) for to, text in parts.items()]

    def wait(self, name: str) -> None:
        with self.act(name) as activation:
            activation.input_reactions = {e.id: Reaction(Label.WAIT) for e in activation.inputs}

    def submit(self, name: str, text: str, *to: str) -> None:
        with self.act(name) as activation:
            activation.outputs = [DIGEvent({"text": text}, to)]
            activation.metadata = {"dig": {"submitting": True}}

    def reroute(self, name: str, event: DIGEvent, to: str) -> DIGActivation:
        """An agent reroutes an event. The library records the activation first, and learns the target afterwards."""
        with self.act(name) as activation:
            activation.input_reactions = {event.id: Reaction(Label.REROUTE)}
        self.graph.reroute_event(event, to=[to], by=activation.id, from_recipients=[])
        return activation


@contextlib.contextmanager
def watched(probe: Probe, team: Team) -> Iterator[Team]:
    """Yields the team, streamed to digd unless the system runs plain. Observes the whole record at the end."""
    with digd.attach(team.graph, **probe.options) if probe.attached else contextlib.nullcontext():
        yield team
    probe.saw(record_of(team.graph))
