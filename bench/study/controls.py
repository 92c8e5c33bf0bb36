"""The arms that act without digd: nothing, the blind guard, random texts, a judge.

A control is asked before each activation, at each answer, and when a team rests without an answer.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any

from mind import Log, Model
from tasks import Task

MAX_RETURNS = 3  # digd's default max_attempts of early termination
BLIND_TEXT = (
    "Your answer was not accepted yet. Check whether every team mate has reported and nothing is missing. "
    "Then answer again."
)
NEUTRAL_TEXT = "Please check that you have all you need, and tell the others what they need from you."
FAILURES = {
    "none": "everything is in order",
    "early_termination": "an answer was given while others still had work that matters for it",
    "missing_termination": "all work is done, and nobody gave the answer",
    "orphaned_event": "a message went to somebody who does not exist",
    "deadlock": "everybody waits for everybody",
    "excessive_rerouting": "work is passed round and round",
    "cross_lineage_aggregation": "parts of different plans were mixed",
    "repeated_subproblem": "the same part was done twice",
}
JUDGEMENT = {
    "type": "object",
    "properties": {
        "failure": {"enum": list(FAILURES)},
        "agent": {"type": "string", "maxLength": 40},
        "advice": {"type": "string", "maxLength": 300},
    },
}


class Nothing:
    """Lets everything happen."""

    def before(self, agent: str, number: int) -> str | None:
        """A text for the agent whose activation begins; `number` counts the activations of the run from 0."""
        return None

    async def answer(self, agent: str) -> str | None:
        """A text to give an answer back with, or None to accept it."""
        return None

    async def rest(self) -> tuple[str, str] | None:
        """An agent and a text to wake a team that rests without an answer, or None."""
        return None


class BlindGuard(Nothing):
    """Gives the first three answers back, always, with the same text."""

    def __init__(self) -> None:
        self.returned = 0

    async def answer(self, agent: str) -> str | None:
        if self.returned >= MAX_RETURNS:
            return None
        self.returned += 1
        return BLIND_TEXT


class RandomTexts(Nothing):
    """As many texts as digd gave in the same pair, before activations drawn at random. They destroy no work."""

    def __init__(self, texts: int, activations: int, seed: int) -> None:
        rng = random.Random(f"random texts {seed}")
        self._numbers = set(rng.sample(range(max(activations, 1)), min(texts, max(activations, 1))))

    def before(self, agent: str, number: int) -> str | None:
        return NEUTRAL_TEXT if number in self._numbers else None


class Judge(Nothing):
    """The same model, with the paper's taxonomy and the whole log, asked at each answer and at rest."""

    def __init__(self, task: Task, log: Log, model: Model, seed: int) -> None:
        self._task, self._log, self._model, self._seed = task, log, model, seed
        self._acts = 0

    async def answer(self, agent: str) -> str | None:
        judgement = await self._judge("An answer was given.")
        if judgement is None:
            return None
        return judgement["advice"]

    async def rest(self) -> tuple[str, str] | None:
        judgement = await self._judge("The team has come to rest without an answer.")
        if judgement is None:
            return None
        agent = judgement["agent"] if judgement["agent"] in self._task.team else self._task.team[0]
        return agent, judgement["advice"]

    async def _judge(self, situation: str) -> dict[str, Any] | None:
        if self._acts >= MAX_RETURNS:
            return None
        taxonomy = "\n".join(f"- {name}: {meaning}" for name, meaning in FAILURES.items())
        prompt = [
            {
                "role": "system",
                "content": "You watch a team of agents. Decide whether their collaboration has failed, and how:\n"
                f"{taxonomy}\nReply in JSON: failure, agent (who should act), "
                "advice (one or two sentences for that agent).",
            },
            {
                "role": "user",
                "content": f"The team: {', '.join(self._task.team)}. The task: {self._task.question}\n"
                f"The log:\n{self._log.as_text()[-6000:]}\n{situation}",
            },
        ]
        digest = hashlib.sha256(f"{self._seed}/judge/{len(self._log.entries)}".encode()).digest()
        judgement = await self._model.complete(prompt, JUDGEMENT, int.from_bytes(digest[:4], "little") >> 1)
        self._log.add(what="judged", situation=situation, failure=judgement.get("failure"))
        if judgement.get("failure") in (None, "none") or not judgement.get("advice"):
            return None
        self._acts += 1
        return {"agent": str(judgement.get("agent", "")), "advice": str(judgement["advice"])}
