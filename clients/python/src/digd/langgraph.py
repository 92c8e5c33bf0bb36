"""LangGraph: `digd.langgraph.instrument(builder)` before `builder.compile()`.

Each invocation of the compiled graph is a run, each execution of a node an activation. What a node writes is one event for
all nodes that its edges lead to, one for those of each conditional edge, one for those of its `goto`, and one for each
`Send`. A `goto` without an update hands the node's inputs on: it reroutes them. START leads to root events; where nothing
follows, the event is a submit event. The writes that make nodes run (edges, branches, `goto`, `Send`, joins) are held until the verdict, and then made
as it says; writes to the state are not held. A text that is injected reaches the node with its input.

Where LangGraph is relied upon beyond its documented interface: a compiled graph's `nodes[…].writers` and `bound`, the names
of the channels that start nodes (`branch:to:`, `join:`), and four keys of a task's configuration. The tests run it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphBubbleUp, ParentCommand
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._write import ChannelWrite
from langgraph.types import Command, Send

from . import sync
from ._langgraph_watch import ENVELOPE, WATCH, Inject, Mail, Options, Place, Watch, add_text, current_notes, notes, watch_of
from .activation import error_text
from .messages import Event, Json, Verdict

__all__ = ["add_text", "instrument", "notes"]
SEND, TASKS, TO, JOIN = "__pregel_send", "__pregel_tasks", "branch:to:", "join:"

Write = tuple[str, Any]
Held = tuple[str, Write]  # with the group that it is told in: "goto", "edges", or the number of a conditional edge


class Agent(Runnable[Any, Any]):
    """A node's work, with its activation around it. The activation ends with the node's writes, in Gate."""

    def __init__(self, node: str, bound: Runnable[Any, Any]) -> None:
        self.node, self.bound = node, bound

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        watch = watch_of(config)
        if watch is None or config is None:
            return self.bound.invoke(input, config, **kwargs)
        place = Place.of(config, self.node)
        input, mail = watch.collect(place, input)
        acting = watch.started(place, mail)
        watch.run.start_activation(acting.agent, acting.inputs, id=acting.id)
        token = current_notes.set(tuple(m.text for m in mail if m.text))
        try:
            return self.bound.invoke(input, config, **kwargs)
        except ParentCommand:
            raise  # the gate, here or further up, ends it
        except BaseException as error:
            watch.run.submit(self._ended(watch, place, error)).result()
            raise
        finally:
            current_notes.reset(token)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        watch = watch_of(config)
        if watch is None or config is None:
            return await self.bound.ainvoke(input, config, **kwargs)
        place = Place.of(config, self.node)
        input, mail = watch.collect(place, input)
        acting = watch.started(place, mail)
        await asyncio.wrap_future(watch.run.submit(
            watch.run.aio.start_activation(acting.agent, acting.inputs, id=acting.id)))
        token = current_notes.set(tuple(m.text for m in mail if m.text))
        try:
            return await self.bound.ainvoke(input, config, **kwargs)
        except ParentCommand:
            raise
        except BaseException as error:
            watch.run.submit(self._ended(watch, place, error))  # not awaited: this may be a cancellation
            raise
        finally:
            current_notes.reset(token)

    async def _ended(self, watch: Watch, place: Place, error: BaseException) -> None:
        """An exception fails the activation; an interrupt leaves its inputs waiting for the resumption."""
        with watch.lock:
            acting = watch.acting.pop(place.task, None)
        if acting is None:
            return
        if isinstance(error, GraphBubbleUp):
            await watch.run.aio.end_activation(acting.id, {e: "wait" for e in acting.inputs}, inputs=acting.inputs)
        else:
            await watch.run.aio.end_activation(acting.id, error=error_text(error))


@dataclass
class Leaving:
    """What a task wants to start, and as which events that is told: new ones, or its inputs handed on."""

    events: list[Event] = field(default_factory=list)
    writes: list[list[Write]] = field(default_factory=list)  # that `events[i]` stands for
    handed_on: list[Write] = field(default_factory=list)  # that every rerouted input stands for


def target_of(write: Write) -> str:
    channel, value = write
    if channel == TASKS:
        return str(value.node)
    return channel[len(TO):] if channel.startswith(TO) else channel.rsplit(":", 1)[1]


class Gate(Runnable[Any, Any]):
    """A node's writers in one: the state is written at once, what starts other nodes after the verdict."""

    def __init__(self, node: str, writers: Sequence[Runnable[Any, Any]], graph: CompiledStateGraph[Any, Any, Any, Any],
                 leads_out: bool) -> None:
        self.node, self.writers, self.graph, self.leads_out = node, list(writers), graph, leads_out

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        assert config is not None
        watch = watch_of(config)
        held: list[Held] = []
        try:
            for group, writer in self._grouped():
                writer.invoke(input, config if watch is None else self._holding(config, group, held))
        except ParentCommand:
            self._left(watch, config)
            raise
        if watch is not None:
            self._route(watch, config, *watch.run.submit(self._ask(watch, config, input, held)).result())
        return input

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        assert config is not None
        watch = watch_of(config)
        held: list[Held] = []
        try:
            for group, writer in self._grouped():
                await writer.ainvoke(input, config if watch is None else self._holding(config, group, held))
        except ParentCommand:
            self._left(watch, config)
            raise
        if watch is not None:
            asked = await asyncio.wrap_future(watch.run.submit(self._ask(watch, config, input, held)))
            self._route(watch, config, *asked)
        return input

    def _grouped(self) -> Iterator[tuple[str, Runnable[Any, Any]]]:
        """The writers: of the state and `goto` first, then of edges, and conditional edges by their number."""
        for i, writer in enumerate(self.writers):
            yield "goto" if i == 0 else "edges" if isinstance(writer, ChannelWrite) else str(i), writer

    def _holding(self, config: RunnableConfig, group: str, held: list[Held]) -> RunnableConfig:
        """The configuration for a writer: what starts nodes is held back."""
        send: Callable[[Sequence[Write]], None] = config["configurable"][SEND]

        def starts(write: Write) -> bool:
            return write[0] == TASKS or write[0].startswith((TO, JOIN))

        def sort_out(writes: Sequence[Write]) -> None:
            held.extend((group, w) for w in writes if starts(w))
            send([w for w in writes if not starts(w)])

        return {**config, "configurable": {**config["configurable"], SEND: sort_out}}

    def _left(self, watch: Watch | None, config: RunnableConfig) -> None:
        """A command to the parent graph: this level's part ends, and the parent's gate tells what follows."""
        place = Place.of(config, self.node)
        acting = watch.done(place) if watch is not None else None
        if watch is not None and acting is not None:
            watch.run.submit(watch.run.aio.end_activation(acting.id))

    def _leaving(self, watch: Watch, place: Place, value: Any, held: Sequence[Held], inputs: Sequence[str]) -> Leaving:
        leaving = Leaving()
        groups: dict[str, list[Write]] = {}
        for group, write in held:
            if write[0] != TASKS:
                groups.setdefault(group, []).append(write)
        if inputs and isinstance(value, Command) and not value.update and set(groups) == {"goto"} and len(held) == len(groups["goto"]):
            leaving.handed_on = groups["goto"]
            return leaving

        def add(payload: Json, writes: list[Write], **more: Any) -> None:
            to = tuple(dict.fromkeys(place.agent(target_of(w)) for w in writes))
            leaving.events.append(Event(watch.run.next_id("e"), to, payload=payload, **more))
            leaving.writes.append(writes)

        for writes in groups.values():
            add(value, writes)
        for _, write in held:
            if write[0] == TASKS:
                add(write[1].arg, [write])
        if not held and self.node != START:
            final = self._submits(watch, value) and place.parent_task is None
            add(value, [], submit=final, fyi=not final)
        return leaving

    def _submits(self, watch: Watch, value: Any) -> bool:
        """Whether a node that starts nobody gives the answer; not one that leads nowhere, not even to END."""
        chosen = watch.options.submits
        return (self.leads_out or isinstance(value, Command)) if chosen is None else self.node in chosen

    async def _ask(self, watch: Watch, config: RunnableConfig, value: Any,
                   held: Sequence[Held]) -> tuple[Leaving, tuple[Verdict, ...]]:
        place = Place.of(config, self.node)
        run = watch.run.aio
        acting = watch.done(place)
        leaving = self._leaving(watch, place, value, held, acting.inputs if acting is not None else ())
        if acting is not None:
            to = [place.agent(target_of(w)) for w in leaving.handed_on]
            reactions = {e: tuple(dict.fromkeys(to)) for e in acting.inputs} if to else {}
            return leaving, await run.end_activation(acting.id, reactions, leaving.events, inputs=acting.inputs)
        parent = watch.acting.get(place.parent_task or "")
        verdicts = [await run.emit(e.recipients, e.payload, id=e.id, source=parent.id if parent else None)
                    for e in leaving.events]
        return leaving, tuple(verdicts)

    def _route(self, watch: Watch, config: RunnableConfig, leaving: Leaving, verdicts: tuple[Verdict, ...]) -> None:
        """Makes the writes as the verdicts say."""
        place = Place.of(config, self.node)
        told = {event.id: writes for event, writes in zip(leaving.events, leaving.writes)}
        made: list[Write] = []
        for verdict in verdicts:
            writes = told.get(verdict.event, leaving.handed_on)
            if verdict.submit and not verdict.given_back:
                watch.answered = True
            to = [place.local(agent) for agent in verdict.recipients]
            if verdict.action == "reroute" and not all(node in self.graph.nodes for node in to):
                watch.run.applied(verdict.event, verdict, as_is="no such node in this graph")
                made += writes
                continue
            made += self._writes(watch, place, verdict, writes, to)
            watch.run.applied(verdict.event, verdict)
        config["configurable"][SEND](made)

    def _writes(self, watch: Watch, place: Place, verdict: Verdict, writes: list[Write], to: list[str]) -> list[Write]:
        mail = Mail(verdict.event, verdict.inject)
        if writes and writes[0][0] == TASKS:
            return [(TASKS, Send(node, {ENVELOPE: [mail.event, mail.text], "arg": writes[0][1].arg},
                                 timeout=writes[0][1].timeout)) for node in to]
        for node in to:
            watch.post(place.agent(node), mail)
        kept = [w for w in writes if target_of(w) in to]
        for write in kept:
            if write[0].startswith(JOIN):
                self._joined(watch, place, write[0])
        return kept + [(TO + node, None) for node in to if node not in {target_of(w) for w in kept}]

    def _joined(self, watch: Watch, place: Place, channel: str) -> None:
        """Somebody arrived at a join. If others are missing, what has arrived waits, and that is told."""
        node = channel.rsplit(":", 1)[1]
        wanted = set(getattr(self.graph.channels[channel], "names", ()))
        with watch.lock:
            arrived = watch.joins.setdefault((place.path, channel), set())
            arrived.add(self.node)
            complete = arrived >= wanted
            if complete:
                del watch.joins[place.path, channel]
            waiting = [m.event for m in watch.mail.get(place.agent(node), ())]
        if not complete:
            activation = watch.run.next_id("v")
            watch.run.submit(watch.run.aio.start_activation(place.agent(node), waiting, id=activation))
            watch.run.submit(watch.run.aio.end_activation(activation, {e: "wait" for e in waiting}, inputs=waiting))


class WatchedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph of which each outermost invocation is a run."""

    def _begin(self, config: RunnableConfig | None) -> tuple[Watch, RunnableConfig]:
        options: Options = self.builder._digd  # type: ignore[attr-defined]
        config = config or {}
        given = config.get("configurable", {})
        run_id = options.run_id(config) if options.run_id else f"{self.name}-{uuid.uuid4().hex[:12]}"
        wakes = bool(self.checkpointer)
        run = sync.Run(run_id, [n for n in self.nodes if n != START], client={"name": "digd-langgraph", "version": "0.1.0"},
                       **{"capabilities": {"create": wakes}, **options.run})
        watch = Watch(run, options, wakes)
        run.on_intervention("create")(watch.wake)
        run.open()
        return watch, {**config, "configurable": {**given, WATCH: watch}}

    def get_graph(self, config: RunnableConfig | None = None, *, xray: Union[int, bool] = False) -> Any:
        """The drawing, which reads the writers that the gates stand before."""
        options: Options = self.builder._digd  # type: ignore[attr-defined]
        return options.compile(name=self.name).get_graph(config, xray=xray)

    def _whole(self, config: RunnableConfig) -> bool:
        """Whether the graph ran to its end, and was not interrupted on the way."""
        return not self.checkpointer or not self.get_state(config).next

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        if watch_of(config) is not None:
            yield from super().stream(input, config, **kwargs)
            return
        watch, inner = self._begin(config)
        error: BaseException | None = None
        try:
            call: Union[Command[Any], None] = None
            while True:
                yield from super().stream(input if call is None else call, inner, **kwargs)
                call = watch.next_call() if self._whole(inner) else None
                if call is None:
                    break
        except BaseException as e:
            error = e
            raise
        finally:
            watch.close(error)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        if watch_of(config) is not None:
            async for chunk in super().astream(input, config, **kwargs):
                yield chunk
            return
        watch, inner = self._begin(config)
        error: BaseException | None = None
        try:
            call: Union[Command[Any], None] = None
            while True:
                async for chunk in super().astream(input if call is None else call, inner, **kwargs):
                    yield chunk
                whole = not self.checkpointer or not (await self.aget_state(inner)).next
                call = await asyncio.to_thread(watch.next_call) if whole else None
                if call is None:
                    break
        except BaseException as e:
            error = e
            raise
        finally:
            await asyncio.to_thread(watch.close, error)


def _gated(compiled: CompiledStateGraph[Any, Any, Any, Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    builder = compiled.builder
    for name, node in list(compiled.nodes.items()):
        spec = builder.nodes.get(name)
        leads_out = (name, END) in builder.edges or name in builder.branches or bool(spec is not None and spec.ends)
        gate = Gate(name, node.writers, compiled, leads_out)
        bound = node.bound if name == START else Agent(name, node.bound)
        compiled.nodes[name] = node.copy({"writers": [gate], "bound": bound})
    compiled.__class__ = WatchedGraph
    return compiled


def instrument(builder: StateGraph[Any, Any, Any, Any], *, inject: Inject = add_text, submits: Sequence[str] | None = None,
               run_id: Callable[[RunnableConfig], str] | None = None, **run: Any) -> StateGraph[Any, Any, Any, Any]:
    """Makes every graph that `builder` compiles from now on a watched one; returns the builder.

    inject: adds a text to what a node is given.
    submits: the nodes whose way to END is the answer; None: all. What others end with is told as `fyi`.
    run_id: names the run of an invocation from its configuration.
    run: everything that `digd.Run` takes.
    """
    compile = builder.compile

    def watched(*args: Any, **kwargs: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
        return _gated(compile(*args, **kwargs))

    builder._digd = Options(inject, None if submits is None else frozenset(submits), run_id, run,  # type: ignore[attr-defined]
                            compile)
    builder.compile = watched  # type: ignore[method-assign]
    return builder
