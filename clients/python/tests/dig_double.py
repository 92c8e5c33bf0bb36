"""A test double of the paper's library, which no package index has: the part of its DIGGraph that the adapter uses.

It follows HappyEureka/dig at commit f35f1929 in these points: the names of members; when listeners are called; an
activation is recorded when it has ended, with its inputs and outputs interned first; a failed one loses its outputs and
reactions; `reroute_event` names the targets of a reroute afterwards. Agents have a mailbox and record their work in
`activate()`.
"""

import contextlib
import enum
import itertools
import time
from dataclasses import dataclass, field


class Label(str, enum.Enum):
    PENDING, CONSUME, WAIT, DISCARD, REROUTE = "pending", "consume", "wait", "discard", "reroute"


class Kind(str, enum.Enum):
    COMMUNICATION, TOOL = "communication", "tool"


UNSETTLED = (Label.PENDING, Label.WAIT)


@dataclass
class Reaction:
    label: Label = Label.PENDING
    routed_by: str | None = None


@dataclass
class Stamp:
    """An entry of an event's log. The adapter reads those of reroutes."""

    activation_id: str | None = None
    metadata: dict = field(default_factory=dict)


@dataclass(eq=False)
class DIGEvent:
    payload: dict = field(default_factory=dict)
    recipients: dict = field(default_factory=dict)
    label: Kind = Kind.COMMUNICATION
    id: str | None = None
    source_activation_id: str | None = None
    metadata: dict = field(default_factory=dict)
    generated_at: float | None = None
    received_at: dict = field(default_factory=dict)
    timestamps: list = field(default_factory=list)

    def __post_init__(self):
        self.recipients = {agent: Reaction() for agent in self.recipients}

    def snapshot(self):
        return {agent: {"label": r.label.value, "routed_by": r.routed_by} for agent, r in self.recipients.items()}


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

    def register(self, agent_id, agent=None):
        self.agents[agent_id] = agent or object()

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

    def deliver(self, *events):
        for event in events:
            for agent_id, reaction in event.recipients.items():
                agent = self.agents.get(agent_id)
                if isinstance(agent, Agent) and agent_id not in event.received_at and reaction.label != Label.REROUTE:
                    agent.receive(event)
        self._notify()

    def reroute_event(self, event, *, to, by, from_recipients=None):
        before = event.snapshot()
        live = [a for a, r in event.recipients.items() if r.label in UNSETTLED]
        for agent_id in live if from_recipients is None else from_recipients:
            event.recipients[agent_id] = Reaction(Label.REROUTE, by)
            if isinstance(self.agents.get(agent_id), Agent):
                self.agents[agent_id].retract(event)
        for agent_id in to:
            event.recipients[agent_id] = Reaction()
        change = {"change": "reroute", "previous_recipient_reactions": before, "recipients": event.snapshot()}
        event.timestamps.append(Stamp(by, change))
        for agent_id in to:
            if isinstance(self.agents.get(agent_id), Agent):
                self.agents[agent_id].receive(event)
        self._notify()
        return event


class Agent:
    """A registered agent. Delivered events wait in `pending` until an activation takes them in."""

    def __init__(self, agent_id, graph):
        self.agent_id, self.graph, self.pending, self.active = agent_id, graph, [], False
        graph.register(agent_id, self)

    def receive(self, event):
        if event not in self.pending:
            event.received_at.setdefault(self.agent_id, time.time())
            self.pending.append(event)

    def retract(self, event):
        self.pending = [e for e in self.pending if e is not event]

    @contextlib.contextmanager
    def activate(self):
        """One activation, recorded when the block ends. If the block raises, it fails and its inputs stay pending."""
        activation = DIGActivation(self.agent_id, list(self.pending), started_at=time.time())
        self.active = True
        try:
            yield activation
        except BaseException as error:
            activation.metadata.setdefault("dig", {})["failed"] = {"error": type(error).__name__, "message": str(error)}
            self.graph.record_activation(activation)
            raise
        finally:
            self.active = False
        self.graph.record_activation(activation)
        kept = {event for event, r in activation.input_reactions.items() if r.label == Label.WAIT}
        self.pending = [e for e in self.pending if e not in activation.inputs or e.id in kept]
