"""The SDK's default runner while a team is attached."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agents import Agent, RunResult
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner

if TYPE_CHECKING:
    from .team import Team

attached: ContextVar[Team | None] = ContextVar("digd_openai_agents_team", default=None)
"""The team that the running task is watched for."""


class WatchingRunner(AgentRunner):
    """Replaces the SDK's default runner while a team is attached anywhere in the process.

    This is the one change to the SDK, by its own means (`set_default_agent_runner`). It is undone when the last team is
    detached and the streams that began in it have ended. Tasks to which no team is attached go straight to the runner
    that was there before.
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
            if get_default_agent_runner() is cls._installed:  # else the program has set its own since
                set_default_agent_runner(cls._before)
            cls._before = cls._installed = None

    @classmethod
    def sdk(cls) -> AgentRunner:
        """The runner that does the work."""
        return cls._before or get_default_agent_runner()

    async def run(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        team = attached.get()
        if team is None or not team.watches(starting_agent, options.get("hooks")):
            return await self.sdk().run(starting_agent, input, **options)
        return await team.run_watched(starting_agent, input, dict(options))

    def run_sync(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        team = attached.get()
        has_own = type(self.sdk()).run_sync is not AgentRunner.run_sync  # the program's own, which is to be called
        if team is None or has_own or not team.watches(starting_agent, options.get("hooks")):
            return self.sdk().run_sync(starting_agent, input, **options)
        return super().run_sync(starting_agent, input, **options)

    def run_streamed(self, starting_agent: Agent[Any], input: Any, **options: Any) -> Any:
        team = attached.get()
        if team is None or not team.watches(starting_agent, options.get("hooks")):
            return self.sdk().run_streamed(starting_agent, input, **options)
        return team.run_streamed_watched(starting_agent, input, dict(options))
