"""Reports to a digd run from any thread or event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from .. import sync
from ..activation import Activation
from ..messages import Blocked, Event, EventLike, Json, Verdict, event_id
from ..run import Run

LATE_S = 1.0  # after the verdict deadline: the loop of the run does not turn, it may be waiting for this very thread

T = TypeVar("T")


def begin(work: Coroutine[Any, Any, Any]) -> None:
    """Runs a coroutine of a run up to where it waits for a verdict. The report has gone out by then."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()


class Feed:
    """A run's reports, with the methods of `digd.Run` that activations need.

    It waits for a verdict only while the verdict can change something. Otherwise no method gives way to another task,
    so that the program's tasks take turns as they would without digd.

    run: a `digd.Run`, or a `digd.sync.Run`, whose loop is in a thread of its own.
    """

    def __init__(self, run: Run | sync.Run) -> None:
        self.run = run.aio if isinstance(run, sync.Run) else run
        self._is_stuck = False  # the loop of the run did not turn in time for another thread

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop of the run; None while the run is not open or if its mode is `off`."""
        return getattr(self.run._session, "_loop", None)

    @property
    def heals(self) -> bool:
        return self.run.heals

    def next_id(self, kind: str) -> str:
        return self.run.next_id(kind)

    def activation(self, agent: str, inputs: Iterable[EventLike]) -> Activation:
        return Activation(self, self.next_id("v"), agent, inputs)

    async def emit(self, recipients: Iterable[str], payload: Json = None, *, kind: str | None = None,
                   id: str | None = None, fyi: bool = False, submit: bool = False, source: str | None = None,
                   hold: bool = True) -> Verdict:
        """As `Run.emit`. Without `hold` the event goes out as is: it waits for no verdict."""
        to, event = tuple(recipients), id or self.next_id("e")
        work = self.run.emit(to, payload, kind=kind, id=event, fyi=fyi, submit=submit, source=source)
        unheld = Blocked(event, to, submit).as_is("unheld")
        if hold:
            return await self._report(work, unheld)
        return self._tell(work, unheld, None if fyi else "unheld")

    async def start_activation(self, agent: str, inputs: Iterable[EventLike] = (), *, id: str | None = None) -> str:
        name = id or self.next_id("v")
        return self._tell(self.run.start_activation(agent, tuple(inputs), id=name), name, None)

    async def end_activation(self, activation: str, reactions: Mapping[str, Any] | None = None,
                             outputs: Sequence[Event] = (), *, inputs: Iterable[EventLike] = (),
                             error: str | None = None) -> tuple[Verdict, ...]:
        order, reactions = [event_id(e) for e in inputs], dict(reactions or {})
        rerouted = [Blocked(e, tuple(reactions[e])) for e in order if not isinstance(reactions.get(e, ""), str)]
        unheld = tuple(blocked.as_is("unheld") for blocked in (*rerouted, *(output.blocked() for output in outputs)))
        work = self.run.end_activation(activation, reactions, tuple(outputs), inputs=order, error=error)
        if not rerouted and all(output.fyi for output in outputs):
            return self._tell(work, unheld, None)  # nothing that a verdict could change
        return await self._report(work, unheld)

    def applied(self, event: str, verdict: Verdict, *, as_is: str | None = None) -> None:
        """Reports what became of a verdict."""
        self._in_loop(functools.partial(self.run.applied, event, verdict, as_is=as_is))

    async def agent_joined(self, agent: str) -> None:
        self._tell(self.run.agent_joined(agent), None, None)

    @property
    def _here(self) -> bool:
        try:
            return asyncio.get_running_loop() is self.loop
        except RuntimeError:
            return False

    @property
    def _alive(self) -> bool:
        return self.loop is not None and not self.loop.is_closed()

    def _in_loop(self, work: Any) -> None:
        if self._here:
            work()
        elif self._alive:
            assert self.loop is not None
            self.loop.call_soon_threadsafe(work)

    def _begin(self, work: Coroutine[Any, Any, Any], as_is: str | None) -> None:
        reason = "shadow" if self.run.is_shadow_late else as_is
        with contextlib.nullcontext() if reason is None else self.run.unheld(reason):
            begin(work)

    def _tell(self, work: Coroutine[Any, Any, Any], unheld: T, as_is: str | None) -> T:
        """Reports without waiting. `as_is`: why a verdict would come too late, if it could change something."""
        if self._alive:
            self._in_loop(functools.partial(self._begin, work, as_is))
        else:
            work.close()
        return unheld

    async def _report(self, work: Coroutine[Any, Any, T], unheld: T) -> T:
        if not self._alive or not self.heals or (self._is_stuck and not self._here):
            return self._tell(work, unheld, None)
        if self._here:
            return await work
        return await self._from_another_loop(work, unheld)

    async def _from_another_loop(self, work: Coroutine[Any, Any, T], unheld: T) -> T:
        """Waits for a verdict from another thread than the run's, for a bounded time."""
        assert self.loop is not None
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        done, _ = await asyncio.wait([asyncio.wrap_future(future)], timeout=self.run.verdict_deadline_s + LATE_S)
        if done:
            return done.pop().result()
        self._is_stuck = True
        future.add_done_callback(self._report_late)
        return unheld

    def _report_late(self, future: concurrent.futures.Future[Any]) -> None:
        if future.cancelled() or future.exception() is not None:
            return
        result = future.result()
        for verdict in result if isinstance(result, tuple) else (result,):
            if isinstance(verdict, Verdict):
                self.applied(verdict.event, verdict, as_is="timeout")
