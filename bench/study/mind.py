"""An agent's decisions: what it knows, what it asks the model, and what the model's answer means."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any, Protocol

from tasks import Task

MAX_TOOL_USES = 5  # in one activation
MAX_MEMORY = 16  # entries that an agent remembers; the model's context is small
MAX_TEXT = 300  # characters of a message
MAX_TOKENS = 48  # of a reply
MAX_JSON_TOKENS = 200
TEMPERATURE = 0.7
USER = "User"
EVERYONE = {"all", "everybody", "everyone", "team", "the team"}


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
    async def say(self, messages: list[dict[str, str]], seed: int) -> str: ...

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
        self.known = set(task.shown_to(name))
        self._memory: list[tuple[str, str]] = []  # role and text
        self._calls = 0
        self._turn = asyncio.Lock()  # it thinks about one message at a time

    async def decide(self, message: Message, texts: list[str]) -> Decision:
        """What the agent does with a message. It reads `texts` with it; a monitor or a control wrote them."""
        async with self._turn:
            return await self._decide(message, texts)

    def tells(self, text: str) -> tuple[str, ...]:
        """The pieces of data that a message of this agent passes on."""
        return tuple(sorted(piece for piece in self.known if self.task.tells(piece, text)))

    async def _decide(self, message: Message, texts: list[str]) -> Decision:
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
        entry = ("user", f"{message.sender}: {message.text}")
        if message.sender == USER and self.name in self.task.held:
            entry = ("user", self.task.held[self.name])  # all that this agent does about the user's question
        if not texts or entry not in self._memory:  # an answer that is given back brings its message a second time
            self._memory.append(entry)
        self._memory += [("user", f"Note: {text}") for text in texts]
        for _ in range(MAX_TOOL_USES):
            reply = await self._ask()
            argument = argument_in(reply)
            if argument is None or self.task.use is None:
                return self._carry_out(reply)
            result, pieces = self.task.use(self.name, argument)
            self.known.update(pieces)
            self.log.add(what="tool", agent=self.name, argument=argument[:MAX_TEXT], result=result, pieces=pieces)
            self._memory.append(("user", result))
        return self._carry_out(await self._ask())

    async def _ask(self) -> str:
        digest = hashlib.sha256(f"{self.seed}/{self.name}/{self._calls}".encode()).digest()
        self._calls += 1
        prompt = [{"role": "system", "content": self.task.prompts[self.name]}]
        for role, text in self._memory[:1] + self._memory[1:][-MAX_MEMORY:]:
            if prompt[-1]["role"] == role:
                prompt[-1]["content"] += f"\n{text}"
            else:
                prompt.append({"role": role, "content": text})
        reply = await self.model.say(prompt, int.from_bytes(digest[:4], "little") >> 1)
        self._memory.append(("assistant", reply or "Wait"))
        return reply

    def _carry_out(self, reply: str) -> Decision:
        sends = [(to, text) for to, text in messages_in(reply, self.task.team) if to != self.name]
        answer = answer_in(reply)
        for to, text in sends:
            self.log.add(what="sent", agent=self.name, to=to, text=text, known=self.tells(text))
        if answer:
            self.log.add(
                what="answered",
                agent=self.name,
                text=answer,
                known=sorted(self.known),
                lacking=sorted(set(self.task.owners) - self.known),
                correct=self.task.is_correct(answer),
            )
        return Decision(tuple(sends), reply.lower().startswith("wait"), answer)


def argument_in(reply: str) -> str | None:
    found = re.match(r"look:\s*(.+)", reply, re.IGNORECASE)
    return found[1] if found else None


def answer_in(reply: str) -> str | None:
    found = re.match(r"answer:\s*(.+)", reply, re.IGNORECASE)
    return found[1] if found else None


def messages_in(reply: str, team: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each recipient and the text of a reply such as "To Ben and Cleo: …". A name may be nobody's."""
    found = re.match(r"to ([^:]{1,60}):\s*(.+)", reply, re.IGNORECASE)
    if not found:
        return []
    names = [name.strip() for name in re.split(r",|\band\b", found[1]) if name.strip()]
    if len(names) == 1 and names[0].lower() in EVERYONE:
        names = list(team)
    return [(name, found[2][:MAX_TEXT]) for name in names]


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

    async def say(self, messages: list[dict[str, str]], seed: int) -> str:
        """The model's next line, without quotation marks around them."""
        return (await self._create(messages, seed, stop="\n", max_tokens=MAX_TOKENS)).strip().strip('"').strip()

    async def complete(self, messages: list[dict[str, str]], schema: dict[str, Any], seed: int) -> dict[str, Any]:
        """A reply in JSON of this schema."""
        form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
        try:
            reply = json.loads(await self._create(messages, seed, response_format=form, max_tokens=MAX_JSON_TOKENS))
        except ValueError:  # the reply was cut
            self.unreadable += 1
            return {}
        return reply if isinstance(reply, dict) else {}

    async def _create(self, messages: list[dict[str, str]], seed: int, **options: Any) -> str:
        self._open += 1
        self._idle.clear()
        try:
            answer = await self._client.chat.completions.create(
                model="study", messages=messages, seed=seed, temperature=TEMPERATURE, **options
            )
        finally:
            self._open -= 1
            if self._open == 0:
                self._idle.set()
        self.calls += 1
        self.tokens_in += answer.usage.prompt_tokens
        self.tokens_out += answer.usage.completion_tokens
        self.model_ms += int((answer.model_extra or {}).get("duration_ms", 0))
        return str(answer.choices[0].message.content)
