"""The interface that a runtime offers to its handler calls and its group chats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from autogen_core import AgentId, TopicId

from ..line import Mail
from ..run import Run
from .flow import AgentLine, Flow, Holds, RunState


@dataclass(frozen=True)
class JudgedMessage:
    """A message to deliver. `as_is`: the verdict could not be applied to it."""

    message: Any
    as_is: bool = False


class Host(Protocol):
    """The members of `digd.autogen.Runtime` that its parts use. The runtime's docstrings describe them."""

    digd_run: Run
    is_off: bool
    mail: Mail
    holding: Holds
    state: RunState
    flow: Flow
    chats: Any
    is_answer: Callable[[Any], bool] | None
    try_note: Callable[[Any, str], Any]
    wait_for_healing_ms: float

    def is_registered(self, type: str) -> bool: ...

    def instance(self, agent_id: AgentId) -> Any: ...

    def is_answer_message(self, message: Any, *, from_outside: bool) -> bool: ...

    def event_of(self, message_id: str, agent: str) -> str | None: ...

    def answer_request(self, message_id: str, event: str) -> None: ...

    def defer_answer(self, agent: str, event: str, message: Any) -> None: ...

    def line(self) -> AgentLine: ...

    async def announce_agents(self, *names: str) -> None: ...

    async def recipients_of(self, message: Any, topic: TopicId, sender: AgentId | None) -> list[str]: ...

    async def publish_to(self, name: str, message: Any, event: str) -> None: ...

    async def publish_unwatched(self, message: Any, topic_id: TopicId, options: dict[str, Any]) -> None: ...

    async def handled(self, message_id: str, agent: str) -> None: ...

    async def chat_ended(self, chat: str) -> None: ...
