"""Ends the work of an agent that digd asks to cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from .messages import Intervention

T = TypeVar("T")

GIVEN_BACK_TEXT = "Your message was not delivered and is back with you. Do this part yourself, or try something else."
UNDELIVERED_TEXT = (
    "Your message was not delivered, and no answer to it will come. Finish with what you have, or say what is missing."
)


def cancelled_text(agent: str, intervention: Intervention) -> str:
    """Why an agent was cancelled, for its caller: the program, or the model of the agent that called it."""
    reasons = " ".join(d.reason for d in intervention.detections) or intervention.inject or ""
    advice = "It gives no answer: go on without it, or say what is missing."
    return " ".join(part for part in (f"The monitor cancelled agent {agent!r}.", reasons, advice) if part)


class Cancelled(RuntimeError):
    """Raised to the caller of an agent's work that ended because digd asked to cancel it. The text says why."""


class Cancellable(Generic[T]):
    """Awaits a coroutine in the task of its caller. `cancel` ends it as `Task.cancel` does, but raises Cancelled here.

    The coroutine gets a CancelledError where it waits, so that task groups and timeouts in it clean up. If it catches
    this exception, it continues. Its caller gets an ordinary exception.
    """

    def __init__(self, work: Coroutine[Any, Any, T], before_cancel: Callable[[], None] | None = None) -> None:
        """`before_cancel` is called once in the thread of the event loop, before the coroutine gets the exception."""
        self._work = work
        self._before_cancel = before_cancel
        self._task: asyncio.Task[Any] | None = None
        self._requested: str | None = None  # the text of the first `cancel`
        self._text: str | None = None  # the same, once the task has been cancelled for it
        self._is_done = False

    @property
    def is_interrupted(self) -> bool:
        """Whether `cancel` reached the coroutine while it ran."""
        return self._text is not None

    def cancel(self, text: str) -> None:
        """Cancels the work. Any thread may call it; later calls do nothing."""
        # This sets `_requested`, then reads `_task`. `__await__` sets `_task`, then reads `_requested`. So one of them
        # always notices the other.
        self._requested = self._requested or text
        task = self._task
        if task is not None and not self._is_done:
            task.get_loop().call_soon_threadsafe(self._interrupt)

    def _interrupt(self) -> None:
        if self._task is not None and not self._is_done and self._text is None:
            self._text = self._requested
            if self._before_cancel is not None:
                self._before_cancel()
            self._task.cancel()  # `__await__` takes it back

    def __await__(self) -> Generator[Any, Any, T]:
        self._task = asyncio.current_task()
        is_taken_back = False
        try:
            if self._requested is not None:
                self._work.close()
                raise Cancelled(self._requested)
            return (yield from self._work.__await__())
        except asyncio.CancelledError:
            if self._text is None:
                raise
            is_taken_back = True
            if self._take_back() > 0:  # the program cancelled the task too
                raise
            raise Cancelled(self._text) from None
        finally:
            self._is_done = True
            if self._text is not None and not is_taken_back:
                self._take_back()

    def _take_back(self) -> int:
        """Takes our cancellation of the task back. Returns how many others the task has; 0 in Python 3.10."""
        uncancel: Callable[[], int] | None = getattr(self._task, "uncancel", None)
        return 0 if uncancel is None else uncancel()
