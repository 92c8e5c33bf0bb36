"""A stand-in for the paper's library, which is on no package index: the surface of its DIGGraph that the adapter uses.

Modelled on HappyEureka/dig at commit f35f1929 (`dig/graph/graph.py`, `dig/node/*.py`): names of members, when listeners are
called, that an activation is recorded when it has ended, with its inputs and outputs interned first, that a failed one loses
its outputs and reactions, and that where an activation reroutes to is said by `reroute_event` afterwards. No mailboxes.
"""

import enum
import itertools
import time
from dataclasses import dataclass, field


class Label(str, enum.Enum):
    PENDING, CONSUME, WAIT, DISCARD, REROUTE = "pending", "consume", "wait", "discard", "reroute"


class Kind(str, enum.Enum):
    COMMUNICATION, TOOL = "communication", "tool"


@dataclass
class Reaction:
    label: Label = Label.PENDING
    routed_by: str | None = None


@dataclass(eq=False)
class DIGEvent:
    payload: dict = field(default_factory=dict)
    recipients: dict = field(default_factory=dict)
    label: Kind = Kind.COMMUNICATION
    id: str | None = None
    source_activation_id: str | None = None
    metadata: dict = field(default_factory=dict)
    generated_at: float | None = None

    def __post_init__(self):
        self.recipients = {agent: Reaction() for agent in self.recipients}


@dataclass(eq=False)
class DIGActivation:
    agent_id: str
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    input_reactions: dict = field(default_factory=dict)
    metadata: dict = field(default_factory=dict)
    native_output: object = None
    started_at: float | None = None
    ended_at: float | None = None
    id: str | None = None


class DIGGraph:
    def __init__(self):
        self.events, self.activations, self.agents = {}, {}, {}
        self._listeners = []
        self._numbers = {"e": itertools.count(1), "a": itertools.count(1)}

    def subscribe(self, listener):
        self._listeners.append(listener)

    def _notify(self):
        for listener in self._listeners:
            listener()

    def register(self, agent_id):
        self.agents[agent_id] = object()

    def record_event(self, event, notify=True):
        if event.id in self.events:
            return self.events[event.id]
        event.id = event.id or f"e{next(self._numbers['e'])}"
        event.generated_at = time.time()
        self.events[event.id] = event
        if notify:
            self._notify()
        return event

    def record_activation(self, activation):
        id = f"a{next(self._numbers['a'])}"
        failed = activation.metadata.get("dig", {}).get("failed")
        for event in activation.inputs:
            self.record_event(event, notify=False)
        if failed:
            activation.outputs, activation.input_reactions = [], {}
        for event in activation.outputs:
            event.source_activation_id = event.source_activation_id or id
            self.record_event(event, notify=False)
        if not failed:
            given = activation.input_reactions
            activation.input_reactions = {e.id: given.get(e.id, Reaction(Label.CONSUME)) for e in activation.inputs}
        activation.started_at = activation.started_at or time.time()
        activation.ended_at = activation.ended_at or time.time()
        activation.id = id
        self.activations[id] = activation
        for event in activation.inputs:
            if event.id in activation.input_reactions:
                event.recipients[activation.agent_id] = activation.input_reactions[event.id]
        self._notify()
        return activation

    def reroute_event(self, event, *, to, by, from_recipients=None):
        live = [a for a, r in event.recipients.items() if r.label in (Label.PENDING, Label.WAIT)]
        for agent in live if from_recipients is None else from_recipients:
            event.recipients[agent] = Reaction(Label.REROUTE, by)
        for agent in to:
            event.recipients[agent] = Reaction()
        self._notify()
        return event
