"""One invocation of an instrumented graph: its run, the events on their way to nodes, and who acts.

The nodes of a step run at the same time in threads or tasks; they share a Watch under its lock. A method that needs a
verdict is a generator of futures, so that threads and event loops drive the same code (`drive`, `drive_async`).
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp, GraphInterrupt, GraphRecursionError, ParentCommand
from langgraph.graph import START
from langgraph.types import Command

from .. import sync
from ..activation import error_text
from ..messages import Event, Intervention, Outcome, Verdict
from . import internals
from .internals import SENDS, TO, Write
from .mail import Acting, EndedBranch, Mail, Mailbox, Plan
from .text import Inject, Notes, add_text

log = logging.getLogger("digd")

MAX_ANSWER_INPUTS = 1000  # ended branches that an answer names, the latest ones
CANNOT_READ = "the node's input is no list of messages, and the node does not ask for notes()"

Verdicts = tuple[Verdict, ...]
Steps = Generator["Future[Verdicts]", Verdicts, None]


def drive(steps: Steps) -> None:
    try:
        future = next(steps)
        while True:
            future = steps.send(future.result())
    except StopIteration:
        pass


async def drive_async(steps: Steps) -> None:
    try:
        future = next(steps)
        while True:
            future = steps.send(await asyncio.wrap_future(future))
    except StopIteration:
        pass


@dataclass(frozen=True)
class Options:
    """The arguments of `instrument`."""

    inject: Inject
    submits: frozenset[str] | None
    run_id: Callable[[RunnableConfig], str] | None
    wait_for_healing_ms: float
    heal_errors: bool
    run: dict[str, Any]


class Watch:
    def __init__(self, run: sync.Run, options: Options, nodes: Any, can_wake: bool) -> None:
        self.run, self.options, self.nodes, self.can_wake = run, options, nodes, can_wake
        self.loop: Any = None
        self.lock = threading.RLock()
        self.disabled = False
        self.declares_steps = False  # the user chose the recursion limit
        self.answered = False
        self._idle = False  # START led to END at once: there is nothing to answer
        self._first_event: str | None = None  # everything in the run descends from the activation that wrote it
        self._mailbox = Mailbox()
        self._taken: dict[str, list[Mail]] = {}  # by task of this step: a retry has the same inputs
        self._acting: dict[str, Acting] = {}
        self._seen: set[str] = set()  # tasks of this step that ran
        self._done: set[str] = set()  # those that are done, verdicts included
        self._counted: tuple[int, int] | None = None  # this step's tasks, and the nodes among them that run
        self._ended: list[EndedBranch] = []
        self._answering = False
        self._reads: dict[str, bool] = {}
        self._stopped = False
        self._calls: queue.Queue[Intervention] = queue.Queue()

    # ---- connection with LangGraph

    def find_task(self, config: RunnableConfig | None) -> Any:
        """The task of a configuration, if it belongs to this invocation of this graph."""
        loop = None if self.disabled or config is None else internals.loop_of(config)
        if loop is None or loop.nodes is not self.nodes:
            return None
        with self.lock:
            if self.loop is None:
                self.loop = loop
                internals.hook_after_tick(loop, self._step_ended)
        return internals.task_of(loop, config) if loop is self.loop and config is not None else None

    def release_loop(self) -> None:
        if self.loop is not None:
            internals.unhook(self.loop)
        self.loop = None

    def give_up(self, error: BaseException) -> None:
        """The adapter failed: the graph goes on unwatched."""
        with self.lock:
            first, self.disabled = not self.disabled, True
        if first:
            log.warning(
                "digd: run %s: the LangGraph adapter failed (%s); the graph goes on unwatched",
                self.run.id,
                error_text(error),
                exc_info=error,
            )

    def _tell(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Sends a message without waiting for anything. Messages leave in the order of these calls."""
        return self.run.submit(work)

    # ---- a node starts

    def begin(self, node: str, task: Any, input: Any) -> tuple[Acting, Any]:
        """Starts a node's activation; returns its input with the texts that go with it."""
        with self.lock:
            self._seen.add(task.id)
            mails = [] if node == START else self._collect(task)
            texts = tuple(m.text for m in mails if m.text) if task.cache_key is None else ()
            acting = Acting(self.run.next_id("v"), node, mails, task, Notes(texts))
            self._acting[task.id] = acting
            if node == START:
                return acting, input
            self._tell(self.run.aio.start_activation(node, acting.inputs, id=acting.id))
        if self.run.heals:
            self._reads[node] = self.options.inject is not add_text or add_text(input, "") is not input
        for mail in mails:
            if mail.text:
                # What a text made of a cached node would be served to later invocations.
                changed = self.options.inject(input, mail.text) if task.cache_key is None else input
                if mail.verdict is not None and mail.verdict.action == "inject":
                    if changed is input:
                        acting.unread.append(mail.verdict)
                    else:
                        self.run.applied(mail.event, mail.verdict)
                input = changed
        if any(m.verdict for m in mails):  # a retry has the texts again, and no reports
            self._taken[task.id] = [replace(m, verdict=None) for m in mails]
        return acting, input

    def _collect(self, task: Any) -> list[Mail]:
        """The events that a task takes up. What LangGraph started for reasons unknown here gets an event of its own."""
        if task.id in self._taken:
            return self._taken[task.id]
        failed = internals.failed_task(self.loop, task)
        if failed is not None:
            mails = self._hand_over(failed, task.name)
        else:
            mails = self._mailbox.collect(self.loop, task)
        if not mails:
            event = Event(self.run.next_id("e"), (task.name,))
            self._from_origin([event])
            mails = [Mail(event.id, frozenset((task.name,)))]
        self._taken[task.id] = mails
        return mails

    def _hand_over(self, failed: Any, handler: str) -> list[Mail]:
        """A node failed and LangGraph runs its error handler: the handler takes up the node's inputs."""
        mails = self._taken.get(failed.id, [])
        inputs = [m.event for m in mails]
        activation = self.run.next_id("v")
        self._done.add(failed.id)
        self._tell(self.run.aio.start_activation(failed.name, inputs, id=activation))
        self._tell(self.run.aio.end_activation(activation, {e: (handler,) for e in inputs}, inputs=inputs))
        return [Mail(m.event, m.holders | {handler}) for m in mails]

    def _from_origin(self, events: list[Event]) -> Future[Any]:
        """Events that no node wrote, by an activation of START. All such activations have one common ancestor."""
        inputs = [self._first_event] if self._first_event is not None else []
        outputs = list(events)
        if self._first_event is None:
            self._first_event = self.run.next_id("e")
            outputs.append(Event(self._first_event, (), fyi=True))
        activation = self.run.next_id("v")
        self._tell(self.run.aio.start_activation(START, inputs, id=activation))
        self._tell(self.run.aio.agent_left(START))
        return self._tell(self.run.aio.end_activation(activation, {}, outputs, inputs=inputs))

    # ---- a node ends

    def finish(self, acting: Acting, value: Any) -> Steps:
        """A node is done: announces what it starts, and lets it go as the verdicts say."""
        with self.lock:
            plan = self._plan(acting, value)
            ends = acting.node != START and not plan.writes and not plan.returned
            rests = ends and self._at_rest(acting.task)
            if rests:
                self._absorb_unseen()
            answers = (
                rests
                and not self._ended
                and not self._answering
                and not self.answered
                and self._may_answer(acting.node)
            )
            if ends:
                plan.outputs.append(self._end_branch(acting, value, answers))
            self._answering = self._answering or answers
            if acting.node == START:
                self._idle = not plan.outputs
                future = self._from_origin(plan.outputs)
            else:
                future = self._tell(
                    self.run.aio.end_activation(acting.id, plan.reactions, plan.outputs, inputs=acting.inputs)
                )
        verdicts = (yield future) if self.run.heals else None
        with self.lock:
            if acting.notes.asked:
                self._reads[acting.node] = True  # it can be given texts later, too
            self._carry_out(acting, plan, verdicts)
            self._report_unread(acting)
            self._acting.pop(acting.task.id, None)
            self._done.add(acting.task.id)
            if answers:
                self._answering = False
                self.answered = not any(w[0] == TO + acting.node for w in acting.task.writes)
        yield from self.answer(acting.task)

    def _plan(self, acting: Acting, value: Any) -> Plan:
        plan = Plan()
        task, mails = acting.task, acting.mails
        leading = list(
            {w[0] if w[0] != SENDS else i: w for i, w in enumerate(task.writes) if internals.starts_nodes(w)}.values()
        )
        gotos = internals.bare_gotos(value) if mails else None
        if gotos is not None and [w[0] for w in leading] == list(dict.fromkeys(TO + g for g in gotos)):
            plan.holders = frozenset().union(*(m.holders for m in mails)) | {acting.node}
            plan.returned = [
                w
                for w in leading
                if internals.target_of(w) != acting.node and all(internals.target_of(w) in m.holders for m in mails)
            ]
            to = tuple(internals.target_of(w) for w in plan.returned)
            plan.reactions = {e: to for e in acting.inputs} if to else {}
        for write in leading:
            if not any(write is r for r in plan.returned):
                payload = write[1].arg if write[0] == SENDS else value
                event = Event(self.run.next_id("e"), (internals.target_of(write),), payload=payload)
                plan.outputs.append(event)
                plan.writes[event.id] = write
        return plan

    def _end_branch(self, acting: Acting, value: Any, answers: bool) -> Event:
        event = Event(self.run.next_id("e"), (), payload=value, submit=answers, fyi=not answers)
        if not answers:
            self._ended.append(EndedBranch(event.id, acting.node, (self.loop.step, repr(acting.task.path)), value))
        return event

    def _carry_out(self, acting: Acting, plan: Plan, verdicts: Verdicts | None) -> None:
        """Makes LangGraph's writes agree with the verdicts, and addresses the events to the nodes that they start."""
        dropped: list[Write] = []
        kept: set[str] = set()
        again: list[Verdict] = []
        for verdict in plan.unchanged() if verdicts is None else verdicts:
            write = plan.writes.get(verdict.event)
            writes = [write] if write is not None else plan.returned if verdict.event in plan.reactions else []
            reason = self._why_not(acting.task, verdict.recipients) if verdict.action == "reroute" else None
            if verdict.action == "reroute" and reason is None:
                dropped += writes
                again.append(verdict)
                continue
            if reason is not None:
                self.run.applied(verdict.event, verdict, as_is=reason)
            kept.update(w[0] for w in writes)
            for w in writes:
                self._post(w, verdict, plan.holders)
        if dropped:
            self._drop(acting.task, dropped, kept)
        for verdict in again:
            self._start_again(acting.task, verdict)
            self.run.applied(verdict.event, verdict)

    @staticmethod
    def _drop(task: Any, dropped: list[Write], kept: set[str]) -> None:
        """Takes writes out of a task; those of a channel all together, as one event stands for them."""
        channels = {w[0] for w in dropped if w[0] != SENDS} - kept
        sends = {id(w) for w in dropped if w[0] == SENDS}
        remaining = [w for w in task.writes if w[0] not in channels and id(w) not in sends]
        task.writes.clear()
        task.writes.extend(remaining)

    def _post(self, write: Write, verdict: Verdict, holders: frozenset[str]) -> None:
        node = internals.target_of(write)
        if node in self.nodes:
            text = verdict.inject if verdict.action == "inject" else None
            self._mailbox.post(write, Mail(verdict.event, holders | {node}, verdict, text))

    def _start_again(self, task: Any, verdict: Verdict) -> None:
        """Starts the recipients of a verdict in the next step, with its text."""
        for node in verdict.recipients:
            write = TO + node, None
            self._mailbox.post(write, Mail(verdict.event, frozenset((node,)), verdict, verdict.inject))
            task.writes.append(write)

    def _why_not(self, task: Any, recipients: Iterable[str]) -> str | None:
        """Why a task cannot give an event to these nodes together with a text; None if it can."""
        if task.cache_key is not None:
            return "the node's writes go to a cache, where healing has no place"
        for node in recipients:
            if node not in self.nodes or node == START:
                return f"this graph has no node {node!r}"
            if not self._reads.get(node, False):
                return CANNOT_READ
        return None

    def _report_unread(self, acting: Acting) -> None:
        for verdict in acting.unread:
            if acting.notes.asked and acting.notes.texts:
                self.run.applied(verdict.event, verdict)
            else:
                self.run.applied(verdict.event, verdict, as_is=CANNOT_READ)

    def fail(self, acting: Acting, error: BaseException) -> None:
        """A node raised. An interrupt leaves its inputs waiting; a command to a parent graph ends this graph's part."""
        run = self.run.aio
        with self.lock:
            self._acting.pop(acting.task.id, None)
            if acting.node == START:
                return
            if isinstance(error, ParentCommand):
                self._tell(
                    run.end_activation(
                        acting.id, {}, [Event(self.run.next_id("e"), (), fyi=True)], inputs=acting.inputs
                    )
                )
            elif isinstance(error, GraphBubbleUp):
                self._tell(run.end_activation(acting.id, {e: "wait" for e in acting.inputs}, inputs=acting.inputs))
            else:
                self._tell(run.end_activation(acting.id, error=error_text(error)))

    def _step_ended(self) -> None:
        """Nodes that LangGraph served from its cache, or from an earlier invocation, count as having run."""
        if self.disabled:
            return
        try:
            with self.lock:
                self._absorb_unseen()
                self._mailbox.next_step()
                self._seen.clear()
                self._done.clear()
                self._taken.clear()
        except Exception as error:
            self.give_up(error)

    def _absorb_unseen(self) -> None:
        for task in internals.node_tasks(self.loop):
            if task.id not in self._seen and task.writes and task.name != START:
                self._absorb(task)
        self._counted = None

    def _absorb(self, task: Any) -> None:
        self._seen.add(task.id)
        self._done.add(task.id)
        acting = Acting(self.run.next_id("v"), task.name, self._collect(task), task, Notes())
        value = {channel: v for channel, v in task.writes if not internals.starts_nodes((channel, v))}
        plan = self._plan(acting, value)
        if not plan.writes:
            plan.outputs.append(self._end_branch(acting, value, False))
        self._tell(self.run.aio.start_activation(task.name, acting.inputs, id=acting.id))
        self._tell(self.run.aio.end_activation(acting.id, {}, plan.outputs, inputs=acting.inputs))
        self._carry_out(acting, plan, None)

    # ---- the graph comes to rest

    def _may_answer(self, node: str) -> bool:
        return self.options.submits is None or node in self.options.submits

    def _at_rest(self, but: Any = None) -> bool:
        """Whether all tasks of this step are done, `but` one that is about to be, and nothing follows them."""
        size = len(self.loop.tasks)
        if self._counted is None or self._counted[0] != size:  # once a step: it may have thousands of tasks
            running = sum(t.id in self._seen or not t.writes for t in internals.node_tasks(self.loop))
            self._counted = size, running
        if self._counted[1] > len(self._done) + (but is not None):
            return False
        return not internals.leads_on(self.loop, internals.node_tasks(self.loop))

    def answer(self, task: Any) -> Steps:
        """Submits the answer if the graph is at rest: the work of all branches that ended.

        `task`: the last one, which can still start nodes; None: the graph has ended.
        """
        with self.lock:
            if self.answered or self._answering or (task is not None and not self._at_rest()):
                return
            if task is not None:
                self._absorb_unseen()
            branches = [b for b in self._ended if self._may_answer(b.node)]
            if not branches:
                return
            self._answering = True
            latest = max(branches, key=lambda b: b.place)
            inputs = [b.event for b in self._ended[-MAX_ANSWER_INPUTS:]]
            activation = self.run.next_id("v")
            self._tell(self.run.aio.start_activation(latest.node, inputs, id=activation))
            event = Event(self.run.next_id("e"), (), payload=latest.payload, submit=True)
            future = self._tell(self.run.aio.end_activation(activation, {}, [event], inputs=inputs))
        verdicts = (yield future) if self.run.heals else ()
        with self.lock:
            self._answering = False
            self.answered = True
            for verdict in verdicts:
                if verdict.action != "reroute":
                    self.run.applied(verdict.event, verdict)
                    continue
                reason = "the graph has ended" if task is None else self._why_not(task, verdict.recipients)
                if reason is None:
                    self.answered = False
                    self._ended.clear()
                    self._start_again(task, verdict)
                self.run.applied(verdict.event, verdict, as_is=reason)

    def conclude(self) -> Steps:
        """Submits the answer of a graph that has ended, if no node was left to do so."""
        if not self.disabled and self.loop is not None and self.loop.status == "done":
            try:
                yield from self.answer(None)
            except Exception as error:
                self.give_up(error)

    def outcome(self, error: BaseException | None) -> Outcome | None:
        """How this invocation ended. The author meant it to pause for a person, or to hand over to a parent graph."""
        if error is None:
            at_rest = self.loop is not None and self.loop.status == "done"
            return "success" if self.answered or self._idle or not at_rest else None
        if isinstance(error, (GraphInterrupt, ParentCommand)):
            return "success"
        if isinstance(error, internals.DRAINED) or not isinstance(error, Exception):
            return "aborted"
        return "failure"

    # ---- waking a graph that has stopped

    def wake(self, intervention: Intervention) -> bool:
        """Takes a system event for a graph that has stopped; False if it goes on, or if no node could read it."""
        if not self._stopped:
            return False
        readers = [n for n in intervention.recipients if n in self.nodes and self._reads.get(n, True)]
        with self.lock:
            for node in readers:
                self._mailbox.post_now(node, Mail(intervention.id, frozenset((node,)), text=intervention.inject))
        if readers:
            self._calls.put(intervention)
        return bool(readers)

    def waits_for_healing(self, error: BaseException | None) -> bool:
        """Whether somebody may still wake the graph, and the user is willing to wait for it."""
        if not self.can_wake or self.disabled or self.loop is None or not self.run.connected or not self.run.heals:
            return False
        if error is not None:
            self._stopped = (
                self.options.heal_errors and isinstance(error, Exception) and not isinstance(error, GraphBubbleUp)
            )
        else:
            self._stopped = not self.answered and self.loop.status == "done"
        return self._stopped

    def next_call(self) -> Command[Any] | None:
        """The command that wakes the graph, or None once `wait_for_healing_ms` has passed. Blocks."""
        try:
            call = self._calls.get(timeout=self.options.wait_for_healing_ms / 1000)
        except queue.Empty:
            return None
        finally:
            self._stopped = False
        with self.lock:
            targets = [n for n in call.recipients if self._mailbox.has_mail(n)]
        return Command(goto=targets)

    # ---- the end

    def end(self, error: BaseException | None) -> Future[None]:
        """Ends the run; returns a future that is done when digd has all of it."""
        with self.lock:
            outcome = self.outcome(error)
            for acting in list(self._acting.values()):
                if acting.node != START:
                    self._tell(self.run.aio.end_activation(acting.id, error="left without an end"))
            self._acting.clear()
            is_reported = self.options.heal_errors or not self.declares_steps
            is_endless = isinstance(error, GraphRecursionError) and is_reported
            if outcome == "failure" and not is_endless:
                # The exception, or the limit that the user chose, cut the run off. An activation that is open says so:
                # what was left is no deadlock.
                self._tell(self.run.aio.start_activation(START))
            self.disabled = True
            self.release_loop()
        return self._tell(self._close(outcome))

    async def _close(self, outcome: Outcome | None) -> None:
        await self.run.aio.end(outcome)
        await self.run.aio.close()
