"""The agents of one digd run, and what the SDK's runner does while they are watched."""

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
from ..messages import Intervention, Verdict, event_id
from ..run import Run
from .conversation import DECLARED_ENDS, Conversation, current
from .feed import Feed
from .notes import Given, HandoffGivenBack, name_of, note_item, payload
from .runner import WatchingRunner, attached
from .steps import Steps
from .turns import sent_back

MAX_ROUNDS = 16  # how often one run is taken up again, whatever the daemon's limits
MAX_STALLED_MS = 7 * 24 * 3600 * 1000
NEVER_HEALED = (InputGuardrailTripwireTriggered, OutputGuardrailTripwireTriggered, UserError)
WORK_ONLY = {"cross_lineage_aggregation": {"kinds": ["work"]}, "repeated_subproblem": {"kinds": ["work"]}}


@dataclass(frozen=True)
class Handed:
    """The result of one run for the agents `to`, which are run with it. `note` is the monitor's text on it."""

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


class Again(NamedTuple):
    """The agent that is run again, and its input."""

    agent: Agent[Any]
    input: Any


class Team:
    """`with attach(run) as team:` — inside, every `Runner.run` is watched, and healed where the run's mode says so.

    run: an open `digd.Run` or `digd.sync.Run`. Its mode is `shadow` unless the user or DIGD_MODE chose another.
    wait_for_healing_ms: how long a run that gave an empty answer, or raised with `heal_errors`, waits for the monitor.
    0: not at all, and an empty answer is an answer.
    heal_errors: lets the monitor take a run up again that raised one of the SDK's errors.
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
        self._named: dict[str, Agent[Any]] = {}
        self._helpers: list[Future[Intervention]] = []  # of runs that wait for the monitor
        self._tokens: list[Token[Team | None]] = []
        if self.is_off:
            return
        self.feed = Feed(run)
        self.steps = Steps.of(self.feed)
        aio = self.feed.run
        main = aio.session_name == "main"  # other sessions take over what the run has
        aio.ask_for(limits={"stalled_ms": MAX_STALLED_MS} if main else None, rules=WORK_ONLY if main else None,
                    healing=None if max_returns_per_agent is None else {"max_returns_per_agent": max_returns_per_agent},
                    max_added_ms=max_added_ms)
        if self._wait_s > 0:
            aio.on_intervention("create")(self._help)

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
        except ValueError:  # left in another context than entered, as generators of web frameworks do
            attached.set(None)
        WatchingRunner.release()

    # ---- for programs that pass results from run to run themselves

    async def task(self, text: str, to: Iterable[str]) -> Handed:
        """A request from outside to several agents. Each is then run with it."""
        names = tuple(to)
        if self.is_off:
            return Handed("", text, names)
        verdict = await self.feed.emit(names, payload(text), kind="task")
        if sent_back(verdict):
            self.feed.applied(verdict.event, verdict, as_is="the task has no author")
        return Handed(verdict.event, text, names, verdict.inject, verdict=verdict)

    async def work(self, agent: Agent[Any], input: Input, to: Iterable[str], **options: Any) -> Handed:
        """Runs an agent whose output is work for other agents, which are run with it."""
        result, handed = await self._run(agent, input, tuple(to), options, final=False)
        return handed or Handed("", str(payload(result.final_output)["text"]), tuple(to), result=result)

    async def final(self, agent: Agent[Any], input: Input, **options: Any) -> RunResult:
        """Runs an agent whose output is the final answer. It is held, and can be given back while the caller waits."""
        result, _ = await self._run(agent, input, (), options, final=True)
        return result

    # ---- for the runner

    def watches(self, agent: Any, hooks: Any) -> bool:
        """Whether a run is watched that begins now. Agents and hooks that the SDK refuses are left to the SDK."""
        if self.is_off or self.steps.is_broken or not isinstance(agent, Agent) or (
                hooks is not None and not isinstance(hooks, RunHooksBase)):
            return False
        if self.steps.is_over:
            self.steps.warn_of_late_work()
        return not self.steps.is_over

    async def run_watched(self, agent: Agent[Any], input: Any, options: dict[str, Any]) -> RunResult:
        result, _ = await self._run(agent, input, (), options, final=False)
        return result

    def run_streamed_watched(self, agent: Agent[Any], input: Any, options: dict[str, Any]) -> Any:
        """A streamed run. Hand-offs and requests are held; the answer is out before it can be judged."""
        conversation = self._conversation(options)
        conversation.begin_with, conversation.is_stream = (agent, input), True
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
        WatchingRunner.acquire()  # tools of the stream may start runs after the `with` was left

        def ended(task: Any) -> None:
            WatchingRunner.release()
            conversation.observe_stream()
            self.steps.ended(conversation)

        assert result.run_loop_task is not None
        result.run_loop_task.add_done_callback(ended)
        return result

    # ---- one run, and its repetitions

    def _remember(self, agent: Agent[Any]) -> None:
        """Keeps an agent for the healing at rest. Without that, agents are freed when they would be without digd."""
        if self._wait_s > 0:
            self._named.setdefault(name_of(agent), agent)

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
        token, again = None, cast("Again | None", None)
        try:
            if handed:
                given = [Given(item.event, item.note, item.verdict if item.note else None) for item in handed]
                await conversation.report(conversation.start_with(agent, given, items))
            else:
                await conversation.report(conversation.start(agent, items))
            token = current.set(conversation)
            for round in range(MAX_ROUNDS + 1):
                conversation.can_go_back = round < MAX_ROUNDS and not isinstance(items, RunState)
                try:
                    result: RunResult = await WatchingRunner.sdk().run(agent, items, hooks=conversation, **options)
                except HandoffGivenBack as error:
                    again = self._without_handoff(conversation, agent, items, options, error)
                except BaseException as error:
                    is_last = round == MAX_ROUNDS or bool(to)
                    again = await self._failed(conversation, agent, items, options, error, is_last)
                    if again is None:
                        raise
                else:
                    if not conversation.reports:
                        return result, None
                    again, handed_on = await self._ended(conversation, result, to, options, final, round == MAX_ROUNDS)
                    if again is None:
                        return result, handed_on
                agent, items = again
        finally:
            self.steps.nested.discard(conversation)
            if token is not None:
                current.reset(token)
        raise AssertionError("the last round returns or raises")

    async def _ended(self, conversation: Conversation, result: RunResult, to: tuple[str, ...], options: dict[str, Any],
                     final: bool, is_last: bool) -> tuple[Again | None, Handed | None]:
        """Reports the result of a run; returns how it goes on, if the monitor gives the result back."""
        self._remember(result.last_agent)
        if result.interruptions:
            conversation.state = "paused"
            if conversation.caller is not None:
                conversation.caller.paused.append(conversation)
            return None, None
        work = self._report_result(conversation, result, to, options, final, is_last)
        again, handed = await conversation.report(work) or (None, None)
        if again is None:
            conversation.state = "answered"
            self.steps.ended(conversation)
        return again, handed

    async def _report_result(self, conversation: Conversation, result: RunResult, to: tuple[str, ...],
                             options: dict[str, Any], final: bool, is_last: bool) -> tuple[Again | None, Handed | None]:
        turns, output = conversation.turns, result.final_output
        await conversation.complete_streams()
        await conversation.settle_handled()
        await turns.begin(name_of(result.last_agent))
        await turns.turn()
        conversation.output = payload(output)
        verdict: Verdict | None
        if to:
            await conversation.fail_requests()
            verdict = await turns.put_out(to, conversation.output, "work")
        elif conversation.caller is not None:
            await conversation.fail_requests()
            verdict = await conversation.answer_caller()
        elif self._wait_s > 0 and output in (None, ""):
            await conversation.settle_requests()
            await turns.end()
            conversation.is_unanswered = True
            return None if is_last else await self._helped(conversation, result.last_agent, options,
                                                           result.to_input_list(), result), None
        elif final or conversation.has_open_requests:
            await conversation.fail_requests()
            verdict = await turns.put_out((), conversation.output, "answer", submit=True)
        else:
            return None, None  # the program's next move decides: steps.py
        if verdict is not None and sent_back(verdict):
            if not is_last:
                self.feed.applied(verdict.event, verdict)
                turns.give(Given(verdict.event))
                return self._again(result.last_agent, options, result.to_input_list(),
                                   verdict.inject or "", result), None
            self.feed.applied(verdict.event, verdict, as_is=f"run again {MAX_ROUNDS} times")
        if not to or verdict is None:
            return None, None
        text = str(payload(output)["text"])
        return None, Handed(verdict.event, text, verdict.recipients, verdict.inject, result,
                            verdict if verdict.action == "inject" else None)

    async def _failed(self, conversation: Conversation, agent: Agent[Any], items: Any, options: dict[str, Any],
                      error: BaseException, is_last: bool) -> Again | None:
        """Notes that a run raised; returns how it goes on, if the user lets the monitor heal errors."""
        if not conversation.reports:
            return None
        conversation.error_text = error_text(error)
        conversation.is_declared_end = isinstance(error, DECLARED_ENDS) and (
            not isinstance(error, MaxTurnsExceeded) or options.get("max_turns", DEFAULT_MAX_TURNS) != DEFAULT_MAX_TURNS)
        again = await conversation.report(self._report_error(conversation, agent, items, options, error, is_last))
        if again is None:
            conversation.state = "failed"
            self.steps.ended(conversation)
        return again

    def _without_handoff(self, conversation: Conversation, agent: Agent[Any], items: Any, options: dict[str, Any],
                         error: HandoffGivenBack) -> Again:
        """The run goes on with the agent that handed off, without the hand-off and with the monitor's text."""
        data = error.run_data
        history = items if data is None else _history(data.input, data.new_items)
        author = agent if data is None else data.last_agent
        return self._again(author, options, ItemHelpers.input_to_new_input_list(history), error.text, None)

    async def _report_error(self, conversation: Conversation, agent: Agent[Any], items: Any, options: dict[str, Any],
                            error: BaseException, is_last: bool) -> Again | None:
        await conversation.settle_requests()
        if conversation.caller is not None:
            await self._fail_request(conversation, conversation.caller, error)
        elif self._heal_errors and isinstance(error, AgentsException) and not isinstance(error, NEVER_HEALED):
            return await self._heal_error(conversation, agent, items, options, error, is_last)
        return None

    async def _fail_request(self, conversation: Conversation, caller: Conversation, error: BaseException) -> None:
        """A limit on turns, a guardrail and a cancellation are ends that the program declared."""
        if isinstance(error, DECLARED_ENDS) or not isinstance(error, Exception) or caller.state != "running":
            await conversation.turns.settle()
        else:
            caller.add_failed(conversation, error)

    async def _heal_error(self, conversation: Conversation, agent: Agent[Any], items: Any, options: dict[str, Any],
                          error: AgentsException, is_last: bool) -> Again | None:
        acting = self._named.get(conversation.turns.agent, agent)
        conversation.is_unanswered, conversation.is_declared_end = True, False
        for event in await conversation.turns.fail(error):
            conversation.turns.give(Given(event))
        if is_last or isinstance(items, RunState):
            return None
        data = getattr(error, "run_data", None)
        history = items if data is None else _history(data.input, data.new_items)
        return await self._helped(conversation, acting, options, ItemHelpers.input_to_new_input_list(history), None)

    # ---- healing at rest

    async def _helped(self, conversation: Conversation, agent: Agent[Any], options: dict[str, Any], history: list[Any],
                      result: RunResult | None) -> Again | None:
        """Waits for an intervention; returns how the run goes on with its text."""
        if self._wait_s <= 0 or not self.feed.heals:
            return None
        helper: Future[Intervention] = Future()
        self._helpers.append(helper)
        try:
            intervention = await asyncio.wait_for(asyncio.wrap_future(helper), self._wait_s)
        except asyncio.TimeoutError:
            return None
        finally:
            if helper in self._helpers:
                self._helpers.remove(helper)
        conversation.turns.give(Given(event_id(intervention)))
        conversation.is_unanswered = False
        known = next((self._named[name] for name in intervention.recipients if name in self._named), agent)
        chosen = agent if name_of(agent) in intervention.recipients else known
        return self._again(chosen, options, history, intervention.inject or "", result)

    def _help(self, intervention: Intervention) -> bool:
        """Gives an intervention to a run that waits for one. Without such a run it cannot be carried out."""
        while self._helpers:
            helper = self._helpers.pop(0)
            if helper.set_running_or_notify_cancel():
                helper.set_result(intervention)
                return True
        return False

    def _again(self, agent: Agent[Any], options: dict[str, Any], history: list[Any], text: str,
               result: RunResult | None) -> Again:
        """The run goes on with the monitor's text: after the history, or alone where the SDK keeps the history."""
        note = [note_item(text)]
        if options.get("previous_response_id") is not None or options.get("auto_previous_response_id"):
            if result is not None:
                options["previous_response_id"] = result.last_response_id
        elif options.get("session") is None and options.get("conversation_id") is None:
            note = [*history, *note]
        return Again(agent, note)


def _history(before: Any, items: Iterable[Any]) -> list[Any]:
    """The history of a run that failed, without calls that have no result: models refuse these."""
    since = [item.to_input_item() for item in items]
    answered = {i.get("call_id") for i in since if str(i.get("type", "")).endswith("_output")}
    return [*ItemHelpers.input_to_new_input_list(before),
            *(i for i in since if i.get("type") != "function_call" or i.get("call_id") in answered)]


def attach(run: Run | sync.Run, *, wait_for_healing_ms: float = 0, heal_errors: bool = False,
           max_returns_per_agent: int | None = None, max_added_ms: float | None = None) -> Team:
    """`with digd.openai_agents.attach(run):` — see Team. Attach before the first `await` within the run."""
    return Team(run, wait_for_healing_ms=wait_for_healing_ms, heal_errors=heal_errors,
                max_returns_per_agent=max_returns_per_agent, max_added_ms=max_added_ms)
