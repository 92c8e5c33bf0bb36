"""A team on AutoGen's core: each agent is a RoutedAgent that reads what is published to it."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any

import digd
import digd.autogen
from autogen_core import (
    MessageContext,
    RoutedAgent,
    SingleThreadedAgentRuntime,
    TopicId,
    TypeSubscription,
    message_handler,
)
from controls import Nothing
from mind import USER, Log, Message, Mind, Model
from tasks import Task

HEALING_MS = 6000  # how long a team that rests waits for help in `enforce`
WINDOW_MS = 1500


@dataclass
class Letter:
    sender: str
    text: str
    known: tuple[str, ...] = ()


@dataclass
class Answer:
    text: str


class Member(RoutedAgent):
    def __init__(self, mind: Mind) -> None:
        super().__init__(f"{mind.name}, a member of the team")
        self._mind = mind

    @message_handler
    async def on_letter(self, message: Letter, ctx: MessageContext) -> None:
        incoming, texts = Message(message.sender, message.text, message.known), list(digd.autogen.notes())
        while True:
            decision = await self._mind.decide(incoming, texts)
            for to, text in decision.send:
                await self.publish_message(Letter(self._mind.name, text, self._mind.tells(text)), TopicId(to, "team"))
            if decision.answer is None:
                if decision.wait:
                    digd.autogen.wait()
                return
            returned = await self._mind.control.answer(self._mind.name)
            if returned is None:
                await self.publish_message(Answer(decision.answer), TopicId("answers", "team"))
                return
            texts = [returned]


class Collector(RoutedAgent):
    """Takes the team's answer, as the user's program would."""

    def __init__(self, answered: asyncio.Future[str]) -> None:
        super().__init__("takes the answer")
        self._answered = answered

    @message_handler
    async def on_answer(self, message: Answer, ctx: MessageContext) -> None:
        if not self._answered.done():
            self._answered.set_result(message.text)


async def run(
    task: Task, control: Nothing, model: Model, log: Log, seed: int, monitor: dict[str, Any] | None
) -> str | None:
    """Runs the team once and returns its answer. monitor: arguments of digd.Run, or None for no digd at all."""
    if monitor is None:
        return await play(SingleThreadedAgentRuntime(), task, control, model, log, seed)
    rules = {name: {"window_ms": WINDOW_MS} for name in ("missing_termination", "deadlock")}
    options = {key: value for key, value in monitor.items() if key != "run"}
    async with digd.Run(monitor["run"], **options, rules=rules) as watched:
        return await play(
            digd.autogen.Runtime(watched, answers=Answer, wait_for_healing_ms=HEALING_MS),
            task,
            control,
            model,
            log,
            seed,
        )


async def play(
    runtime: SingleThreadedAgentRuntime, task: Task, control: Nothing, model: Model, log: Log, seed: int
) -> str | None:
    answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    for name in task.team:
        await Member.register(runtime, name, lambda name=name: Member(Mind(name, task, model, control, log, seed)))
        for topic in (name, "everyone"):
            await runtime.add_subscription(TypeSubscription(topic, name))
    await Collector.register(runtime, "collector", lambda: Collector(answered))
    await runtime.add_subscription(TypeSubscription("answers", "collector"))
    runtime.start()
    await runtime.publish_message(Letter(USER, task.question), TopicId("everyone", "team"))
    while True:
        idle = asyncio.ensure_future(runtime.stop_when_idle())
        await asyncio.wait({idle, answered}, return_when=asyncio.FIRST_COMPLETED)
        if answered.done():
            idle.cancel()
            log.max_activations = log.activations  # what still runs decides nothing more
            with contextlib.suppress(RuntimeError):  # it has become idle meanwhile
                await runtime.stop()
            return answered.result()
        await idle
        wake_up = await control.rest()
        if wake_up is None:
            return None
        runtime.start()
        await runtime.publish_message(Letter("Note", wake_up[1]), TopicId(wake_up[0], "team"))
