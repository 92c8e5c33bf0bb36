"""The SDK's default runner while a team is attached."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Any, Protocol

from agents import Agent, RunResult
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner


class Watcher(Protocol):
    """The methods of a team that the runner needs."""

    def watches(self, agent: Any, hooks: Any) -> bool: ...

    async def run_watched(self, agent: Agent[Any], input: Any, options: dict[str, Any]) -> RunResult: ...

    def run_streamed_watched(self, agent: Agent[Any], input: Any, options: dict[str, Any]) -> Any: ...


attached: ContextVar[Watcher | None] = ContextVar("digd_openai_agents_team", default=None)
"""The team that watches the running task."""


class WatchingRunner(AgentRunner):
    """Replaces the SDK's default runner while a team is attached anywhere in the process.

    This is the only change to the SDK, made with its own function `set_default_agent_runner`. It is undone when the
    last team is detached and all streams that began under it have ended. Tasks without a team use the previous runner.
    """

    _lock = threading.Lock()
    _users = 0
    _installed: WatchingRunner | None = None
    _before: AgentRunner | None = None

    @classmethod
    def acquire(cls) -> None:
        with cls._lock:
            if cls._users == 0:
                cls._before, cls._installed = get_default_agent_runner(), cls()
                set_default_agent_runner(cls._installed)
            cls._users += 1

    @classmethod
    def release(cls) -> None:
        with cls._lock:
            cls._users -= 1
            if cls._users > 0:
                return
            if get_default_agent_runner() is cls._installed:  # else the program has set its own meanwhile
                set_default_agent_runner(cls._before)
            cls._before = cls._installed = None

    @classmethod
    def sdk(cls) -> AgentRunner:
        """The previous runner, which does the work."""
        return cls._before or get_default_agent_runner()

    async def run(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        team = attached.get()
        if team is None or not team.watches(starting_agent, options.get("hooks")):
            return await self.sdk().run(starting_agent, input, **options)
        return await team.run_watched(starting_agent, input, dict(options))

    def run_sync(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        team = attached.get()
        has_own = type(self.sdk()).run_sync is not AgentRunner.run_sync  # then the program's own method is called
        if team is None or has_own or not team.watches(starting_agent, options.get("hooks")):
            return self.sdk().run_sync(starting_agent, input, **options)
        return super().run_sync(starting_agent, input, **options)

    def run_streamed(self, starting_agent: Agent[Any], input: Any, **options: Any) -> Any:
        team = attached.get()
        if team is None or not team.watches(starting_agent, options.get("hooks")):
            return self.sdk().run_streamed(starting_agent, input, **options)
        return team.run_streamed_watched(starting_agent, input, dict(options))
