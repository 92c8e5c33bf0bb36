"""The runnable that the adapter puts around a node of an instrumented graph."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.errors import ParentCommand
from langgraph.graph import START
from langgraph.types import Command

from ..cancellation import Cancellable
from . import internals
from .holds import HOLD_NODE, ask, restart_write
from .mail import NodeExecution
from .steps import drive, drive_async
from .text import current_notes
from .watch import Watch

current_watch: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("digd_watch", default=None)


T = TypeVar("T")
END_OF_CHUNKS: Any = object()


async def _next_or_end(chunks: AsyncIterator[Any]) -> Any:
    return await anext(chunks, END_OF_CHUNKS)


class WatchedExecution:
    """One watched execution of a node. An error of the adapter never reaches the node."""

    def __init__(self, watch: Watch, execution: NodeExecution, input: Any) -> None:
        self.watch, self.execution, self.input = watch, execution, input

    @staticmethod
    def begin(node: str, input: Any, config: RunnableConfig | None) -> WatchedExecution | None:
        watch = current_watch.get()
        if watch is None or watch.is_disabled:
            return None
        try:
            task = watch.find_task(config)
            return None if task is None else WatchedExecution(watch, *watch.begin(node, task, input))
        except Exception as error:
            watch.disable(error)
            return None

    @contextlib.contextmanager
    def notes(self) -> Iterator[None]:
        token = current_notes.set(self.execution.notes)
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise
        finally:
            current_notes.reset(token)

    def cancellable(self, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """The node's work, which an intervention can end if the run's mode allows it."""
        if not self.watch.run.heals:
            return work
        self.execution.work = Cancellable(work)
        if self.execution.cancel_text is not None:
            self.execution.work.cancel(self.execution.cancel_text)
        return self.execution.work

    def fail(self, error: BaseException) -> None:
        try:
            self.watch.fail(self.execution, error)
        except Exception as failure:
            self.watch.disable(failure)

    def finish(self, value: Any) -> None:
        try:
            drive(self.watch.finish(self.execution, value))
        except Exception as error:
            self.watch.disable(error)

    async def finish_async(self, value: Any) -> None:
        try:
            await drive_async(self.watch.finish(self.execution, value))
        except Exception as error:
            self.watch.disable(error)


class WatchedNode(Runnable[Any, Any]):
    """A node with its writers. Outside a watched invocation it only passes calls on."""

    def __init__(self, node: str, inner: Runnable[Any, Any], writers: list[Runnable[Any, Any]]) -> None:
        self.node, self.inner, self.writers = node, inner, writers
        self.name = getattr(inner, "name", None)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        watched = WatchedExecution.begin(self.node, input, config)
        if watched is None:
            return self.inner.invoke(input, config, **kwargs)
        with watched.notes():
            try:
                value = self.inner.invoke(watched.input, config, **kwargs)
            except ParentCommand as raised:
                value = self._command(raised, config)
            watched.execution.raise_if_cancelled()
        watched.finish(value)
        return value

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        watched = WatchedExecution.begin(self.node, input, config)
        if watched is None:
            return await self.inner.ainvoke(input, config, **kwargs)
        with watched.notes():
            try:
                value = await watched.cancellable(self.inner.ainvoke(watched.input, config, **kwargs))
            except ParentCommand as raised:
                value = self._command(raised, config)
        await watched.finish_async(value)
        return value

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        watched = WatchedExecution.begin(self.node, input, config)
        if watched is None:
            async for chunk in self.inner.astream(input, config, **kwargs):
                yield chunk
            return
        value: Any = None
        with watched.notes():
            try:
                chunks = aiter(self.inner.astream(watched.input, config, **kwargs))
                while (chunk := await watched.cancellable(_next_or_end(chunks))) is not END_OF_CHUNKS:
                    value = chunk
                    yield value
            except ParentCommand as raised:
                value = self._command(raised, config)
        await watched.finish_async(value)

    def _command(self, raised: ParentCommand, config: RunnableConfig | None) -> Any:
        """Writes a command that a subgraph raised for this graph, as LangGraph would, so that it gets a verdict."""
        command: Command[Any] = raised.args[0]
        if config is None or not internals.is_addressed(command, config, self.node):
            raise raised
        for writer in self.writers:
            writer.invoke(command, config)
        return command


def _resolve_hold(held: dict[str, Any], config: RunnableConfig) -> None:
    """The work of HOLD_NODE: asks, then makes the held writes or starts their sender again."""
    watch, question = current_watch.get(), held["question"]
    task = None if watch is None else watch.find_task(config)
    if watch is not None and task is not None:
        watch.hold_asked(task)
    is_resumed = watch is None or watch.run.id != question["run"]
    decision = ask(question, may_time_out=is_resumed)
    writes = [tuple(write) for write in held["writes"]]
    if decision.decision == "return":
        writes = [restart_write(question["from"])] if question["from"] != START else []
    config["configurable"][internals.SEND_WRITES](writes)
    if watch is not None and task is not None:
        try:
            watch.hold_decided(task, writes, decision.payload(question), decision.text_for_reader(question))
        except Exception as error:
            watch.disable(error)


async def _resolve_hold_async(held: dict[str, Any], config: RunnableConfig) -> None:
    _resolve_hold(held, config)


def hold_runnable() -> Runnable[Any, Any]:
    return RunnableLambda(_resolve_hold, _resolve_hold_async, name=HOLD_NODE)
