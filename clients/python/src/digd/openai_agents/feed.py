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
from ..messages import Blocked, Event, EventLike, Json, Usage, Verdict, event_id
from ..run import Run

MAX_LOOP_DELAY_S = 1.0  # after the verdict deadline; a loop that is later may be waiting for the calling thread

T = TypeVar("T")


def run_to_first_wait(work: Coroutine[Any, Any, Any]) -> None:
    """Runs a coroutine of a run until it waits for a verdict. Its message has been queued by then."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()


class Feed:
    """Reports to a run, with the methods of `digd.Run` that activations need.

    It waits for a verdict only if the verdict can change something. Otherwise no method suspends, so that the program's
    tasks run in the same order as without digd.

    run: a `digd.Run`, or a `digd.sync.Run`, whose loop has its own thread.
    """

    def __init__(self, run: Run | sync.Run) -> None:
        self.run = run.aio if isinstance(run, sync.Run) else run
        self._is_stuck = False  # the loop of the run did not answer another thread in time

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop of the run; None while the run is not open or if its mode is `off`."""
        return None if self.run.mode == "off" else getattr(self.run._session, "_loop", None)

    @property
    def heals(self) -> bool:
        return self.run.heals

    def next_id(self, kind: str) -> str:
        return self.run.next_id(kind)

    def activation(self, agent: str, inputs: Iterable[EventLike]) -> Activation:
        return Activation(self, self.next_id("v"), agent, inputs)

    async def emit(self, recipients: Iterable[str], payload: Json = None, *, kind: str | None = None,
                   id: str | None = None, fyi: bool = False, submit: bool = False, source: str | None = None,
                   fingerprint: str | None = None, usage: Usage | None = None, hold: bool = True) -> Verdict:
        """As `Run.emit`. Without `hold` the event waits for no verdict and is delivered unchanged."""
        to, event = tuple(recipients), id or self.next_id("e")
        work = self.run.emit(to, payload, kind=kind, id=event, fyi=fyi, submit=submit, source=source,
                             fingerprint=fingerprint, usage=usage)
        unheld = Blocked(event, to, submit).as_is("unheld")
        if hold:
            return await self._report(work, unheld)
        return self._report_unheld(work, unheld, None if fyi else "unheld")

    async def start_activation(self, agent: str, inputs: Iterable[EventLike] = (), *, id: str | None = None) -> str:
        name = id or self.next_id("v")
        return self._report_unheld(self.run.start_activation(agent, tuple(inputs), id=name), name, None)

    async def end_activation(self, activation: str, reactions: Mapping[str, Any] | None = None,
                             outputs: Sequence[Event] = (), *, inputs: Iterable[EventLike] = (),
                             error: str | None = None, usage: Usage | None = None) -> tuple[Verdict, ...]:
        order, reactions = [event_id(e) for e in inputs], dict(reactions or {})
        rerouted = [Blocked(e, tuple(reactions[e])) for e in order if not isinstance(reactions.get(e, ""), str)]
        unheld = tuple(blocked.as_is("unheld") for blocked in (*rerouted, *(output.blocked() for output in outputs)))
        work = self.run.end_activation(activation, reactions, tuple(outputs), inputs=order, error=error,
                                       usage=usage)
        if not rerouted and all(output.fyi for output in outputs):
            return self._report_unheld(work, unheld, None)  # a verdict could change nothing
        return await self._report(work, unheld)

    def applied(self, event: str, verdict: Verdict, *, as_is: str | None = None) -> None:
        """Reports whether a verdict was carried out."""
        self._call_on_loop(functools.partial(self.run.applied, event, verdict, as_is=as_is))

    async def agent_joined(self, agent: str) -> None:
        self._report_unheld(self.run.agent_joined(agent), None, None)

    @property
    def _is_on_loop(self) -> bool:
        try:
            return asyncio.get_running_loop() is self.loop
        except RuntimeError:
            return False

    @property
    def _is_loop_open(self) -> bool:
        return self.loop is not None and not self.loop.is_closed()

    def _call_on_loop(self, work: Any) -> None:
        if self._is_on_loop:
            work()
        elif self._is_loop_open:
            assert self.loop is not None
            self.loop.call_soon_threadsafe(work)

    def _begin_report(self, work: Coroutine[Any, Any, Any], as_is: str | None) -> None:
        reason = "shadow" if self.run.ignores_verdicts else as_is
        with contextlib.nullcontext() if reason is None else self.run.unheld(reason):
            run_to_first_wait(work)

    def _report_unheld(self, work: Coroutine[Any, Any, Any], unheld: T, as_is: str | None) -> T:
        """Reports without waiting. `as_is`: why a verdict is not waited for, if it could change something."""
        if self._is_loop_open:
            self._call_on_loop(functools.partial(self._begin_report, work, as_is))
        else:
            work.close()
        return unheld

    async def _report(self, work: Coroutine[Any, Any, T], unheld: T) -> T:
        if not self._is_loop_open or not self.heals or (self._is_stuck and not self._is_on_loop):
            return self._report_unheld(work, unheld, None)
        if self._is_on_loop:
            return await work
        return await self._from_another_loop(work, unheld)

    async def _from_another_loop(self, work: Coroutine[Any, Any, T], unheld: T) -> T:
        """Waits for a verdict in another thread than the run's, for a bounded time."""
        assert self.loop is not None
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        max_wait_s = self.run.verdict_deadline_s + MAX_LOOP_DELAY_S
        done, _ = await asyncio.wait([asyncio.wrap_future(future)], timeout=max_wait_s)
        while not done and self.run.holds_events:  # a person decides, within the hold's own time
            done, _ = await asyncio.wait([asyncio.wrap_future(future)], timeout=max_wait_s)
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
