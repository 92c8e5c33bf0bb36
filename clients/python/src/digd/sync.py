"""The client for programs without an event loop: `with digd.sync.Run(…) as run:`.

One background thread with an event loop serves all runs and all threads of the process. A call returns when its verdict
has arrived, at the latest at the verdict deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import dataclasses
import logging
import os
import sys
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Callable, TypeVar

from . import run as asynchronous
from .activation import ActivationRecord, error_text
from .conversation import Counters
from .forks import abandon_in_child
from .interventions import Applied, Handler
from .messages import Encoded, Event, EventLike, Intervention, Json, Mode, Outcome, Usage, Verdict, encode
from .threads import call_in_thread

log = logging.getLogger("digd")

T = TypeVar("T")
_lock = threading.RLock()  # reentrant: a finalizer may call this module in the thread that has the lock
_loop: asyncio.AbstractEventLoop | None = None
_closing: set[asyncio.Task[None]] = set()  # runs that are closed on the background loop


def background_loop() -> asyncio.AbstractEventLoop:
    """The event loop of all runs of this module. Its thread starts with the first run and is a daemon thread.

    Raises RuntimeError if the process cannot start a thread.
    """
    global _loop
    loop = _loop
    if loop is not None:
        return loop
    with _lock:
        if _loop is None:
            loop = asyncio.new_event_loop()
            try:
                threading.Thread(target=_serve, args=(loop,), name="digd", daemon=True).start()
            except RuntimeError:
                loop.close()
                raise
            if _loop is None:  # else a finalizer has started another one meanwhile
                _loop = loop  # only now, because a call on a loop without a thread would wait forever
        return _loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Runs the loop. If a hook of the program exits, only its own call ends: other threads wait on the loop."""
    while True:
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


def is_on_background_loop() -> bool:
    """Whether the caller runs on the loop of `background_loop`, which must not wait for itself."""
    try:
        return asyncio.get_running_loop() is _loop
    except RuntimeError:
        return False


def _forget_loop_after_fork() -> None:
    """A forked child has no background thread: `forks` abandons the parent's runs, and new runs start a new thread."""
    global _loop, _lock
    _loop, _lock = None, threading.RLock()
    _closing.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop_after_fork)


class Activation(ActivationRecord):
    """`with run.activation(agent, inputs) as a:`. An exception ends it as failed and propagates."""

    def __init__(self, run: Run, id: str, agent: str, inputs: Iterable[EventLike]) -> None:
        super().__init__(id, agent, inputs, run.next_id)
        self._run = run

    def emit(
        self,
        recipients: Iterable[str] = (),
        payload: Json = None,
        *,
        kind: str | None = None,
        id: str | None = None,
        fyi: bool = False,
        submit: bool = False,
        fingerprint: str | None = None,
    ) -> Verdict:
        """Reports an output while the activation is open; returns the verdict on it."""
        if self.ended:
            raise RuntimeError(f"activation {self.id!r} has ended; emit before that, or use output()")
        return self._run.emit(
            recipients,
            payload,
            kind=kind,
            id=id,
            fyi=fyi,
            submit=submit,
            source=self.id,
            fingerprint=fingerprint,
            usage=self.take_usage(fyi or submit),
        )

    def end(self, error: BaseException | str | None = None) -> tuple[Verdict, ...]:
        """Ends the activation; later calls do nothing. Leaving the `with` calls it."""
        if not self.ended:
            self.ended = True
            text = error_text(error) if isinstance(error, BaseException) else error
            self.verdicts = self._run.end_activation(
                self.id, self.reactions, self.outputs, inputs=self.inputs, error=text, usage=self.take_usage()
            )
        return self.verdicts

    def __enter__(self) -> Activation:
        self._run.start_activation(self.agent, self.inputs, id=self.id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(error)


class Run:
    """`digd.Run` for threads: same arguments and methods, without `await`. Intervention handlers run in a thread."""

    def __init__(self, run_id: str | None = None, agents: Iterable[str] | None = None, **options: Any) -> None:
        self.aio = asynchronous.Run(run_id, agents, **options)

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.aio.id

    def __enter__(self) -> Run:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(error)

    def open(self) -> None:
        """Begins to connect. `with` calls it; programs that cannot use that call `open` and `close`."""
        self._call_on_loop(self.aio.open)

    def begin(self) -> None:
        """As `open`, but does not wait for the background thread: the caller may be on an event loop."""

        async def open_() -> None:
            self.aio.open()

        self.submit(open_())
        if self.aio.mode != "off":
            abandon_in_child(self.aio)  # a fork may come before the background thread opens the run

    def close(self, error: BaseException | None = None) -> None:
        """Reports the end of the run unless another session does, waits for the last ack, and disconnects.

        The collector may end a suspended generator on the background loop. There the call returns at once.
        """
        if is_on_background_loop():
            task = background_loop().create_task(self.aio.close(error))
            _closing.add(task)
            task.add_done_callback(_closing.discard)
            return
        self._run_on_loop(self.aio.close(error))

    def end(self, outcome: Outcome | None = None, metrics: Mapping[str, Json] | None = None) -> None:
        """Reports the end of the run. Later messages are not reported."""
        self._run_on_loop(self.aio.end(outcome, metrics), waits=False)

    def flush(self, within_s: float = 5.0) -> bool:
        """Waits until the daemon has acknowledged every message as durable. Returns whether it has."""
        return self._run_on_loop(self.aio.flush(within_s))

    def adapter_defaults(self, name: str) -> None:
        """As `digd.Run.adapter_defaults`."""
        self._call_on_loop(lambda: self.aio.adapter_defaults(name))

    @property
    def mode(self) -> Mode | None:
        """The requested mode; None leaves it to the daemon."""
        return self.aio.mode

    @property
    def heals(self) -> bool:
        """Whether a verdict may still change what this run does."""
        return self.aio.heals

    @property
    def connected(self) -> bool:
        """Whether the run has a connection on which the daemon has answered the hello."""
        return self.aio.connected

    @property
    def welcome(self) -> Mapping[str, Json] | None:
        """The effective mode, rules and limits, from the daemon's welcome; None before it."""
        return self.aio.welcome

    @property
    def counters(self) -> Counters:
        """Counts of timeouts, of refusals by code, and of messages delivered unchanged."""
        return self.aio.counters

    @property
    def dropped(self) -> int:
        """The number of messages dropped because the window was full."""
        return self.aio.dropped

    def next_id(self, kind: str) -> str:
        """An id that this session has not used: `e` for events, `v` for activations. Any thread may call it."""
        return self.aio.next_id(kind)  # without a lock: another thread could hold it during a fork

    def emit(
        self,
        recipients: Iterable[str],
        payload: Json = None,
        *,
        kind: str | None = None,
        id: str | None = None,
        fyi: bool = False,
        submit: bool = False,
        source: str | None = None,
        fingerprint: str | None = None,
        usage: Usage | None = None,
        ts: int | None = None,
    ) -> Verdict:
        """Reports an event; returns its verdict. `source` is an open activation; without it this is a root event.

        fingerprint: events with the same fingerprint count as repetitions. Without it, the payload decides.
        """
        return self._run_on_loop(
            self.aio.emit(
                recipients,
                self._encoded(payload),
                kind=kind,
                id=id or self.next_id("e"),
                fyi=fyi,
                submit=submit,
                source=source,
                fingerprint=fingerprint,
                usage=usage,
                ts=ts,
            )
        )

    def activation(self, agent: str, inputs: Iterable[EventLike] = (), *, id: str | None = None) -> Activation:
        """An activation of `agent` with these inputs."""
        return Activation(self, id or self.next_id("v"), agent, inputs)

    def start_activation(
        self, agent: str, inputs: Iterable[EventLike] = (), *, id: str | None = None, ts: int | None = None
    ) -> str:
        """As `activation`, for programs that cannot use `with`. Returns the activation's id."""
        work = self.aio.start_activation(agent, inputs, id=id or self.next_id("v"), ts=ts)
        return self._run_on_loop(work, waits=False)

    def end_activation(
        self,
        activation: str,
        reactions: Mapping[str, Any] | None = None,
        outputs: Sequence[Event] = (),
        *,
        inputs: Iterable[EventLike] = (),
        error: str | None = None,
        usage: Usage | None = None,
        ts: int | None = None,
    ) -> tuple[Verdict, ...]:
        """Ends an activation. Returns verdicts on rerouted inputs, then on outputs, each in their order.

        With `error` the activation has failed: its reactions and outputs are not reported, and get no verdicts.
        """
        if error is None:
            outputs = [dataclasses.replace(output, payload=self._encoded(output.payload)) for output in outputs]
        work = self.aio.end_activation(activation, reactions, outputs, inputs=inputs, error=error, usage=usage, ts=ts)
        return self._run_on_loop(work, waits=error is None)

    def usage(self, activation: str, usage: Usage, *, ts: int | None = None) -> None:
        """Reports what an activation used since the last report, also after its end."""
        self._call_on_loop(lambda: self.aio.usage(activation, usage, ts=ts))

    def agent_joined(self, agent: str, *, ts: int | None = None) -> None:
        """Reports that an agent can receive events from now on."""
        self._run_on_loop(self.aio.agent_joined(agent, ts=ts), waits=False)

    def agent_left(self, agent: str, *, ts: int | None = None) -> None:
        """Reports that an agent can receive no events any more."""
        self._run_on_loop(self.aio.agent_left(agent, ts=ts), waits=False)

    def applied(self, event: EventLike, verdict: Verdict, *, as_is: str | None = None) -> None:
        """Reports that a verdict was carried out or, with `as_is`, why it was not."""
        self._call_on_loop(lambda: self.aio.applied(event, verdict, as_is=as_is))

    def submit_applied(self, event: EventLike, verdict: Verdict, *, as_is: str | None = None) -> None:
        """As `applied`, but does not wait for the background thread: the caller may be on an event loop."""

        async def report() -> None:
            self.aio.applied(event, verdict, as_is=as_is)

        self.submit(report())

    def gap(self, dropped: int, *, ts: int | None = None) -> None:
        """Reports that the program itself lost this many observations."""
        self._call_on_loop(lambda: self.aio.gap(dropped, ts=ts))

    def tick(self, ts: int) -> None:
        """Moves the clock of a run with `clock="trace"`."""
        self._call_on_loop(lambda: self.aio.tick(ts))

    def on_intervention(self, action: Any) -> Any:
        """As `digd.Run.on_intervention`. The handler is called in a thread and may block. Register before `with`."""
        if isinstance(action, str):
            register_async = self.aio.on_intervention(action)

            def register(handler: Callable[[Intervention], Applied]) -> Any:
                register_async(_in_thread(handler))
                return handler

            return register
        self.aio.on_intervention(_in_thread(action))
        return action

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Runs a coroutine of `self.aio` on the background loop. For adapters that serve threads and event loops."""
        if sys.is_finalizing() and self.aio.mode != "off":
            self.aio.abandon("disconnected")  # the interpreter has stopped the background thread
        if self.aio.mode != "off":
            try:
                return asyncio.run_coroutine_threadsafe(work, background_loop())
            except RuntimeError as error:
                log.warning("digd: run %s continues unwatched: the background thread cannot start (%s)", self.id, error)
                self.aio.abandon("disconnected")
        return _run_without_loop(work)

    def _encoded(self, payload: Json) -> Json:
        """Encodes the payload in the caller's thread: the program's own methods may need a lock that the caller holds.

        With the hook `redact` it returns the payload unchanged: the hook gets it in the background thread.
        """
        return payload if payload is None or self.aio.redacts or self.aio.mode == "off" else Encoded(encode(payload))

    def _run_on_loop(self, work: Coroutine[Any, Any, T], *, waits: bool = True) -> T:
        """Runs a coroutine on the background loop. On the loop's own thread it may not wait (`waits=False`)."""
        if is_on_background_loop():
            if not waits:
                return _run_without_loop(work).result()
            work.close()
            raise RuntimeError("digd.sync called from the event loop's own thread; use digd.Run there")
        return self.submit(work).result()

    def _call_on_loop(self, work: Callable[[], T]) -> T:
        async def call() -> T:
            return work()

        return self._run_on_loop(call(), waits=False)


def _run_without_loop(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Runs a coroutine that never suspends, in the calling thread. A run in mode `off` has no background thread."""
    future: Future[T] = Future()
    try:
        work.send(None)
    except StopIteration as end:
        future.set_result(end.value)
    except BaseException as error:
        future.set_exception(error)
    else:
        work.close()
        future.set_exception(RuntimeError("a coroutine suspended in a thread that cannot wait for it"))
    return future


def _in_thread(handler: Callable[[Intervention], Applied]) -> Handler:
    """Runs each call in a thread of its own. A blocked handler delays neither the next call nor the exit."""

    async def call(intervention: Intervention) -> Applied:
        context = contextvars.copy_context()
        return await call_in_thread(lambda: context.run(handler, intervention), "digd handler")

    return call
