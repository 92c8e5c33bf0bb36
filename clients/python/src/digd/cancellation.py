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
    """Raised where an agent's work waits, when digd asks to cancel it. The text says why."""


class Cancellable(Generic[T]):
    """Awaits a coroutine in the task of its caller. After `cancel`, the coroutine raises Cancelled where it waits.

    It can clean up, or catch the exception and continue. Unlike with a cancelled task, its caller gets an
    ordinary exception.
    """

    def __init__(self, work: Coroutine[Any, Any, T], before_cancel: Callable[[], None] | None = None) -> None:
        """`before_cancel` is called once in the thread of the event loop, before the coroutine gets the exception."""
        self._work = work
        self._before_cancel = before_cancel
        self._task: asyncio.Task[Any] | None = None
        self._text: str | None = None
        self._is_thrown = False
        self._is_done = False

    def cancel(self, text: str) -> None:
        """Cancels the work. Any thread may call it; later calls do nothing."""
        task = self._task
        if task is None or self._is_done:
            self._text = self._text or text
        else:
            task.get_loop().call_soon_threadsafe(self._interrupt, text)

    def _interrupt(self, text: str) -> None:
        if self._task is not None and not self._is_done and self._text is None:
            self._text = text
            if self._before_cancel is not None:
                self._before_cancel()
            self._task.cancel()  # wakes the task; `__await__` replaces the CancelledError

    def __await__(self) -> Generator[Any, Any, T]:
        self._task = asyncio.current_task()
        steps = self._work.__await__()
        try:
            if self._text is not None:
                self._work.close()
                raise Cancelled(self._text)
            waiting = next(steps)
            while True:
                try:
                    result = yield waiting
                except GeneratorExit:
                    steps.close()
                    raise
                except BaseException as error:
                    waiting = steps.throw(self._replaced(error))
                else:
                    waiting = steps.send(result)
        except StopIteration as stop:
            value: T = stop.value
            return value
        finally:
            self._is_done = True

    def _replaced(self, error: BaseException) -> BaseException:
        """The exception for the coroutine: Cancelled for our own cancellation, unless the program cancelled too."""
        if self._text is None or self._is_thrown or not isinstance(error, asyncio.CancelledError):
            return error
        self._is_thrown = True
        uncancel = getattr(self._task, "uncancel", None)  # not in Python 3.10
        return error if uncancel is not None and uncancel() > 0 else Cancelled(self._text)
