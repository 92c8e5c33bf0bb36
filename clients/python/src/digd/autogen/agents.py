"""What the class of an agent says about it: which messages it takes, and whether it can put anything out."""

from __future__ import annotations

import hashlib
import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from autogen_core import AgentId, ClosureAgent, RoutedAgent
from autogen_core._closure_agent import get_handled_types_from_closure

DEFAULT_KEY = "default"
DIRECT = ":digd"  # of topics that reach one agent: its type, this, its key as source. BaseAgent subscribes it
MAX_NAME_BYTES = 256
FRAMEWORK = {"autogen_core", "autogen_agentchat", "autogen_ext"}
SENDING = {"send_message", "publish_message"}


def name_of(agent: AgentId) -> str:
    """An agent's name for digd: its type, with its key where that is not the default one."""
    return short_name(agent.type if agent.key == DEFAULT_KEY else str(agent))


def short_name(name: str) -> str:
    """The name, within the protocol's limit; keys are the program's own and may be long."""
    encoded = name.encode("utf-8", "replace")
    if len(encoded) <= MAX_NAME_BYTES:
        return name
    digest = hashlib.sha256(encoded).hexdigest()[:16]
    return encoded[:MAX_NAME_BYTES - 20].decode("utf-8", "ignore") + "..." + digest


def id_of(name: str) -> AgentId:
    type, _, key = name.partition("/")
    return AgentId(type, key or DEFAULT_KEY)


@dataclass(frozen=True)
class Traits:
    """What is known of the agents of one type before they act.

    handled: the classes of messages that they have handlers for; None: unknown, they may take any.
    absorbs: they can put nothing out: no sending, no publishing, no response. Messages to them ask for nothing.
    """

    handled: frozenset[Any] | None = None
    absorbs: bool = False

    def takes(self, message: Any) -> bool:
        return self.handled is None or type(message) in self.handled


def traits_of(expected: Any, factory: Callable[..., Any] | None = None) -> Traits:
    """Of an agent type, from the class it was registered with and, for a closure agent, from its factory."""
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
    except Exception:  # AutoGen itself reports a closure that it cannot use
        return Traits(None, absorbs)
    return Traits(None if Any in handled else handled, absorbs)


def _own_functions(cls: type) -> Iterator[types.CodeType]:
    """The code of what the program itself wrote for this class."""
    for base in cls.__mro__:
        if base is object or base.__module__.partition(".")[0] in FRAMEWORK:
            continue
        for value in vars(base).values():
            function = inspect.unwrap(value) if callable(value) else getattr(value, "fget", None)
            code = getattr(function, "__code__", None)
            if code is not None:
                yield code


def _sends(code: types.CodeType | None) -> bool:
    """Whether the code, or a function within it, names something that sends. Code that cannot be read may."""
    if code is None:
        return True
    names = set(code.co_names)
    return bool(SENDING & names) or {"autogen", "wait"} <= names or any(  # who calls digd.autogen.wait() has work
        _sends(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))


def all_absorb(traits: Iterable[Traits]) -> bool:
    return all(t.absorbs for t in traits)
