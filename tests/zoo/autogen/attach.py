"""Attaches a system made with AutoGen for a probe, and provides the models of its agents."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import digd
import digd.autogen
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall, SingleThreadedAgentRuntime
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage, UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient

DIGD_OPTIONS = ("answers", "fyi", "is_answer", "add_note", "heal_errors", "wait_for_healing_ms")


class Attachment:
    """Makes runtimes and teams for the mode of the probe."""

    def __init__(self, probe: Any, run: digd.Run | None) -> None:
        self.probe = probe
        self.run = run

    def runtime(self, **options: Any) -> Any:
        """A runtime. A plain one gets no options of digd."""
        if self.run is None:
            return SingleThreadedAgentRuntime(**{k: v for k, v in options.items() if k not in DIGD_OPTIONS})
        return digd.autogen.Runtime(self.run, **options)

    def team(self, team: Any, **options: Any) -> Any:
        return team if self.run is None else digd.autogen.instrument(team, self.run, **options)


@asynccontextmanager
async def attached(probe: Any):
    if not probe.attached:
        yield Attachment(probe, None)
        return
    async with digd.Run(**probe.options) as run:
        yield Attachment(probe, run)
    assert run.counters.errors == {}, f"the daemon refused messages: {run.counters.errors}"
    assert run.counters.timeouts == 0
    assert run.dropped == 0


# ---- models

INFO = ModelInfo(
    vision=False, function_calling=True, json_output=True, structured_output=True, family=ModelFamily.UNKNOWN
)
FREE = RequestUsage(prompt_tokens=0, completion_tokens=0)


class Model(ReplayChatCompletionClient):
    """AutoGen's fake model. It records each call and its inputs."""

    def __init__(self, probe: Any, name: str, *replies: Any) -> None:
        super().__init__(list(replies), model_info=INFO)
        self.probe = probe
        self.name = name
        self.inputs: list[str] = []

    def _record(self, messages: Any) -> None:
        self.probe.call(f"model {self.name}")
        self.probe.saw([f"input of {self.name}", [repr(m.content) for m in messages]])
        self.inputs.append("\n".join(str(m.content) for m in messages))

    async def create(self, messages: Any, **options: Any) -> CreateResult:
        self._record(messages)
        return await super().create(messages, **options)

    async def create_stream(self, messages: Any, **options: Any):
        self._record(messages)
        async for chunk in super().create_stream(messages, **options):
            yield chunk

    async def ask(self, text: str) -> str:
        """Returns the reply to one question. For agents of the core."""
        return (await self.create([UserMessage(content=text, source="user")])).content


def calls(*names: str, **arguments: str) -> CreateResult:
    """A reply that calls tools."""
    content = [
        FunctionCall(id=f"call-{n}", name=name, arguments=arguments.get(name, "{}")) for n, name in enumerate(names)
    ]
    return CreateResult(finish_reason="function_calls", content=content, usage=FREE, cached=False)


def assistant(probe: Any, name: str, *replies: Any, **options: Any) -> AssistantAgent:
    return AssistantAgent(name, Model(probe, name, *replies), **options)


async def streamed(probe: Any, stream: Any) -> Any:
    """Consumes a team's stream and records every item. Returns the result.

    The items are recorded together: the moment when the program reads one is not part of the team's behaviour.
    """
    items = [item async for item in stream]
    probe.saw([[type(item).__name__, without_identity(item)] for item in items])
    return without_identity(items[-1])


def without_identity(item: Any) -> Any:
    """A message or result without ids and times, which differ from run to run."""
    if hasattr(item, "stop_reason") and hasattr(item, "messages"):
        return {"messages": [without_identity(m) for m in item.messages], "stop_reason": item.stop_reason}
    dumped = item.model_dump(mode="json")
    return cleaned(dumped)


def cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: cleaned(v) for k, v in value.items() if k not in ("id", "created_at", "full_message_id")}
    return [cleaned(v) for v in value] if isinstance(value, list) else value
