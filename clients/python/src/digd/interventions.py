"""The handlers of a run's interventions, and the task that calls them."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Union

from .activation import error_text
from .messages import Intervention, Redact, redacted
from .waiting import wait_at_most

log = logging.getLogger("digd")

MAX_HANDLER_S = 30.0
MAX_WAITING_INTERVENTIONS = 1024

Applied = Union[bool, str, None]
Handler = Callable[[Intervention], Union[Applied, Awaitable[Applied]]]
"""Carries out an intervention.

`digd.Run` calls it on the run's event loop, `digd.sync.Run` in a thread of its own; the next handler waits for it. It
returns None or True for success, False if it cannot carry the intervention out (`unsupported`), or a value of the
protocol's `applied`. An exception counts as `failed`, and so does a handler that takes over MAX_HANDLER_S seconds; a
coroutine is then cancelled.
"""

APPLIED_BY_ACTION = {"create": "created", "inject": "injected", "reroute": "rerouted", "cancel": "cancelled"}


class InterventionQueue:
    """Calls the handlers one after the other, in the order of arrival.

    on_outcome: called after each handler with the intervention, the protocol's `applied`, and the reason.
    """

    def __init__(self, on_outcome: Callable[[Intervention, str, str | None], None], redact: Redact | None) -> None:
        self._on_outcome = on_outcome
        self._redact = redact
        self._handlers: dict[str, Handler] = {}
        self._queue: asyncio.Queue[Intervention] | None = None
        self._worker: asyncio.Task[None] | None = None

    def register(self, action: str, handler: Handler) -> None:
        """Sets the handler for one action; `*` is the handler for actions without one."""
        self._handlers[action] = handler

    def handler(self, action: str) -> Handler | None:
        return self._handlers.get(action) or self._handlers.get("*")

    def handles(self, action: str) -> bool:
        """Whether a handler was registered for this very action."""
        return action in self._handlers

    def put(self, intervention: Intervention) -> tuple[str, str] | None:
        """Queues an intervention for its handler. Call it on the event loop.

        Returns the protocol's `applied` and the reason if there is no handler or no room.
        """
        if self.handler(intervention.action) is None:
            return "unsupported", "no handler"
        if self._queue is None:
            self._queue = asyncio.Queue(MAX_WAITING_INTERVENTIONS)
            self._worker = asyncio.get_running_loop().create_task(self._work(self._queue))
        try:
            self._queue.put_nowait(intervention)
        except asyncio.QueueFull:
            return "failed", f"{MAX_WAITING_INTERVENTIONS} others wait"
        return None

    def release_worker(self) -> asyncio.Task[None] | None:
        """Returns the task that calls handlers, and forgets it. The caller cancels it."""
        worker, self._worker = self._worker, None
        return worker

    async def _work(self, queue: asyncio.Queue[Intervention]) -> None:
        while True:
            intervention = await queue.get()
            applied, reason = await self._call_handler(intervention)
            self._on_outcome(intervention, applied, reason)

    async def _call_handler(self, intervention: Intervention) -> tuple[str, str | None]:
        handler = self.handler(intervention.action)
        task: asyncio.Future[Any] | None = None
        try:
            result: Any = handler(intervention) if handler is not None else False
            if inspect.isawaitable(result):
                task = asyncio.ensure_future(result)
                task.add_done_callback(lambda done: done.cancelled() or done.exception())  # marks it as retrieved
                if not await wait_at_most(task, MAX_HANDLER_S):
                    return "failed", f"the handler took over {MAX_HANDLER_S:g} s"
                if task.cancelled():
                    return "failed", "the handler was cancelled"
                result = task.result()
        except asyncio.CancelledError:
            if task is not None:
                raise  # the run ends
            return "failed", "the handler was cancelled"
        except Exception as error:
            log.warning("digd: the handler of intervention %s raised", intervention.id, exc_info=True)
            return "failed", str(redacted(error_text(error)[:2000], self._redact))
        if isinstance(result, str):
            return result, None
        if result is False:
            return "unsupported", "the handler cannot"
        return APPLIED_BY_ACTION.get(intervention.action, "created"), None
