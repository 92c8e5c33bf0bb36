"""The proxy of an agent while the runtime delivers a message to it. The agent itself is not changed."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol

from autogen_core import Agent, MessageContext

delivering: ContextVar[str | None] = ContextVar("digd_autogen_delivering", default=None)
"""The message that the runtime is delivering while it looks an agent up."""


class Caller(Protocol):
    """Calls an agent's handler and reports the call."""

    async def handle(self, agent: Agent, message: Any, ctx: MessageContext) -> Any: ...


class WatchedAgent:
    """Reports the calls of an agent, and passes every other access on to it."""

    def __init__(self, calls: Caller, agent: Agent) -> None:
        self._digd_calls = calls
        self._digd_agent = agent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._digd_agent, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # AutoGen's traces contain the name of the class
        return type(self._digd_agent)

    async def on_message(self, message: Any, ctx: MessageContext) -> Any:
        token = delivering.set(None)
        try:
            return await self._digd_calls.handle(self._digd_agent, message, ctx)
        finally:
            delivering.reset(token)
