"""What the LangGraph adapter keeps of one invocation: its run, what is on its way to whom, who acts."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from . import sync
from .messages import Intervention

WATCH, TASK_ID, NAMESPACE = "__digd", "__pregel_task_id", "checkpoint_ns"
ENVELOPE = "__digd_event"  # around the argument of a Send: which event it is, and what was injected
PATIENCE_S = 2.0  # beyond the longest window, for an intervention that wakes a graph that stopped without an answer

Inject = Callable[[Any, str], Any]

current_notes: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("digd_notes", default=())


def notes() -> tuple[str, ...]:
    """Within a node: the texts that were injected into what it was given; for states that `inject` cannot add to."""
    return current_notes.get()


def add_text(state: Any, text: str) -> Any:
    """The default `inject`: a message at the end of `messages`, or else the text under the key `digd`; dict states only."""
    if not isinstance(state, Mapping):
        return state
    if isinstance(state.get("messages"), list):
        return {**state, "messages": [*state["messages"], {"role": "user", "content": text}]}
    return {**state, "digd": [*state.get("digd", ()), text]}


@dataclass
class Options:
    """What `instrument` was told."""

    inject: Inject
    submits: frozenset[str] | None
    run_id: Callable[[RunnableConfig], str] | None
    run: dict[str, Any]
    compile: Callable[..., CompiledStateGraph[Any, Any, Any, Any]]


@dataclass(frozen=True)
class Mail:
    """An event on its way to a node, with the text that goes with it."""

    event: str
    text: str | None = None


@dataclass(frozen=True)
class Place:
    """Which task of which graph a configuration belongs to. `path` names the subgraphs around it."""

    node: str
    path: str
    task: str
    parent_task: str | None

    @staticmethod
    def of(config: RunnableConfig, node: str) -> Place:
        configurable = config["configurable"]
        around = str(configurable.get(NAMESPACE, "")).split("|")[:-1]
        path = "/".join(part.split(":")[0] for part in around)
        parent = around[-1].rsplit(":", 1)[-1] if around else None
        return Place(node, path, str(configurable.get(TASK_ID, "")), parent)

    def agent(self, node: str) -> str:
        return f"{self.path}/{node}" if self.path else node

    def local(self, agent: str) -> str:
        """The node of this graph that an agent is; other graphs' nodes keep their long names."""
        return agent[len(self.path) + 1:] if self.path and agent.startswith(self.path + "/") else agent


@dataclass
class Acting:
    """An activation from its node's start to its last write."""

    id: str
    agent: str
    inputs: list[str]


@dataclass
class Watch:
    """One invocation: its run, what is on its way to whom, who acts. Threads of the invocation share it, under the lock."""

    run: sync.Run
    options: Options
    wakes: bool
    lock: threading.Lock = field(default_factory=threading.Lock)
    mail: dict[str, list[Mail]] = field(default_factory=dict)
    taken: dict[str, list[Mail]] = field(default_factory=dict)  # by task: a task that is tried again gets its mail again
    acting: dict[str, Acting] = field(default_factory=dict)
    joins: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    answered: bool = False
    calls: queue.Queue[Intervention] = field(default_factory=queue.Queue)

    def post(self, agent: str, mail: Mail) -> None:
        with self.lock:
            self.mail.setdefault(agent, []).append(mail)

    def collect(self, place: Place, input: Any) -> tuple[Any, list[Mail]]:
        """A task's input without what digd put around it, and the mail that is for it."""
        agent = place.agent(place.node)
        with self.lock:
            if isinstance(input, Mapping) and ENVELOPE in input:
                mail = [Mail(*input[ENVELOPE])]
                input = input["arg"]
            elif place.task in self.taken:
                mail = self.taken[place.task]
            else:
                mail = self.mail.pop(agent, [])
            self.taken[place.task] = mail
        for one in mail:
            if one.text:
                input = self.options.inject(input, one.text)
        return input, mail

    def started(self, place: Place, mail: Sequence[Mail]) -> Acting:
        acting = Acting(self.run.next_id("v"), place.agent(place.node), [m.event for m in mail])
        with self.lock:
            self.acting[place.task] = acting
        return acting

    def done(self, place: Place) -> Acting | None:
        with self.lock:
            self.taken.pop(place.task, None)
            return self.acting.pop(place.task, None)

    def wake(self, intervention: Intervention) -> bool:
        """Takes a system event; the graph is woken with it once it has stopped."""
        for agent in intervention.recipients:
            self.post(agent, Mail(intervention.id, intervention.inject))
        self.calls.put(intervention)
        return True

    def next_call(self) -> Command[Any] | None:
        """After the graph stopped without an answer: whom to wake, or None after the rules' windows have passed."""
        welcome = self.run.welcome
        if self.answered or not self.wakes or welcome is None or not self.run.connected or welcome["mode"] != "enforce":
            return None
        windows = [rule["window_ms"] for rule in welcome["rules"].values() if "window_ms" in rule]
        try:
            call = self.calls.get(timeout=max(windows, default=0) / 1000 + PATIENCE_S)
        except queue.Empty:
            return None
        return Command(goto=[agent for agent in call.recipients if "/" not in agent])

    def close(self, error: BaseException | None) -> None:
        for acting in list(self.acting.values()):
            self.run.end_activation(acting.id, error="left without an end")
        self.run.close(error)


def watch_of(config: RunnableConfig | None) -> Watch | None:
    watch = (config or {}).get("configurable", {}).get(WATCH)
    return watch if isinstance(watch, Watch) else None
