"""The runnable that the adapter puts around a node of an instrumented graph."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import ParentCommand
from langgraph.types import Command

from . import internals
from .mail import Acting
from .text import current_notes
from .watch import Watch, drive, drive_async

current_watch: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("digd_watch", default=None)


class Turn:
    """One execution of a node that is watched. What goes wrong in the adapter never reaches the node."""

    def __init__(self, watch: Watch, acting: Acting, input: Any) -> None:
        self.watch, self.acting, self.input = watch, acting, input

    @staticmethod
    def begin(node: str, input: Any, config: RunnableConfig | None) -> Turn | None:
        watch = current_watch.get()
        if watch is None or watch.disabled:
            return None
        try:
            task = watch.find_task(config)
            return None if task is None else Turn(watch, *watch.begin(node, task, input))
        except Exception as error:
            watch.give_up(error)
            return None

    @contextlib.contextmanager
    def notes(self) -> Iterator[None]:
        token = current_notes.set(self.acting.notes)
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise
        finally:
            current_notes.reset(token)

    def fail(self, error: BaseException) -> None:
        try:
            self.watch.fail(self.acting, error)
        except Exception as failure:
            self.watch.give_up(failure)

    def finish(self, value: Any) -> None:
        try:
            drive(self.watch.finish(self.acting, value))
        except Exception as error:
            self.watch.give_up(error)

    async def finish_async(self, value: Any) -> None:
        try:
            await drive_async(self.watch.finish(self.acting, value))
        except Exception as error:
            self.watch.give_up(error)


class WatchedNode(Runnable[Any, Any]):
    """A node with its writers. Outside an invocation that is watched, it only passes calls on."""

    def __init__(self, node: str, inner: Runnable[Any, Any], writers: list[Runnable[Any, Any]]) -> None:
        self.node, self.inner, self.writers = node, inner, writers
        self.name = getattr(inner, "name", None)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        turn = Turn.begin(self.node, input, config)
        if turn is None:
            return self.inner.invoke(input, config, **kwargs)
        with turn.notes():
            try:
                value = self.inner.invoke(turn.input, config, **kwargs)
            except ParentCommand as raised:
                value = self._command(raised, config)
        turn.finish(value)
        return value

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        turn = Turn.begin(self.node, input, config)
        if turn is None:
            return await self.inner.ainvoke(input, config, **kwargs)
        with turn.notes():
            try:
                value = await self.inner.ainvoke(turn.input, config, **kwargs)
            except ParentCommand as raised:
                value = self._command(raised, config)
        await turn.finish_async(value)
        return value

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        turn = Turn.begin(self.node, input, config)
        if turn is None:
            async for chunk in self.inner.astream(input, config, **kwargs):
                yield chunk
            return
        value: Any = None
        with turn.notes():
            try:
                async for value in self.inner.astream(turn.input, config, **kwargs):
                    yield value
            except ParentCommand as raised:
                value = self._command(raised, config)
        await turn.finish_async(value)

    def _command(self, raised: ParentCommand, config: RunnableConfig | None) -> Any:
        """A command that a subgraph raised for this graph: writes it as LangGraph would, so that it can be judged."""
        command: Command[Any] = raised.args[0]
        if config is None or not internals.is_addressed(command, config, self.node):
            raise raised
        for writer in self.writers:
            writer.invoke(command, config)
        return command
