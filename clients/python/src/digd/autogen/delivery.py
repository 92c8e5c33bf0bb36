"""The stand-in for an agent while the runtime delivers a message to it. The agent itself is not changed."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from autogen_core import Agent, MessageContext

if TYPE_CHECKING:
    from .calls import Calls

delivering: ContextVar[str | None] = ContextVar("digd_autogen_delivering", default=None)
"""The message for which the runtime itself looks an agent up, to deliver it."""


class Watched:
    """Reports the call of an agent; everything else is the agent's."""

    def __init__(self, calls: Calls, agent: Agent) -> None:
        self._digd_calls = calls
        self._digd_agent = agent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._digd_agent, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # AutoGen's traces name it
        return type(self._digd_agent)

    async def on_message(self, message: Any, ctx: MessageContext) -> Any:
        token = delivering.set(None)
        try:
            return await self._digd_calls.handle(self._digd_agent, message, ctx)
        finally:
            delivering.reset(token)
