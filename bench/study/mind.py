"""An agent's decisions: what it knows, what it asks the model, and what the model's answer means."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Protocol

from tasks import Task

MAX_TOOL_USES = 2  # in one activation
MAX_MEMORY = 12  # entries that an agent remembers; the model's context is small
MAX_TEXT = 400  # characters of a message
MAX_ANSWER = 1200
MAX_SENDS = 6  # messages that one activation may send
TEMPERATURE = 0.7
DECISION = {
    "type": "object",
    "properties": {
        "thought": {"type": "string", "maxLength": 160},
        "use_tool": {"oneOf": [{"type": "null"}, {"type": "string", "maxLength": MAX_ANSWER}]},
        "send": {
            "type": "array",
            "maxItems": MAX_SENDS,
            "items": {
                "type": "object",
                "properties": {
                    "to": {"type": "string", "maxLength": 40},
                    "text": {"type": "string", "maxLength": MAX_TEXT},
                },
            },
        },
        "wait_for_more": {"type": "boolean"},
        "answer": {"oneOf": [{"type": "null"}, {"type": "string", "maxLength": MAX_ANSWER}]},
    },
}


@dataclass(frozen=True)
class Message:
    """What one agent tells another.

    known: the pieces of data that the sender has seen or been told of. No model reads it.
    """

    sender: str
    text: str
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    send: tuple[tuple[str, str], ...] = ()
    wait: bool = False
    answer: str | None = None


class Model(Protocol):
    async def complete(self, messages: list[dict[str, str]], schema: dict[str, Any], seed: int) -> dict[str, Any]: ...


@dataclass
class Log:
    """What happened in a run, in order, for judges and for the measures."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    activations: int = 0
    max_activations: int = 40

    def add(self, **entry: Any) -> None:
        self.entries.append(entry)

    def as_text(self) -> str:
        lines = []
        for entry in self.entries:
            if entry["what"] == "sent":
                lines.append(f"{entry['agent']} to {entry['to']}: {entry['text']}")
            elif entry["what"] == "tool":
                lines.append(f"{entry['agent']} used its tool: {entry['argument']} -> {entry['result']}")
            elif entry["what"] == "answered":
                lines.append(f"{entry['agent']} answers: {entry['text']}")
        return "\n".join(lines)


class Mind:
    """One agent of a run. Its draws depend only on the run's seed, its name and the number of its model call."""

    def __init__(self, name: str, task: Task, model: Model, control: Any, log: Log, seed: int) -> None:
        self.name, self.task, self.model, self.control, self.log, self.seed = name, task, model, control, log, seed
        self.known: set[str] = set()
        self._memory: list[str] = []
        self._calls = 0

    def system(self) -> str:
        others = [name for name in self.task.team if name != self.name]
        team = (
            f"You are {self.name}. You work in a team with {', '.join(others)}. "
            "Nobody sees what you see unless you send it."
            if others
            else f"You are {self.name}. You work alone."
        )
        mine = self.task.pieces_of(self.name)
        return (
            f"{team}\nThe team has this task: {self.task.question}\n"
            f"You have a tool, {self.task.tool}. You can reach: {', '.join(mine) or 'nothing'}.\n"
            "Each time, reply in JSON: thought (one short sentence), use_tool (the tool's argument, or null), "
            + (
                "send (messages to team mates: to and text), "
                "wait_for_more (true if you cannot go on before more messages come), "
                if others
                else ""
            )
            + "answer (the final answer, once it is known, else null)."
        )

    async def decide(self, message: Message, texts: list[str]) -> Decision:
        """What the agent does with a message. It reads `texts` with it; a monitor or a control wrote them."""
        if self.log.activations >= self.log.max_activations:
            self.log.add(what="stopped", agent=self.name)
            return Decision()
        number = self.log.activations
        self.log.activations += 1
        own = self.control.before(self.name, number)
        texts = [*texts, *([own] if own else [])]
        self.known.update(message.known)
        for text in texts:
            self.log.add(what="text", agent=self.name, text=text, lacking=sorted(set(self.task.owners) - self.known))
        self._remember(f"{message.sender} to you: {message.text}")
        for text in texts:
            self._remember(f"Note: {text}")
        for _ in range(MAX_TOOL_USES):
            reply = await self._ask()
            argument = reply.get("use_tool")
            if not argument:
                return self._carry_out(reply)
            result, pieces = self.task.use(self.name, argument)
            self.known.update(pieces)
            self.log.add(what="tool", agent=self.name, argument=argument[:MAX_TEXT], result=result, pieces=pieces)
            self._remember(f"You used your tool with {argument[:MAX_TEXT]}. {result}")
        return self._carry_out(await self._ask())

    async def _ask(self) -> dict[str, Any]:
        digest = hashlib.sha256(f"{self.seed}/{self.name}/{self._calls}".encode()).digest()
        self._calls += 1
        memory = "\n".join(f"- {entry}" for entry in self._memory)
        prompt = [
            {"role": "system", "content": self.system()},
            {"role": "user", "content": f"So far:\n{memory}\nWhat do you do now?"},
        ]
        return await self.model.complete(prompt, DECISION, int.from_bytes(digest[:4], "little") >> 1)

    def _carry_out(self, reply: dict[str, Any]) -> Decision:
        sends = tuple(
            (str(m.get("to", "")), str(m.get("text", ""))[:MAX_TEXT])
            for m in reply.get("send", [])[:MAX_SENDS]
            if isinstance(m, dict) and m.get("text") and m.get("to") != self.name
        )
        answer = reply.get("answer") or None
        for to, text in sends:
            self._remember(f"You to {to}: {text}")
            self.log.add(what="sent", agent=self.name, to=to, text=text, known=sorted(self.known))
        if answer:
            self._remember(f"You answered: {answer[:MAX_TEXT]}")
            self.log.add(
                what="answered",
                agent=self.name,
                text=answer[:MAX_ANSWER],
                known=sorted(self.known),
                lacking=sorted(set(self.task.owners) - self.known),
                correct=self.task.is_correct(answer),
            )
        return Decision(sends, bool(reply.get("wait_for_more")) and not sends and not answer, answer)

    def _remember(self, entry: str) -> None:
        self._memory = [*self._memory, entry][-MAX_MEMORY:]


class Endpoint:
    """The model behind an OpenAI-compatible endpoint. Counts calls, tokens and the model's time."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.calls = self.tokens_in = self.tokens_out = self.model_ms = self.unreadable = 0
        self._open = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Waits until no call is open: agents of a team that has answered may still wait for the model."""
        await self._idle.wait()

    async def complete(self, messages: list[dict[str, str]], schema: dict[str, Any], seed: int) -> dict[str, Any]:
        self._open += 1
        self._idle.clear()
        try:
            answer = await self._client.chat.completions.create(
                model="study",
                messages=messages,
                seed=seed,
                temperature=TEMPERATURE,
                max_tokens=320,
                response_format={"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}},
            )
        finally:
            self._open -= 1
            if self._open == 0:
                self._idle.set()
        self.calls += 1
        self.tokens_in += answer.usage.prompt_tokens
        self.tokens_out += answer.usage.completion_tokens
        self.model_ms += int((answer.model_extra or {}).get("duration_ms", 0))
        try:
            reply = json.loads(answer.choices[0].message.content)
        except ValueError:  # the reply was cut at max_tokens
            self.unreadable += 1
            return {}
        return reply if isinstance(reply, dict) else {}
