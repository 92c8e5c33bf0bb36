"""Names of agents, and the traits of an agent's class: the messages it handles, and whether it can send any."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from autogen_core import AgentId, ClosureAgent, RoutedAgent
from autogen_core._closure_agent import get_handled_types_from_closure

from ..adapter import short_name

DEFAULT_KEY = "default"
DIRECT = ":digd"  # a topic of the agent's type plus this suffix, with its key as source, reaches that agent alone
FRAMEWORK = {"autogen_core", "autogen_agentchat", "autogen_ext"}
SENDING = {"send_message", "publish_message"}


def name_of(agent: AgentId) -> str:
    """An agent's name for digd: its type, and its key unless that is the default."""
    return short_name(agent.type if agent.key == DEFAULT_KEY else str(agent))


def id_of(name: str) -> AgentId:
    type, _, key = name.partition("/")
    return AgentId(type, key or DEFAULT_KEY)


@dataclass(frozen=True)
class Traits:
    """What is known about the agents of one type before they act.

    handled: the classes of messages for which they have handlers. None: unknown, so they may handle any class.
    absorbs: whether these agents cannot send, publish or respond. A message to them asks for nothing.
    """

    handled: frozenset[Any] | None = None
    absorbs: bool = False

    def takes(self, message: Any) -> bool:
        return self.handled is None or type(message) in self.handled


def traits_of(expected: Any, factory: Callable[..., Any] | None = None) -> Traits:
    """The traits of an agent type, from its registered class and, for a closure agent, from its factory."""
    if not isinstance(expected, type):
        return Traits()
    if issubclass(expected, ClosureAgent):
        closure = inspect.getclosurevars(factory).nonlocals.get("closure") if inspect.isfunction(factory) else None
        return _of_closure(closure) if closure is not None else Traits()
    if not issubclass(expected, RoutedAgent) or expected.on_message_impl is not RoutedAgent.on_message_impl:
        return Traits()
    members = (getattr(expected, name, None) for name in dir(expected))
    handlers = [member for member in members if hasattr(member, "is_message_handler")]
    silent = all(set(getattr(h, "produces_types", ())) <= {type(None)} for h in handlers)
    absorbs = silent and not any(map(_sends, _own_functions(expected)))
    if expected.on_unhandled_message is not RoutedAgent.on_unhandled_message:
        return Traits(None, absorbs)
    return Traits(frozenset(t for h in handlers for t in h.target_types), absorbs)  # type: ignore[union-attr]


def _of_closure(closure: Any) -> Traits:
    absorbs = not _sends(getattr(closure, "__code__", None))
    try:
        handled = frozenset(get_handled_types_from_closure(closure))
    except Exception:  # AutoGen reports a closure that it cannot use
        return Traits(None, absorbs)
    return Traits(None if Any in handled else handled, absorbs)


def _own_functions(cls: type) -> Iterator[types.CodeType]:
    """The code objects of the class that are the program's own, not a framework's."""
    for base in cls.__mro__:
        if base is object or base.__module__.partition(".")[0] in FRAMEWORK:
            continue
        for value in vars(base).values():
            function = inspect.unwrap(value) if callable(value) else getattr(value, "fget", None)
            code = getattr(function, "__code__", None)
            if code is not None:
                yield code


def _sends(code: types.CodeType | None) -> bool:
    """Whether the code, or a function within it, may send. True for code that cannot be read.

    An agent that calls `digd.autogen.wait()` has work to do, so it counts as sending.
    """
    if code is None:
        return True
    names = set(code.co_names)
    return bool(SENDING & names) or {"autogen", "wait"} <= names or any(
        _sends(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))


def all_absorb(traits: Iterable[Traits]) -> bool:
    return all(t.absorbs for t in traits)
