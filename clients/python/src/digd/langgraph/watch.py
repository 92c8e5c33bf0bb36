"""One invocation of an instrumented graph: its run, the events that wait for nodes, and the executions of nodes.

The nodes of a step run at the same time in threads or tasks. They share a Watch, which has a lock. A method that needs
a verdict is a generator of futures, so that threads and event loops drive the same code (`drive`, `drive_async`).
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp, GraphRecursionError, ParentCommand
from langgraph.graph import START
from langgraph.types import Command

from .. import sync
from ..activation import error_text
from ..cancellation import cancelled_text
from ..messages import Event, Intervention, Outcome, Verdict
from . import internals
from .holds import HOLD_NODE, hold_write
from .internals import SENDS, TO, Write
from .mail import NodeExecution, EndedBranch, MailItem, Mailbox, Plan
from .options import Options
from .steps import Steps, Verdicts
from .text import Notes, add_text
from .usage import usage_of

log = logging.getLogger("digd")

MAX_ANSWER_INPUTS = 1000  # an answer names the latest ended branches
CANNOT_READ = "the node's input is not a list of messages, and the node does not call notes()"


class Watch:
    """Translates one invocation into messages of its run, and applies the verdicts to LangGraph's tasks."""

    def __init__(self, run: sync.Run, options: Options, nodes: Any, can_wake: bool) -> None:
        self.run, self.options, self.nodes, self.can_wake = run, options, nodes, can_wake
        self.loop: Any = None
        self.lock = threading.RLock()
        self.is_disabled = False
        self.declares_step_limit = False  # the user chose the recursion limit
        self.is_answered = False
        self._is_empty = False  # START led to END at once: there is nothing to answer
        self._first_event: str | None = None  # the common ancestor of all events in the run
        self._mailbox = Mailbox()
        self._mail_by_task: dict[str, list[MailItem]] = {}  # in this step; a retry of a task has the same inputs
        self._open_executions: dict[str, NodeExecution] = {}  # by task
        self._started_tasks: set[str] = set()  # tasks of this step that have started
        self._finished_tasks: set[str] = set()  # tasks of this step whose verdicts are applied
        self._running_count: tuple[int, int] | None = None  # this step's number of tasks, and of nodes that run
        self._ended_branches: list[EndedBranch] = []
        self._is_answering = False
        self._can_read: dict[str, bool] = {}
        self._is_stopped = False
        self._wake_requests: queue.Queue[Intervention | None] = queue.Queue()

    # ---- connection with LangGraph

    def find_task(self, config: RunnableConfig | None) -> Any:
        """The task of a configuration, if it belongs to this invocation of this graph."""
        loop = None if self.is_disabled or config is None else internals.loop_of(config)
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

    def disable(self, error: BaseException) -> None:
        """Stops watching after an error of the adapter. The graph continues unwatched."""
        with self.lock:
            first, self.is_disabled = not self.is_disabled, True
        if first:
            text = "digd: run %s: the LangGraph adapter failed (%s); the graph continues unwatched"
            log.warning(text, self.run.id, error_text(error), exc_info=error)

    def _submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Sends a message without waiting. Messages leave in the order of the calls."""
        return self.run.submit(work)

    # ---- a node starts

    def begin(self, node: str, task: Any, input: Any) -> tuple[NodeExecution, Any]:
        """Starts a node's activation. Returns the execution, and the node's input with the injected texts."""
        with self.lock:
            self._started_tasks.add(task.id)
            mail = [] if node == START else self._collect(task)
            texts = tuple(m.text for m in mail if m.text) if task.cache_key is None else ()
            execution = NodeExecution(self.run.next_id("v"), node, mail, task, Notes(texts))
            self._open_executions[task.id] = execution
            if node == START:
                return execution, input
            self._submit(self.run.aio.start_activation(node, execution.inputs, id=execution.id))
        if self.run.heals:
            self._can_read[node] = self.options.inject is not add_text or add_text(input, "") is not input
        for item in mail:
            if item.text:
                # Not into a cached node: the cache would serve the changed result to later invocations.
                changed = self.options.inject(input, item.text) if task.cache_key is None else input
                if item.verdict is not None and item.verdict.action == "inject":
                    if changed is input:
                        execution.unread_verdicts.append(item.verdict)
                    else:
                        self.run.submit_applied(item.event, item.verdict)
                input = changed
        if any(m.verdict for m in mail):  # a retry gets the texts again, but reports nothing
            self._mail_by_task[task.id] = [replace(m, verdict=None) for m in mail]
        return execution, input

    def _collect(self, task: Any) -> list[MailItem]:
        """The events that a task takes up. A task that LangGraph started for an unknown reason gets a new event."""
        if task.id in self._mail_by_task:
            return self._mail_by_task[task.id]
        failed = internals.failed_task(self.loop, task)
        if failed is not None:
            mail = self._reroute_to_handler(failed, task.name)
        else:
            mail = self._mailbox.collect(self.loop, task)
        if not mail:
            event = Event(self.run.next_id("e"), (task.name,))
            self._emit_from_start([event])
            mail = [MailItem(event.id, frozenset((task.name,)))]
        self._mail_by_task[task.id] = mail
        return mail

    def _reroute_to_handler(self, failed: Any, handler: str) -> list[MailItem]:
        """Reroutes the inputs of a failed node to the error handler that LangGraph runs for it."""
        mail = self._mail_by_task.get(failed.id, [])
        inputs = [m.event for m in mail]
        activation = self.run.next_id("v")
        self._finished_tasks.add(failed.id)
        self._submit(self.run.aio.start_activation(failed.name, inputs, id=activation))
        self._submit(self.run.aio.end_activation(activation, {e: (handler,) for e in inputs}, inputs=inputs))
        return [MailItem(m.event, m.holders | {handler}) for m in mail]

    def _emit_from_start(self, events: list[Event]) -> Future[Any]:
        """Reports events that no node wrote as outputs of START. All activations of START have one common ancestor."""
        inputs = [self._first_event] if self._first_event is not None else []
        outputs = list(events)
        if self._first_event is None:
            self._first_event = self.run.next_id("e")
            outputs.append(Event(self._first_event, (), fyi=True))
        activation = self.run.next_id("v")
        self._submit(self.run.aio.start_activation(START, inputs, id=activation))
        self._submit(self.run.aio.agent_left(START))
        return self._submit(self.run.aio.end_activation(activation, {}, outputs, inputs=inputs))

    # ---- a node ends

    def finish(self, execution: NodeExecution, value: Any) -> Steps:
        """Reports that a node is done, with the events for the nodes that it starts, and applies the verdicts."""
        with self.lock:
            plan = self._plan(execution, value)
            ends = execution.node != START and not plan.writes and not plan.rerouted_writes
            is_at_rest = ends and self._at_rest(execution.task)
            if is_at_rest:
                self._report_unseen_tasks()
            has_answer = self._ended_branches or self._is_answering or self.is_answered
            answers = is_at_rest and not has_answer and self._may_answer(execution.node)
            if ends:
                plan.outputs.append(self._end_branch(execution, value, answers))
            self._is_answering = self._is_answering or answers
            if execution.node == START:
                self._is_empty = not plan.outputs
                future = self._emit_from_start(plan.outputs)
            else:
                future = self._submit(
                    self.run.aio.end_activation(
                        execution.id,
                        plan.reactions,
                        plan.outputs,
                        inputs=execution.inputs,
                        usage=usage_of(value, execution.task.input),
                    )
                )
            self._open_executions.pop(execution.task.id, None)  # its end is reported, even if the wait is cancelled
        verdicts = (yield future) if self.run.heals else None
        with self.lock:
            if execution.notes.asked:
                self._can_read[execution.node] = True  # it can read later texts too
            self._apply_verdicts(execution, plan, verdicts)
            self._report_unread(execution)
            self._finished_tasks.add(execution.task.id)
            if answers:
                self._is_answering = False
                self.is_answered = not any(w[0] == TO + execution.node for w in execution.task.writes)
        yield from self.answer(execution.task)

    def _plan(self, execution: NodeExecution, value: Any) -> Plan:
        plan = Plan()
        task, mail = execution.task, execution.mail
        leading = list(
            {w[0] if w[0] != SENDS else i: w for i, w in enumerate(task.writes) if internals.starts_nodes(w)}.values()
        )
        gotos = internals.bare_gotos(value) if mail else None
        if gotos is not None and [w[0] for w in leading] == list(dict.fromkeys(TO + g for g in gotos)):
            plan.holders = frozenset().union(*(m.holders for m in mail)) | {execution.node}
            plan.rerouted_writes = [
                w
                for w in leading
                if internals.target_of(w) != execution.node and all(internals.target_of(w) in m.holders for m in mail)
            ]
            to = tuple(internals.target_of(w) for w in plan.rerouted_writes)
            plan.reactions = {e: to for e in execution.inputs} if to else {}
        for write in leading:
            if not any(write is r for r in plan.rerouted_writes):
                payload = write[1].arg if write[0] == SENDS else value
                event = Event(self.run.next_id("e"), (internals.target_of(write),), payload=payload)
                plan.outputs.append(event)
                plan.writes[event.id] = write
        return plan

    def _end_branch(self, execution: NodeExecution, value: Any, answers: bool) -> Event:
        event = Event(self.run.next_id("e"), (), payload=value, submit=answers, fyi=not answers)
        if not answers:
            position = self.loop.step, repr(execution.task.path)
            self._ended_branches.append(EndedBranch(event.id, execution.node, position, value))
        return event

    def _apply_verdicts(self, execution: NodeExecution, plan: Plan, verdicts: Verdicts | None) -> None:
        """Changes LangGraph's writes as the verdicts say, and posts the events to the nodes that they start."""
        dropped: list[Write] = []
        kept: set[str] = set()
        restarts: list[Verdict] = []
        for verdict in plan.unchanged() if verdicts is None else verdicts:
            write = plan.writes.get(verdict.event)
            writes = [write] if write is not None else plan.rerouted_writes if verdict.event in plan.reactions else []
            is_withheld = verdict.action in ("reroute", "hold")
            reason = self._refusal_reason(execution.task, verdict) if is_withheld else None
            if is_withheld and reason is None:
                dropped += writes
                if verdict.action == "reroute":
                    restarts.append(verdict)
                else:
                    execution.task.writes.append(hold_write(self.run.id, execution.node, verdict, writes))
                continue
            if reason is not None:
                self.run.submit_applied(verdict.event, verdict, as_is=reason)
            kept.update(w[0] for w in writes)
            for w in writes:
                self._post(w, verdict, plan.holders)
        if dropped:
            internals.drop_writes(execution.task, dropped, kept)
        for verdict in restarts:
            self._restart_nodes(execution.task, verdict)
            self.run.submit_applied(verdict.event, verdict)

    def _post(self, write: Write, verdict: Verdict, holders: frozenset[str]) -> None:
        node = internals.target_of(write)
        if node in self.nodes:
            text = verdict.inject if verdict.action == "inject" else None
            self._mailbox.post(write, MailItem(verdict.event, holders | {node}, verdict, text))

    def _restart_nodes(self, task: Any, verdict: Verdict) -> None:
        """Starts the recipients of a verdict in the next step, with the verdict's text."""
        for node in verdict.recipients:
            write = TO + node, None
            self._mailbox.post(write, MailItem(verdict.event, frozenset((node,)), verdict, verdict.inject))
            task.writes.append(write)

    def _refusal_reason(self, task: Any, verdict: Verdict) -> str | None:
        """Why a task cannot hold an event, or send it with a text to other nodes; None if it can."""
        if task.cache_key is not None:
            return "the node's writes go to a cache, which healing must not change"
        for node in verdict.recipients if verdict.action == "reroute" else ():
            if node not in self.nodes or node == START:
                return f"this graph has no node {node!r}"
            if not self._can_read.get(node, False):
                return CANNOT_READ
        return None

    def _report_unread(self, execution: NodeExecution) -> None:
        for verdict in execution.unread_verdicts:
            is_read = execution.notes.asked and execution.notes.texts
            self.run.submit_applied(verdict.event, verdict, as_is=None if is_read else CANNOT_READ)

    def fail(self, execution: NodeExecution, error: BaseException) -> None:
        """Reports that a node raised. An interrupt leaves its inputs pending; a command to a parent ends its branch."""
        run = self.run.aio
        with self.lock:
            self._open_executions.pop(execution.task.id, None)
            if execution.node == START:
                return
            if isinstance(error, ParentCommand):
                end = Event(self.run.next_id("e"), (), fyi=True)
                self._submit(run.end_activation(execution.id, {}, [end], inputs=execution.inputs))
            elif isinstance(error, GraphBubbleUp):
                reactions = {e: "wait" for e in execution.inputs}
                self._submit(run.end_activation(execution.id, reactions, inputs=execution.inputs))
            else:
                self._submit(run.end_activation(execution.id, error=error_text(error)))

    def _step_ended(self) -> None:
        """Ends a step. Reports the nodes that LangGraph served from its cache or an earlier invocation as run."""
        if self.is_disabled:
            return
        try:
            with self.lock:
                self._report_unseen_tasks()
                self._mailbox.next_step()
                self._started_tasks.clear()
                self._finished_tasks.clear()
                self._mail_by_task.clear()
        except Exception as error:
            self.disable(error)

    def _report_unseen_tasks(self) -> None:
        for task in internals.node_tasks(self.loop):
            if task.id not in self._started_tasks and task.writes and task.name not in (START, HOLD_NODE):
                self._report_unseen_task(task)
        self._running_count = None

    def _report_unseen_task(self, task: Any) -> None:
        self._started_tasks.add(task.id)
        self._finished_tasks.add(task.id)
        execution = NodeExecution(self.run.next_id("v"), task.name, self._collect(task), task, Notes())
        value = {channel: v for channel, v in task.writes if not internals.starts_nodes((channel, v))}
        plan = self._plan(execution, value)
        if not plan.writes:
            plan.outputs.append(self._end_branch(execution, value, False))
        self._submit(self.run.aio.start_activation(task.name, execution.inputs, id=execution.id))
        self._submit(self.run.aio.end_activation(execution.id, {}, plan.outputs, inputs=execution.inputs))
        self._apply_verdicts(execution, plan, None)

    # ---- a held event

    def hold_asked(self, task: Any) -> None:
        """Notes that the task of HOLD_NODE runs: the graph is not at rest before the decision."""
        with self.lock:
            self._started_tasks.add(task.id)

    def hold_decided(self, task: Any, writes: list[Write], payload: Any, text: str | None) -> None:
        """Reports the writes after a decision as events from START: the run that held them ended at the interrupt."""
        with self.lock:
            for write in writes:
                node = internals.target_of(write)
                event = Event(self.run.next_id("e"), (node,), kind="decision", payload=payload)
                self._emit_from_start([event])
                self._mailbox.post(write, MailItem(event.id, frozenset((node,)), None, text))
            self._finished_tasks.add(task.id)

    # ---- the graph comes to rest

    def _may_answer(self, node: str) -> bool:
        return self.options.submits is None or node in self.options.submits

    def _at_rest(self, pending_task: Any = None) -> bool:
        """Whether all tasks of this step are done and nothing follows them. `pending_task` counts as done."""
        size = len(self.loop.tasks)
        if self._running_count is None or self._running_count[0] != size:  # count once: a step may have thousands
            running = sum(t.id in self._started_tasks or not t.writes for t in internals.node_tasks(self.loop))
            self._running_count = size, running
        if self._running_count[1] > len(self._finished_tasks) + (pending_task is not None):
            return False
        return not internals.starts_more_nodes(self.loop, internals.node_tasks(self.loop))

    def answer(self, task: Any) -> Steps:
        """Submits the answer if the graph is at rest. Its inputs are the ends of all branches.

        task: the last one, which can still start nodes. None: the graph has ended.
        """
        with self.lock:
            if self.is_answered or self._is_answering or (task is not None and not self._at_rest()):
                return
            if task is not None:
                self._report_unseen_tasks()
            branches = [b for b in self._ended_branches if self._may_answer(b.node)]
            if not branches:
                return
            self._is_answering = True
            latest = max(branches, key=lambda b: b.position)
            inputs = [b.event for b in self._ended_branches[-MAX_ANSWER_INPUTS:]]
            activation = self.run.next_id("v")
            self._submit(self.run.aio.start_activation(latest.node, inputs, id=activation))
            event = Event(self.run.next_id("e"), (), payload=latest.payload, submit=True)
            future = self._submit(self.run.aio.end_activation(activation, {}, [event], inputs=inputs))
        verdicts = (yield future) if self.run.heals else ()
        with self.lock:
            self._is_answering = False
            self.is_answered = True
            for verdict in verdicts:
                if verdict.action != "reroute":
                    self.run.submit_applied(verdict.event, verdict)
                    continue
                reason = "the graph has ended" if task is None else self._refusal_reason(task, verdict)
                if reason is None:
                    self.is_answered = False
                    self._ended_branches.clear()
                    self._restart_nodes(task, verdict)
                self.run.submit_applied(verdict.event, verdict, as_is=reason)

    def conclude(self) -> Steps:
        """Submits the answer of a graph that has ended, if its last node did not."""
        if not self.is_disabled and self.loop is not None and self.loop.status == "done":
            try:
                yield from self.answer(None)
            except Exception as error:
                self.disable(error)

    def outcome(self, error: BaseException | None) -> Outcome | None:
        """The outcome of this invocation. Interrupts and commands to a parent graph count as success."""
        if error is not None:
            return internals.outcome_of_error(error)
        at_rest = self.loop is not None and self.loop.status == "done"
        return "success" if self.is_answered or self._is_empty or not at_rest else None

    # ---- cancelling

    def cancel(self, intervention: Intervention) -> None:
        """Ends running nodes: they raise Cancelled with the reason.

        A node that ended before the intervention arrived needs no cancelling.
        """
        with self.lock:
            named = [e for e in self._open_executions.values() if e.id in intervention.activations]
        for execution in named:
            execution.cancel(cancelled_text(execution.node, intervention))

    # ---- waking a graph that has stopped

    def wake(self, intervention: Intervention) -> bool:
        """Takes a system event for a stopped graph. Returns False if the graph runs or no node can read the text."""
        with self.lock:
            if not self._is_stopped:
                return False
            readers = [n for n in intervention.recipients if n in self.nodes and self._can_read.get(n, True)]
            for node in readers:
                self._mailbox.post_now(node, MailItem(intervention.id, frozenset((node,)), text=intervention.inject))
            if readers:
                self._wake_requests.put(intervention)
        return bool(readers)

    def waits_for_healing(self, error: BaseException | None) -> bool:
        """Whether an intervention may still wake the graph, and the user allows waiting for it."""
        if not self.can_wake or self.is_disabled or self.loop is None or not self.run.connected or not self.run.heals:
            return False
        if error is not None:
            self._is_stopped = (
                self.options.heal_errors and isinstance(error, Exception) and not isinstance(error, GraphBubbleUp)
            )
        else:
            self._is_stopped = not self.is_answered and self.loop.status == "done"
        return self._is_stopped

    def next_call(self) -> Command[Any] | None:
        """Waits for the command that wakes the graph; None after `wait_for_healing_ms` or `end`. Blocks."""
        try:
            call = self._wake_requests.get(timeout=self.options.wait_for_healing_ms / 1000)
        except queue.Empty:
            call = None
        finally:
            self._is_stopped = False
        if call is None:
            return None
        with self.lock:
            targets = [n for n in call.recipients if self._mailbox.has_mail(n)]
        return Command(goto=targets)

    # ---- the end

    def end(self, error: BaseException | None) -> Future[None]:
        """Ends the run. Returns a future that is done when digd has received everything."""
        with self.lock:
            outcome = self.outcome(error)
            for execution in list(self._open_executions.values()):
                if execution.node != START:
                    self._submit(self.run.aio.end_activation(execution.id, error="left without an end"))
            self._open_executions.clear()
            is_reported = self.options.heal_errors or not self.declares_step_limit
            is_endless = isinstance(error, GraphRecursionError) and is_reported
            if outcome == "failure" and not is_endless:
                # An exception, or the limit that the user chose, stopped the run. An open activation prevents a report
                # of the remaining work as a deadlock.
                self._submit(self.run.aio.start_activation(START))
            self.is_disabled, self._is_stopped = True, False
            self._wake_requests.put(None)  # ends `next_call`, which a cancelled program leaves in a thread
            self.release_loop()
        return self._submit(self._end_run(outcome))

    async def _end_run(self, outcome: Outcome | None) -> None:
        await self.run.aio.end(outcome)
        await self.run.aio.close()
