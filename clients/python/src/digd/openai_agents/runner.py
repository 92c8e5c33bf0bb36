"""The SDK's runner as long as somebody watches it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agents import Agent, RunResult
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner

if TYPE_CHECKING:
    from .team import Team

attached: ContextVar[Team | None] = ContextVar("digd_openai_agents_team", default=None)
"""The team that the running task is watched for."""


class Watching(AgentRunner):
    """The SDK's runner, in place of its default while a team is attached anywhere in the process.

    The one place where the SDK is changed, through the means that it has for it (`set_default_agent_runner`), and undone when
    the last team is detached. Runs of tasks to which no team is attached go straight on to the runner that was there.
    """

    _attached = 0
    _before: AgentRunner | None = None

    @classmethod
    def begin(cls) -> None:
        if cls._attached == 0:
            cls._before = get_default_agent_runner()
            set_default_agent_runner(cls())
        cls._attached += 1

    @classmethod
    def end(cls) -> None:
        cls._attached -= 1
        if cls._attached == 0:
            set_default_agent_runner(cls._before)
            cls._before = None

    @classmethod
    def sdk(cls) -> AgentRunner:
        """The runner that does the work."""
        return cls._before or get_default_agent_runner()

    async def run(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        team = attached.get()
        if team is None:
            return await self.sdk().run(starting_agent, input, **options)
        return await team.watched(starting_agent, input, dict(options))

    def run_sync(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        return self.sdk().run_sync(starting_agent, input, **options)

    def run_streamed(self, starting_agent: Agent[Any], input: Any, **options: Any) -> Any:
        team = attached.get()
        if team is None:
            return self.sdk().run_streamed(starting_agent, input, **options)
        return team.streamed(self.sdk(), starting_agent, input, dict(options))
