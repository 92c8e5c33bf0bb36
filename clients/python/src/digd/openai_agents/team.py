"""The agents of one digd run, and how their runs are watched and healed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from contextvars import Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Union, cast

from agents import (Agent, AgentsException, InputGuardrailTripwireTriggered, MaxTurnsExceeded,
                    OutputGuardrailTripwireTriggered, RunResult, RunState, TResponseInputItem, UserError)
from agents.items import ItemHelpers
from agents.lifecycle import RunHooksBase
from agents.run_config import DEFAULT_MAX_TURNS

from .. import sync
from ..activation import error_text
from ..cancellation import UNDELIVERED_TEXT, Cancelled
from ..line import InputEvent
from ..messages import Intervention, Verdict, event_id
from ..run import Run
from ..waiting import wait_at_most
from .conversation import DECLARED_ENDS, Conversation, current
from .feed import Feed
from .notes import HandoffGivenBack, name_of, note_item, payload
from .runner import Watcher, WatchingRunner, attached
from .steps import Steps
from .turns import is_rerouted

MAX_ROUNDS = 16  # how often one run is repeated, independent of the daemon's limits
MAX_STALLED_MS = 7 * 24 * 3600 * 1000
NEVER_HEALED = (InputGuardrailTripwireTriggered, OutputGuardrailTripwireTriggered, UserError)
WORK_ONLY = {"cross_lineage_aggregation": {"kinds": ["work"]}, "repeated_subproblem": {"kinds": ["work"]}}


@dataclass(frozen=True)
class Handed:
    """The result of one run, as input for runs of the agents `to`. `note` is the monitor's text on it."""

    event: str
    text: str
    to: tuple[str, ...]
    note: str | None = None
    result: RunResult | None = None
    verdict: Verdict | None = None


Input = Union[str, "list[TResponseInputItem]", RunState[Any], Handed, Sequence[Handed]]


def handed_of(input: Any) -> list[Handed]:
    """The results of other runs in a run's input."""
    several = [input] if isinstance(input, Handed) else input if isinstance(input, (list, tuple)) else []
    return [item for item in several if isinstance(item, Handed)]


class NextRound(NamedTuple):
    """The agent to run again, and its input."""

    agent: Agent[Any]
    input: Any


class Team:
    """`with attach(run) as team:` — inside, every `Runner.run` is watched, and healed if the run's mode allows it.

    run: an open `digd.Run` or `digd.sync.Run`. Its mode is `shadow` unless the user or DIGD_MODE chose another.
    wait_for_healing_ms: how long a run that gave an empty answer, or raised with `heal_errors`, waits for the monitor.
        0: not at all; an empty answer is an answer.
    heal_errors: lets the monitor repeat a run that raised one of the SDK's errors.
    max_returns_per_agent, max_added_ms: bounds on healing, as in `digd.Run`.
    """

    def __init__(self, run: Run | sync.Run, *, wait_for_healing_ms: float = 0, heal_errors: bool = False,
                 max_returns_per_agent: int | None = None, max_added_ms: float | None = None) -> None:
        if wait_for_healing_ms < 0:
            raise ValueError(f"wait_for_healing_ms: expected a number from 0, got {wait_for_healing_ms!r}")
        run.adapter_defaults("openai-agents")
        self.run = run
        self.is_off = run.mode == "off"
        self._wait_s = wait_for_healing_ms / 1000
        self._heal_errors = heal_errors
        self._agents_by_name: dict[str, Agent[Any]] = {}
        self._waiting_runs: list[Future[Intervention]] = []  # one for each run that waits for an intervention
        self._tokens: list[Token[Watcher | None]] = []
        if self.is_off:
            return
        self.feed = Feed(run)
        self.steps = Steps.of(self.feed)
        aio = self.feed.run
        is_main = aio.session_name == "main"  # other sessions use the settings of the main one
        aio.ask_for(limits={"stalled_ms": MAX_STALLED_MS} if is_main else None, rules=WORK_ONLY if is_main else None,
                    healing=None if max_returns_per_agent is None else {"max_returns_per_agent": max_returns_per_agent},
                    capabilities={"hold": True}, max_added_ms=max_added_ms)
        aio.count_added_time_in_enforce()
        aio.on_intervention("cancel")(self.steps.cancel)
        if self._wait_s > 0:
            aio.on_intervention("create")(self._offer_intervention)

    def __enter__(self) -> Team:
        if not self.is_off:
            WatchingRunner.acquire()
            self._tokens.append(attached.set(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.is_off:
            return
        try:
            attached.reset(self._tokens.pop())
        except ValueError:  # the `with` is left in another context, as in generators of web frameworks
            attached.set(None)
        WatchingRunner.release()

    # ---- for programs that pass results between runs themselves

    async def task(self, text: str, to: Iterable[str]) -> Handed:
        """Reports a request from outside to several agents. The program then runs each of them with the result."""
        names = tuple(to)
        if self.is_off:
            return Handed("", text, names)
        verdict = await self.feed.emit(names, payload(text), kind="task")
        if is_rerouted(verdict):
            self.feed.applied(verdict.event, verdict, as_is="the task has no author")
        return Handed(verdict.event, text, names, verdict.inject, verdict=verdict)

    async def work(self, agent: Agent[Any], input: Input, to: Iterable[str], **options: Any) -> Handed:
        """Runs an agent whose output is work for other agents. The program then runs these with the result."""
        result, handed = await self._run(agent, input, tuple(to), options, final=False)
        return handed or Handed("", str(payload(result.final_output)["text"]), tuple(to), result=result)

    async def final(self, agent: Agent[Any], input: Input, **options: Any) -> RunResult:
        """Runs an agent whose output is the final answer. The answer is held, and can be given back."""
        result, _ = await self._run(agent, input, (), options, final=True)
        return result

    # ---- for the runner

    def watches(self, agent: Any, hooks: Any) -> bool:
        """Whether to watch a run that begins now. False for agents and hooks that the SDK refuses."""
        if self.is_off or self.steps.has_fault or not isinstance(agent, Agent) or (
                hooks is not None and not isinstance(hooks, RunHooksBase)):
            return False
        if self.steps.is_over:
            self.steps.warn_of_late_work()
        return not self.steps.is_over

    async def run_watched(self, agent: Agent[Any], input: Any, options: dict[str, Any]) -> RunResult:
        """Runs an agent and reports its turns. What the program does next decides whether its result is the answer."""
        result, _ = await self._run(agent, input, (), options, final=False)
        return result

    def run_streamed_watched(self, agent: Agent[Any], input: Any, options: dict[str, Any]) -> Any:
        """Starts a streamed run. Handoffs and requests are held; the answer is out before its verdict."""
        conversation = self._conversation(options)
        conversation.pending_start, conversation.is_stream = (agent, input), True
        token = current.set(conversation)
        try:
            result = WatchingRunner.sdk().run_streamed(agent, input, hooks=conversation, **options)
        finally:
            current.reset(token)
        conversation.stream = result
        if conversation.caller is not None:
            conversation.caller.add_stream(conversation)
        else:
            self.steps.open.append(conversation)
        WatchingRunner.acquire()  # tools of the stream may start runs after the `with` has ended

        def ended(task: Any) -> None:
            WatchingRunner.release()
            conversation.observe_stream()
            self.steps.ended(conversation)

        assert result.run_loop_task is not None
        result.run_loop_task.add_done_callback(ended)
        return result

    # ---- a run and its repetitions

    def _remember(self, agent: Agent[Any]) -> None:
        """Keeps an agent for healing at rest. Only then: otherwise agents must be freed as early as without digd."""
        if self._wait_s > 0:
            self._agents_by_name.setdefault(name_of(agent), agent)

    def _conversation(self, options: dict[str, Any]) -> Conversation:
        caller = current.get()
        if caller is not None and (caller.steps is not self.steps or caller.state != "running"):
            caller = None
        return Conversation(self.steps, caller, options.pop("hooks", None), options.get("context"))

    async def _run(self, agent: Agent[Any], input: Any, to: tuple[str, ...], options: dict[str, Any], *,
                   final: bool) -> tuple[RunResult, Handed | None]:
        handed = handed_of(input)
        items = "\n\n".join(item.text for item in handed) if handed else input
        if self.is_off or not self.watches(agent, options.get("hooks")):
            return await WatchingRunner.sdk().run(agent, items, **options), None
        conversation = self._conversation(options)
        self._remember(agent)
        token, next_round = None, cast("NextRound | None", None)
        try:
            if handed:
                given = [InputEvent(item.event, item.note, item.verdict if item.note else None) for item in handed]
                await conversation.report(conversation.start_with(agent, given, items))
            else:
                await conversation.report(conversation.start(agent, items))
            token = current.set(conversation)
            for round_number in range(MAX_ROUNDS + 1):
                conversation.can_go_back = round_number < MAX_ROUNDS and not isinstance(items, RunState)
                try:
                    result: RunResult = await conversation.do(
                        WatchingRunner.sdk().run(agent, items, hooks=conversation, **options))
                except HandoffGivenBack as error:
                    next_round = self._round_without_handoff(conversation, agent, items, options, error)
                except BaseException as error:
                    is_last = round_number == MAX_ROUNDS or bool(to)
                    next_round = await self._after_error(conversation, agent, items, options, error, is_last)
                    if next_round is None:
                        raise
                else:
                    if not conversation.reports:
                        return result, None
                    next_round, handed_on = await self._after_result(conversation, result, to, options, final,
                                                                     round_number == MAX_ROUNDS)
                    if next_round is None:
                        return result, handed_on
                agent, items = next_round
        finally:
            self.steps.nested.discard(conversation)
            if token is not None:
                current.reset(token)
        raise AssertionError("the last round returns or raises")

    async def _after_result(self, conversation: Conversation, result: RunResult, to: tuple[str, ...],
                            options: dict[str, Any], final: bool,
                            is_last: bool) -> tuple[NextRound | None, Handed | None]:
        """Reports the result of a run; returns the next round if the monitor gives it back."""
        self._remember(result.last_agent)
        if result.interruptions:
            conversation.state = "paused"
            if conversation.caller is not None:
                conversation.caller.paused.append(conversation)
            return None, None
        work = self._report_result(conversation, result, to, options, final, is_last)
        next_round, handed = await conversation.report(work) or (None, None)
        if next_round is None:
            conversation.state = "answered"
            self.steps.ended(conversation)
        return next_round, handed

    async def _report_result(self, conversation: Conversation, result: RunResult, to: tuple[str, ...],
                             options: dict[str, Any], final: bool,
                             is_last: bool) -> tuple[NextRound | None, Handed | None]:
        turns, output = conversation.turns, result.final_output
        await conversation.complete_streams()
        await conversation.settle_handled()
        await turns.begin(name_of(result.last_agent))
        await turns.advance()
        conversation.output = payload(output)
        verdict: Verdict | None
        if to:
            await conversation.fail_requests()
            verdict = await turns.end_with(to, conversation.output, "work")
        elif conversation.caller is not None:
            await conversation.fail_requests()
            verdict = await conversation.answer_caller()
        elif self._wait_s > 0 and output in (None, ""):
            await conversation.settle_requests()
            await turns.end()
            conversation.is_unanswered = True
            if is_last:
                return None, None
            return await self._wait_for_healing(conversation, result.last_agent, options, result.to_input_list(),
                                                result), None
        elif final or conversation.has_open_requests:
            await conversation.fail_requests()
            verdict = await turns.end_with((), conversation.output, "answer", submit=True)
        else:
            return None, None  # the program's next move decides whether this is the answer (steps.py)
        if verdict is not None and is_rerouted(verdict):
            if not verdict.recipients:
                self.feed.applied(verdict.event, verdict)
                conversation.state = "failed"
                raise Cancelled(verdict.inject or UNDELIVERED_TEXT)
            if not is_last:
                self.feed.applied(verdict.event, verdict)
                turns.add_input(InputEvent(verdict.event))
                return self._next_round(result.last_agent, options, result.to_input_list(),
                                        verdict.inject or "", result), None
            self.feed.applied(verdict.event, verdict, as_is=f"repeated {MAX_ROUNDS} times")
        if not to or verdict is None:
            return None, None
        text = str(payload(output)["text"])
        return None, Handed(verdict.event, text, verdict.recipients, verdict.inject, result,
                            verdict if verdict.action == "inject" else None)

    async def _after_error(self, conversation: Conversation, agent: Agent[Any], items: Any, options: dict[str, Any],
                           error: BaseException, is_last: bool) -> NextRound | None:
        """Notes that a run raised. Returns the next round if the user lets the monitor heal errors."""
        if not conversation.reports:
            return None
        conversation.error_text = error_text(error)
        conversation.is_declared_end = isinstance(error, DECLARED_ENDS) and (
            not isinstance(error, MaxTurnsExceeded) or options.get("max_turns", DEFAULT_MAX_TURNS) != DEFAULT_MAX_TURNS)
        next_round = await conversation.report(self._report_error(conversation, agent, items, options, error, is_last))
        if next_round is None:
            conversation.state = "failed"
            self.steps.ended(conversation)
        return next_round

    def _round_without_handoff(self, conversation: Conversation, agent: Agent[Any], items: Any, options: dict[str, Any],
                               error: HandoffGivenBack) -> NextRound:
        """The next round runs the agent that handed off, without the handoff and with the monitor's text."""
        data = error.run_data
        history = items if data is None else _history(data.input, data.new_items)
        author = agent if data is None else data.last_agent
        return self._next_round(author, options, ItemHelpers.input_to_new_input_list(history), error.text, None)

    async def _report_error(self, conversation: Conversation, agent: Agent[Any], items: Any, options: dict[str, Any],
                            error: BaseException, is_last: bool) -> NextRound | None:
        await conversation.settle_requests()
        if conversation.caller is not None:
            await self._fail_request(conversation, conversation.caller, error)
        elif self._heal_errors and isinstance(error, AgentsException) and not isinstance(error, NEVER_HEALED):
            return await self._heal_error(conversation, agent, items, options, error, is_last)
        return None

    async def _fail_request(self, conversation: Conversation, caller: Conversation, error: BaseException) -> None:
        """Reports a failed request, unless its end was decided: by a turn limit, a guardrail or a cancellation."""
        if isinstance(error, Cancelled) and caller.state == "running":
            requests = conversation.turns.inputs
            await conversation.turns.settle()
            for event in requests[:1]:  # the SDK does not show its model the error of a tool
                caller.turns.add_input(InputEvent(event, str(error)))
        elif isinstance(error, DECLARED_ENDS) or not isinstance(error, Exception) or caller.state != "running":
            await conversation.turns.settle()
        else:
            caller.add_failed(conversation, error)

    async def _heal_error(self, conversation: Conversation, agent: Agent[Any], items: Any, options: dict[str, Any],
                          error: AgentsException, is_last: bool) -> NextRound | None:
        acting = self._agents_by_name.get(conversation.turns.agent, agent)
        conversation.is_unanswered, conversation.is_declared_end = True, False
        await conversation.turns.fail(error)
        if is_last or isinstance(items, RunState):
            return None
        data = getattr(error, "run_data", None)
        history = items if data is None else _history(data.input, data.new_items)
        input_items = ItemHelpers.input_to_new_input_list(history)
        return await self._wait_for_healing(conversation, acting, options, input_items, None)

    # ---- healing at rest

    async def _wait_for_healing(self, conversation: Conversation, agent: Agent[Any], options: dict[str, Any],
                                history: list[Any], result: RunResult | None) -> NextRound | None:
        """Waits for an intervention. Returns the next round with its text, or None after the wait."""
        if self._wait_s <= 0 or not self.feed.heals:
            return None
        waiting_run: Future[Intervention] = Future()
        self._waiting_runs.append(waiting_run)
        try:
            offered = asyncio.wrap_future(waiting_run)
            if not await wait_at_most(offered, self._wait_s):
                return None
            intervention = offered.result()
        finally:
            if waiting_run in self._waiting_runs:
                self._waiting_runs.remove(waiting_run)
        conversation.turns.add_input(InputEvent(event_id(intervention)))
        conversation.is_unanswered = False
        names = [name for name in intervention.recipients if name in self._agents_by_name]
        is_own = name_of(agent) in intervention.recipients or not names
        chosen = agent if is_own else self._agents_by_name[names[0]]
        return self._next_round(chosen, options, history, intervention.inject or "", result)

    def _offer_intervention(self, intervention: Intervention) -> bool:
        """Gives an intervention to a run that waits for one. Returns whether there is such a run."""
        while self._waiting_runs:
            waiting_run = self._waiting_runs.pop(0)
            if waiting_run.set_running_or_notify_cancel():
                waiting_run.set_result(intervention)
                return True
        return False

    def _next_round(self, agent: Agent[Any], options: dict[str, Any], history: list[Any], text: str,
                    result: RunResult | None) -> NextRound:
        """The next round has the monitor's text after the history, or alone if the SDK keeps the history."""
        note = [note_item(text)]
        if options.get("previous_response_id") is not None or options.get("auto_previous_response_id"):
            if result is not None:
                options["previous_response_id"] = result.last_response_id
        elif options.get("session") is None and options.get("conversation_id") is None:
            note = [*history, *note]
        return NextRound(agent, note)


def _history(before: Any, items: Iterable[Any]) -> list[Any]:
    """The history of a run that failed, without calls that have no result: models refuse these."""
    added = [item.to_input_item() for item in items]
    answered = {i.get("call_id") for i in added if str(i.get("type", "")).endswith("_output")}
    return [*ItemHelpers.input_to_new_input_list(before),
            *(i for i in added if i.get("type") != "function_call" or i.get("call_id") in answered)]


def attach(run: Run | sync.Run, *, wait_for_healing_ms: float = 0, heal_errors: bool = False,
           max_returns_per_agent: int | None = None, max_added_ms: float | None = None) -> Team:
    """`with digd.openai_agents.attach(run):` — see Team. Attach before the first `await` within the run."""
    return Team(run, wait_for_healing_ms=wait_for_healing_ms, heal_errors=heal_errors,
                max_returns_per_agent=max_returns_per_agent, max_added_ms=max_added_ms)
