"""`instrument`, and instrumented graphs: each invocation is a run."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import sys
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Literal, TypeVar

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Graph
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._read import PregelNode

from .. import sync
from ..adapter import resolve_mode
from ..messages import Mode
from ..options import daemon_address
from ..rules import RUN_WINDOW_RULES
from ..version import __version__
from . import internals
from .holds import HOLD_NODE, can_interrupt
from .node import WatchedNode, current_watch, hold_runnable
from .options import Options
from .steps import drive, drive_async
from .text import Inject, add_text
from .watch import Watch

G = TypeVar("G")
CLIENT = {"name": "digd-langgraph", "version": __version__}
NEVER_MS = 7 * 24 * 3600 * 1000
MAX_END_S = 3.0  # how long an invocation waits until digd has the end of its run


def without_clock(rules: Mapping[str, Any] | None) -> dict[str, Any]:
    """The rules, with windows that never pass.

    LangGraph knows when nothing is left to do. A slow node, or a slow reader of a stream, is not stuck. The rules
    report at the end of the run.
    """
    without_window = {name: {"window_ms": NEVER_MS} for name in RUN_WINDOW_RULES}
    chosen = dict(rules or {})
    return {**chosen, **{name: {**rule, **chosen.get(name, {})} for name, rule in without_window.items()}}


class InstrumentedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose invocations are watched."""

    _digd: Options

    def __init__(self, *, _digd: Options, **attributes: Any) -> None:  # `copy` and `with_config` call it
        super().__init__(**attributes)
        self._digd = _digd

    def _begin(self, config: RunnableConfig | None) -> Watch:
        options = self._digd
        run_id = str(options.run_id(config or {})) if options.run_id else f"{self.name}-{uuid.uuid4().hex[:12]}"
        can_wake = bool(self.checkpointer) and options.wait_for_healing_ms > 0
        settings = dict(options.run)
        around = current_watch.get()
        if around is not None:
            settings["labels"] = {"parent_run": around.run.id, **(settings.get("labels") or {})}
        if not can_wake:
            settings["rules"] = without_clock(settings.get("rules"))
        settings["limits"] = {"stalled_ms": NEVER_MS, **(settings.get("limits") or {})}
        settings["capabilities"] = {"create": can_wake, "hold": True, **(settings.get("capabilities") or {})}
        run = sync.Run(run_id, [n for n in self.nodes if n not in (START, HOLD_NODE)], client=CLIENT, **settings)
        run.aio.count_added_time_in_enforce()
        if options.holds == "interrupt" and can_interrupt(self.checkpointer, config):
            run.aio.pass_holds()
        watch = Watch(run, options, self.nodes, can_wake)
        watch.declares_step_limit = internals.declares_recursion_limit(self.config, config)
        if can_wake:
            run.on_intervention("create")(watch.wake)
        run.on_intervention("cancel")(watch.cancel)
        run.begin()  # not `open`, which blocks: `langgraph dev` raises if a call blocks the event loop
        return watch

    def get_graph(self, *args: Any, **kwargs: Any) -> Graph:
        return _without_hold_node(super().get_graph(*args, **kwargs))

    async def aget_graph(self, *args: Any, **kwargs: Any) -> Graph:
        return _without_hold_node(await super().aget_graph(*args, **kwargs))

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        watch = self._begin(config)
        error: BaseException | None = None
        call: Any = input
        try:
            while True:
                watch.release_loop()
                try:
                    yield from _within(watch, super().stream(call, config, **kwargs))
                    drive(watch.conclude())
                    call = watch.next_call() if watch.waits_for_healing(None) else None
                    if call is None:
                        return
                except Exception as e:
                    call = watch.next_call() if watch.waits_for_healing(e) else None
                    if call is None:
                        raise  # without a name: `raise e` would replace the exception's context
        except BaseException as e:
            error = e
            raise
        finally:
            _wait_for_end(watch.end(error))
            error = None  # breaks the reference cycle between the exception and its frames

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        watch = self._begin(config)
        error: BaseException | None = None
        call: Any = input
        try:
            while True:
                watch.release_loop()
                try:
                    # `aclosing`: when a caller's `aclose` returns, LangGraph's tasks must have ended.
                    stream = _within_async(watch, super().astream(call, config, **kwargs))
                    async with contextlib.aclosing(stream) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    await drive_async(watch.conclude())
                    call = await asyncio.to_thread(watch.next_call) if watch.waits_for_healing(None) else None
                    if call is None:
                        return
                except Exception as e:
                    call = await asyncio.to_thread(watch.next_call) if watch.waits_for_healing(e) else None
                    if call is None:
                        raise
        except BaseException as e:
            error = e
            raise
        finally:
            await asyncio.wait([asyncio.wrap_future(watch.end(error))], timeout=MAX_END_S)
            error = None


def _without_hold_node(graph: Graph) -> Graph:
    """The picture of a graph as its program declared it."""
    if graph.nodes.pop(HOLD_NODE, None) is not None:
        graph.edges[:] = [edge for edge in graph.edges if HOLD_NODE not in (edge.source, edge.target)]
    return graph


def _wait_for_end(ended: Future[None]) -> None:
    """Waits until digd has the end of a run."""
    if not sys.is_finalizing() and not sync.is_on_background_loop():  # the collector may end a stream in any thread
        concurrent.futures.wait([ended], MAX_END_S)


def _within(watch: Watch, chunks: Iterator[Any]) -> Iterator[Any]:
    """The chunks of a stream. The watch is current while LangGraph runs, and not while the caller runs."""
    try:
        while True:
            token = current_watch.set(watch)
            try:
                chunk = next(chunks)
            except StopIteration:
                return
            finally:
                current_watch.reset(token)
            yield chunk
    finally:
        chunks.close()  # type: ignore[attr-defined]


async def _within_async(watch: Watch, chunks: AsyncIterator[Any]) -> AsyncGenerator[Any, None]:
    try:
        while True:
            token = current_watch.set(watch)
            try:
                chunk = await chunks.__anext__()
            except StopAsyncIteration:
                return
            finally:
                current_watch.reset(token)
            yield chunk
    finally:
        await chunks.aclose()  # type: ignore[attr-defined]


def _watch_graph(graph: CompiledStateGraph[Any, Any, Any, Any], options: Options) -> None:
    for name, node in graph.nodes.items():
        if node.node is not None and name != HOLD_NODE and not isinstance(node.node, WatchedNode):
            vars(node)["node"] = WatchedNode(name, node.node, node.flat_writers)
    if not isinstance(graph, InstrumentedGraph):
        kind = type(graph)
        graph.__class__ = (
            InstrumentedGraph if kind is CompiledStateGraph else type(kind.__name__, (InstrumentedGraph, kind), {})
        )
    graph._digd = options  # type: ignore[attr-defined]
    if options.holds == "interrupt":
        graph.nodes[HOLD_NODE] = PregelNode(channels=[], triggers=[], bound=hold_runnable())
    else:
        graph.nodes.pop(HOLD_NODE, None)


def _compile(builder: Any, *args: Any, **kwargs: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    compiled: CompiledStateGraph[Any, Any, Any, Any] = type(builder).compile(builder, *args, **kwargs)
    _watch_graph(compiled, builder._digd)
    return compiled


def _release(graph: Any) -> None:
    """Undoes an earlier `instrument`."""
    if isinstance(graph, InstrumentedGraph):
        graph.nodes.pop(HOLD_NODE, None)
        for node in graph.nodes.values():
            if isinstance(node.node, WatchedNode):
                vars(node)["node"] = node.node.inner
        bases = type(graph).__bases__
        graph.__class__ = bases[1] if len(bases) > 1 else CompiledStateGraph
    elif "_digd" in vars(graph):
        vars(graph).pop("compile", None)
    vars(graph).pop("_digd", None)


def instrument(
    graph: G,
    *,
    inject: Inject = add_text,
    submits: Sequence[str] | None = None,
    run_id: Callable[[RunnableConfig], str] | None = None,
    mode: Mode | None = None,
    wait_for_healing_ms: float = 0,
    heal_errors: bool = False,
    holds: Literal["wait", "interrupt"] = "wait",
    **run: Any,
) -> G:
    """Watches a compiled graph, or every graph that a builder compiles from now on. Returns `graph`.

    Calling it again replaces the arguments. Mode `off` undoes it and leaves no trace.

    inject: returns a node's input with a text added, or the same object if it cannot add one.
    submits: the nodes whose edge to END is the answer. None: the answer is the state when the graph comes to rest.
    run_id: returns the run id of an invocation from its configuration. Each id must be new.
    mode: `off`, `observe`, `shadow` or `enforce`; else DIGD_MODE, else `shadow`, which changes nothing.
    wait_for_healing_ms: how long a graph with a checkpointer waits for an intervention when it rests without an answer.
    heal_errors: whether an intervention may also wake a graph that raised.
    holds: what a graph with a checkpointer does if a guard asks a person. `wait`: the task waits for the decision that
        digd gets. `interrupt`: the graph stops as by `interrupt()`; resume it with the decision.
    run: the other arguments of `digd.Run`, such as `url`, `rules`, `max_returns_per_agent` and `max_added_ms`.
    """
    if not isinstance(graph, (StateGraph, CompiledStateGraph)):
        raise TypeError(
            f"instrument() takes a StateGraph or what its compile() returns, not {type(graph).__name__}. If a "
            "library built the graph, pass the StateGraph that it compiles, or the compiled graph itself."
        )
    if holds not in ("wait", "interrupt"):
        raise ValueError(f"holds: expected 'wait' or 'interrupt', got {holds!r}")
    resolved = resolve_mode(mode)
    daemon_address(run.get("url"))  # raises for a wrong address here, not in the first invocation
    if resolved == "off":
        _release(graph)
        return graph
    sync.Run("check", [], client=CLIENT, **{**run, "mode": resolved})  # raises for any other wrong argument
    options = Options(
        inject,
        None if submits is None else frozenset(submits),
        run_id,
        wait_for_healing_ms,
        heal_errors,
        holds,
        {**run, "mode": resolved},
    )
    if isinstance(graph, CompiledStateGraph):
        _watch_graph(graph, options)
    else:
        vars(graph).update(_digd=options, compile=functools.partial(_compile, graph))
    return graph
