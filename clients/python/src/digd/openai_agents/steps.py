"""The outermost runs of one digd run. Each is a step, and the program's next move decides the meaning of a step.

The program starts another step, or leaves the digd run. Until then the step's last activation stays open. So a result
is the answer of the digd run only if no step follows it. An exception is a failure only if the program does not catch
it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

from ..line import InputEvent, Mail
from ..messages import Intervention, Json, Outcome
from ..session import log
from .feed import Feed, run_to_first_wait
from .turns import Turns

State = Literal["running", "paused", "answered", "failed"]


class Step(Protocol):
    """The members of a conversation that the steps use. The conversation's docstrings describe them."""

    state: State
    turns: Turns
    output: Json
    agents: set[str]
    error_text: str
    is_unanswered: bool
    is_declared_end: bool

    def observe_stream(self) -> None: ...

    def cancel(self, intervention: Intervention) -> bool: ...

    async def settle_requests(self) -> None: ...

    async def settle_handled(self) -> None: ...

    def take_held_request(self) -> None: ...

    def take_failed_requests(self) -> Sequence[Step]: ...

    def paused_below(self) -> Iterable[Step]: ...


S = TypeVar("S", bound=Step)


class Steps(Generic[S]):
    """The steps of a run in the order in which they ended. Teams of the same run share them."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.mail = Mail()
        self.is_over = False
        self.has_fault = False  # the adapter failed and reports nothing any more
        self.open: list[S] = []  # begun, and not followed by a later step
        self.running: weakref.WeakSet[Step] = weakref.WeakSet()  # all runs that still exist
        self._running_lock = threading.Lock()  # runs begin in any thread; an intervention iterates in the run's thread
        self.nested: set[Step] = set()  # runs that other runs started, until they end
        self._has_warned = False
        self.known_agents: set[str] = set(feed.run.agents or ())
        feed.run.before_end(self._prepare_end)

    @staticmethod
    def of(feed: Feed) -> Steps[Any]:
        steps: Steps[Any] | None = getattr(feed.run, "openai_agents_steps", None)
        if steps is None:
            steps = Steps(feed)
            setattr(feed.run, "openai_agents_steps", steps)  # on the run, so that both are freed together
        return steps

    def add_running(self, conversation: Step) -> None:
        """Adds a run that has begun. Any thread may call it."""
        with self._running_lock:
            self.running.add(conversation)

    async def announce(self, agent: str) -> None:
        """Adds an agent that the SDK is about to run to a closed roster."""
        if self.feed.run.agents is not None and agent not in self.known_agents:
            self.known_agents.add(agent)
            await self.feed.agent_joined(agent)

    async def add_step(self, conversation: S, agent: str) -> None:
        """Adds a step. The results of the earlier steps become notices to its agent."""
        for step in self.open:
            step.observe_stream()
        earlier = [step for step in self.open if step.state in ("answered", "failed")]
        self.open = [step for step in self.open if step not in (*earlier, conversation)] + [conversation]
        for step in earlier:
            await step.settle_requests()
            await step.turns.take_rest()
            if step.turns.activation is None:
                continue
            if step.state == "failed":
                await step.turns.end()
                continue
            verdict = await step.turns.end_with([agent], step.output, "answer", fyi=True)
            conversation.turns.add_input(InputEvent(verdict.event, fyi=True))

    def cancel(self, intervention: Intervention) -> bool:
        """Ends the runs with the activations that the intervention names. One that ended before needs no cancelling."""
        with self._running_lock:
            running = list(self.running)
        return all([conversation.cancel(intervention) for conversation in running])

    def ended(self, conversation: S) -> None:
        """Moves a step to the end of the order. No coroutine: a callback at a stream's end calls it."""
        if conversation in self.open:
            self.open.remove(conversation)
            self.open.append(conversation)

    def find_paused(self, agents: set[str]) -> S | None:
        """Returns the paused step that one of these agents resumes."""
        for step in self.open:
            step.observe_stream()
        paused = [step for step in self.open if step.state == "paused"]
        named = [step for step in paused if agents & step.agents]
        candidates = named or paused
        return candidates[-1] if candidates else None

    # ---- the end of the digd run

    def _prepare_end(self, outcome: Outcome | None) -> Outcome | None:
        """Reports what is still open; returns the outcome. An error of the adapter must not reach the program."""
        self.is_over = True
        if self.has_fault:
            return outcome
        try:
            with self.feed.run.unheld("answered"):
                return self._report_end(outcome)
        except Exception:
            self.log_fault()
            return outcome

    def _report_end(self, outcome: Outcome | None) -> Outcome | None:
        steps, self.open = self.open, []
        for step in steps:
            step.observe_stream()
            run_to_first_wait(step.settle_handled())
        self.nested.update(paused for step in steps for paused in step.paused_below())
        for conversation in tuple(self.nested):  # tools in other threads may add runs
            conversation.take_held_request()
            run_to_first_wait(conversation.turns.settle("discard"))  # no agent of this run waits for the answer
        ended = [step for step in steps if step.state in ("answered", "failed")]
        if outcome in ("failure", "aborted") and (not ended or ended[-1].state == "failed"):
            self._report_unanswered(steps)
            return "aborted" if ended and ended[-1].is_declared_end else outcome
        known = self._report_answer(steps)  # the agents answered, even if the program failed after that
        return outcome or known

    def log_fault(self) -> None:
        """Logs the exception that is being handled, once. Nothing is reported after that."""
        if not self.has_fault:
            self.has_fault = True
            log.warning("digd: the adapter for the OpenAI Agents SDK failed; run %s continues unwatched. Please report "
                        "this error", self.feed.run.id, exc_info=True)

    def warn_of_late_work(self) -> None:
        """Logs once that an agent acts after the end of the digd run."""
        if not self._has_warned:
            self._has_warned = True
            log.warning("digd: run %s has ended, but agent runs that began within it continue; they are not watched. "
                        "Consume streams and await runs inside the `async with` of the digd run", self.feed.run.id)

    def _report_unanswered(self, steps: list[S]) -> None:
        for step in steps:
            for request in step.take_failed_requests():
                run_to_first_wait(request.turns.settle())
            if step.state == "failed" and not step.is_declared_end:
                run_to_first_wait(step.turns.fail(step.error_text))
            else:
                run_to_first_wait(step.turns.settle("wait" if step.state == "paused" else "consume"))

    def _report_answer(self, steps: list[S]) -> Outcome | None:
        answered = [step for step in steps if step.state == "answered" and step.turns.activation is not None]
        last = answered[-1] if answered else None
        for step in steps:
            for request in step.take_failed_requests():
                run_to_first_wait(request.turns.fail(request.error_text) if step is last else request.turns.settle())
            if step is not last:
                is_open = step.state in ("paused", "running")
                run_to_first_wait(step.turns.settle(("wait" if last is None else "discard") if is_open else "consume"))
        if last is not None:
            run_to_first_wait(last.turns.take_rest())
            run_to_first_wait(last.turns.end_with((), last.output, "answer", submit=True))
        elif any(step.state == "running" for step in steps):
            return "aborted"
        return "success" if steps and not any(step.is_unanswered for step in steps) else None
