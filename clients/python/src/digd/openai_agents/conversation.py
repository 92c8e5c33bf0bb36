"""One `Runner.run` of the SDK as events and activations."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Coroutine, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

from agents import (Agent, Handoff, InputGuardrailTripwireTriggered, MaxTurnsExceeded, ModelResponse,
                    OutputGuardrailTripwireTriggered, RunContextWrapper, RunHooks, RunState, Tool, TResponseInputItem)
from agents.tool import default_tool_error_function
from agents.tool_context import ToolContext

from ..cancellation import GIVEN_BACK_TEXT, UNDELIVERED_TEXT, Cancellable, Cancelled, cancelled_text
from ..line import GivenBack, InputEvent, quoted
from ..messages import Intervention, Json, Verdict
from ..usage import model_call
from .notes import HandoffGivenBack, name_of, note_item, payload, text_of
from .steps import State, Steps
from .turns import Turns, input_from_verdict, has_no_arguments, is_rerouted

HANDOFF_PREFIX = "transfer_to_"  # of the SDK's default names for handoff tools
DECLARED_ENDS = (InputGuardrailTripwireTriggered, OutputGuardrailTripwireTriggered, MaxTurnsExceeded)

current: ContextVar[Conversation | None] = ContextVar("digd_openai_agents_conversation", default=None)
"""The conversation of the running code. Tools and the runs that they start inherit it."""

T = TypeVar("T")


def handoff_tool_name(agent: str) -> str:
    """Returns what `Handoff.default_tool_name` does. That also logs a warning if a name is not an identifier."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", f"{HANDOFF_PREFIX}{agent}").lower()


def cancel_stream(stream: Any) -> None:
    """Calls the SDK's `cancel`, which is not thread-safe, on the loop of the stream. Any thread may call this."""
    task = getattr(stream, "run_loop_task", None)
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if task is None or task.get_loop() is running:
        stream.cancel()
    else:
        task.get_loop().call_soon_threadsafe(stream.cancel)


class Conversation(RunHooks[Any]):
    """Receives the SDK's hooks for a run, and reports them as events. It calls the program's own hooks first.

    caller: the conversation whose tool, guardrail or hook started this run. None: the program started it.
    inner: the hooks that the program passed to the run.
    """

    def __init__(self, steps: Steps[Conversation], caller: Conversation | None, inner: RunHooks[Any] | None,
                 context: Any = None) -> None:
        self.steps = steps
        self.caller = caller
        self.turns = Turns(steps.feed, steps.mail)
        self.state: State = "running"
        self.output: Json = None  # the payload of the final output
        self.error_text = "failed"
        self.is_unanswered = False
        self.is_declared_end = False  # ended by a guardrail, or by a turn limit that the program set
        self.agents: set[str] = set()
        self.paused: list[Conversation] = []  # runs that this run's tools started and that wait for an approval
        self.is_stream = False
        self.stream: Any = None  # the SDK's result of a streamed run, until it has ended
        self._tool_error: str | None = None  # the SDK's text for the model if the tool does not handle the error
        self.can_go_back = False  # the run can be repeated: not streamed, not resumed, and below MAX_ROUNDS
        self.pending_start: tuple[Agent[Any], Any] | None = None  # agent and input of a stream whose loop has not begun
        self._failed_runs: list[Conversation] = []  # failed runs that this run started, until their tool returns
        self._failed_requests: list[Conversation] = []  # failed runs whose tool failed too, until the next move
        self._streams: list[Conversation] = []
        self._tool_call_id: str | None = context.tool_call_id if isinstance(context, ToolContext) else None
        self._inner = inner
        self.work: Cancellable[Any] | None = None
        steps.add_running(self)
        self._request_text = ""
        self._held_request: str | None = None  # the event of the request while its verdict is awaited
        self._has_worked = False  # the open activation did more than hand off
        self._task_holders: set[str] = set()  # agents that had the task since an agent last worked on it
        self._handoff_arguments = ""

    # ---- start

    async def start(self, agent: Agent[Any], input: Any) -> None:
        """Reports the request of the run. Raises GivenBack if the monitor gives it back to the caller."""
        if isinstance(input, RunState):
            if self._resume(agent, input):
                return
            input = getattr(input, "_original_input", "")
        self._request_text = text_of(input)
        await self._announce_first_agent(name_of(agent))
        if self.caller is None:
            await self.steps.add_step(self, name_of(agent))
            verdict = await self.steps.feed.emit([name_of(agent)], payload(self._request_text), kind="task",
                                                 hold=not self.is_stream)  # a stream's agent has begun already
        else:
            self.steps.nested.add(self)
            await self.caller._ensure_activation(self.caller.turns.agent)
            self._held_request = self.steps.feed.next_id("e")
            verdict = await self.caller.turns.emit([name_of(agent)], payload(self._request_text), "request",
                                                   id=self._held_request)
            self._held_request = None
        self._take_request(verdict)

    def take_held_request(self) -> None:
        """Call at the end of the digd run: counts the request as delivered, although its verdict has not arrived."""
        if self._held_request is not None:
            self.turns.add_input(InputEvent(self._held_request))
            self._held_request = None

    async def start_with(self, agent: Agent[Any], given: list[InputEvent], text: str) -> None:
        """As `start`, for a run whose input is the output of other runs."""
        self._request_text = text
        await self._announce_first_agent(name_of(agent))
        if self.caller is None:
            await self.steps.add_step(self, name_of(agent))
        for item in given:
            self.turns.add_input(item)

    async def _announce_first_agent(self, agent: str) -> None:
        self.turns.agent = agent
        self.agents.add(agent)
        self._task_holders = {agent}
        await self.steps.announce(agent)

    def _take_request(self, verdict: Verdict) -> None:
        if not is_rerouted(verdict):
            self.turns.add_input(input_from_verdict(verdict))
            return
        caller = self.caller
        if not verdict.recipients:
            self.steps.feed.applied(verdict.event, verdict)
            self.state = "failed"
            text = verdict.inject or UNDELIVERED_TEXT
            if caller is None:
                raise Cancelled(text)
            caller.turns.add_input(InputEvent(verdict.event, text))
            raise GivenBack(verdict.event, text)
        if caller is not None and caller.turns.agent in verdict.recipients:
            caller.turns.add_input(input_from_verdict(verdict))
            self.state = "failed"
            raise GivenBack(verdict.event, verdict.inject or GIVEN_BACK_TEXT)
        self.steps.feed.applied(verdict.event, verdict, as_is="the run has begun with its agent")
        self.turns.add_input(InputEvent(verdict.event))

    def _resume(self, agent: Agent[Any], state: RunState[Any]) -> bool:
        acting = getattr(state, "_current_agent", None)
        names = {name_of(agent)} | ({name_of(acting)} if acting is not None else set())
        if self.caller is None:
            paused = self.steps.find_paused(names)
            if paused is not None:
                self.steps.open.remove(paused)
                self.steps.open.append(self)
        else:
            paused = next((run for run in self.caller.paused if names & run.agents), None)
            if paused is not None:
                self.caller.paused.remove(paused)
                self.steps.nested.add(self)
        if paused is None:
            return False
        self.turns, self.agents, self.paused = paused.turns, paused.agents, paused.paused
        self._failed_runs, self._failed_requests = paused._failed_runs, paused._failed_requests
        self._streams, self._request_text = paused._streams, paused._request_text
        self._has_worked, self._task_holders = paused._has_worked, paused._task_holders
        return True

    async def _ensure_activation(self, agent: str) -> None:
        if self.pending_start is not None:
            (first, input), self.pending_start = self.pending_start, None
            await self.start(first, input)
            agent = agent or name_of(first)
        if self.turns.activation is None:
            self._has_worked = False
            self.agents.add(agent)
            await self.turns.begin(agent)

    # ---- failed requests to other agents

    def add_failed(self, conversation: Conversation, error: Exception) -> None:
        """Adds a failed run that this run started. It counts as handled unless the SDK reports its tool as failed."""
        conversation._tool_error = default_tool_error_function(RunContextWrapper(None), error)
        self._failed_runs.append(conversation)

    def add_stream(self, stream: Conversation) -> None:
        self._streams.append(stream)

    def take_failed_requests(self) -> list[Conversation]:
        """Removes and returns the failed requests to which this run has not reacted."""
        requests, self._failed_requests = self._failed_requests, []
        return requests

    async def settle_requests(self) -> None:
        """Consumes the failed requests: the agent has continued with a retry, another request or its own handling."""
        await self.settle_handled()
        for request in self.take_failed_requests():
            await request.turns.settle()

    async def settle_handled(self) -> None:
        """Consumes the failed runs that the SDK did not report as a tool's failure: the program handled them."""
        failed, self._failed_runs = self._failed_runs, []
        for conversation in failed:
            await conversation.turns.settle()

    async def fail_requests(self) -> None:
        """Ends the failed requests as failed: the agent answers without them. They become mail of their recipients."""
        for request in self.take_failed_requests():
            text = f"An earlier request to you is still unanswered: {quoted(request._request_text)}"
            await request.turns.fail(request.error_text)
            request.turns.mail_unused_inputs(request.turns.agent, text)

    def paused_below(self) -> Iterator[Conversation]:
        """The runs below this one that wait for an approval, at any depth."""
        for conversation in self.paused:
            yield conversation
            yield from conversation.paused_below()

    @property
    def has_open_requests(self) -> bool:
        return bool(self._failed_requests)

    async def _after_tool(self, tool_call_id: str | None, result: object) -> None:
        """Sorts the failed runs of a tool. They are failed requests only if the tool returned the SDK's error text."""
        await self.complete_streams()
        for request in list(self._failed_runs):
            if request._tool_call_id not in (None, tool_call_id):
                continue
            self._failed_runs.remove(request)
            if isinstance(result, str) and result == request._tool_error:
                self._failed_requests.append(request)
            else:
                await request.turns.settle()

    # ---- cancelling

    async def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits a run of the SDK. An intervention can end it if the run's mode allows it."""
        if not self.steps.feed.heals:
            return await work
        self.work = Cancellable(work)
        try:
            result: T = await self.work
            return result
        finally:
            self.work = None

    def cancel(self, intervention: Intervention) -> bool:
        """Ends the run if the intervention names its open activation. Returns False if it cannot end that run.

        A run raises Cancelled with the reason. A stream ends by the SDK's own `cancel`, without a text.
        """
        if self.turns.activation is None or self.turns.activation.id not in intervention.activations:
            return True
        if self.stream is not None:
            cancel_stream(self.stream)
        elif self.work is not None:
            self.work.cancel(cancelled_text(self.turns.agent, intervention))
        else:
            return False
        return True

    # ---- streamed runs

    def observe_stream(self) -> None:
        """Updates the state of a streamed run from its result. No coroutine: a callback calls it."""
        stream = self.stream
        if stream is None or self.state != "running" or stream.run_loop_task is None or not stream.run_loop_task.done():
            return
        has_output = stream.final_output is not None
        self.output = payload(stream.final_output) if has_output else None
        self.state = "paused" if stream.interruptions else "answered" if has_output else "failed"
        self.stream = None

    async def complete_streams(self) -> None:
        """Reports the answers of ended streams that this run's tools started."""
        for stream in list(self._streams):
            stream.observe_stream()
            if stream.state == "running":
                continue
            self._streams.remove(stream)
            self.steps.nested.discard(stream)
            if stream.state == "paused":
                self.paused.append(stream)
            elif stream.turns.activation is not None:
                await stream.settle_requests()
                if stream.state == "failed":
                    await stream.turns.settle()
                else:
                    await stream.answer_caller()

    async def answer_caller(self) -> Verdict | None:
        """Ends the run with its answer to the caller. Returns the verdict if it sends the answer to other agents."""
        caller = self.caller
        if caller is None or caller.state != "running":
            await self.turns.settle()  # no caller waits for the answer
            return None
        verdict = await self.turns.end_with([caller.turns.agent], self.output, "answer")
        if is_rerouted(verdict) and not self.is_stream:
            return verdict
        if is_rerouted(verdict):
            self.steps.feed.applied(verdict.event, verdict, as_is="streamed")
            caller.turns.add_input(InputEvent(verdict.event))
        else:
            caller.turns.add_input(input_from_verdict(verdict))
        return None

    # ---- during the run

    async def _before_model(self, agent: str, items: Any) -> None:
        await self._ensure_activation(agent)
        await self.complete_streams()
        await self.turns.advance()
        if isinstance(items, list):  # the SDK passes this list to the model after the hook
            items.extend(note_item(text) for text in self.turns.read_notes())

    async def _after_model(self, agent: Agent[Any], response: ModelResponse) -> None:
        handoffs = {h.tool_name if isinstance(h, Handoff) else handoff_tool_name(h.name) for h in agent.handoffs}
        calls = [item for item in response.output if item.type == "function_call"]
        worked = sum(call.name not in handoffs for call in calls)
        model = agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", None)
        self.turns.add_usage(model_call(response.usage, worked, model))
        if calls:
            await self.settle_requests()
        first = next((call for call in calls if call.name in handoffs), None)
        self._handoff_arguments = first.arguments if first is not None else ""
        spoke = any(item.type not in ("function_call", "reasoning") for item in response.output)
        self._has_worked = self._has_worked or spoke or any(call.name not in handoffs for call in calls)
        tools = {getattr(tool, "name", None) for tool in agent.tools}
        for call in calls:
            if call.name.startswith(HANDOFF_PREFIX) and call.name not in handoffs | tools:
                await self._report_unknown_handoff(call.name[len(HANDOFF_PREFIX):], call.arguments)

    async def _report_unknown_handoff(self, name: str, arguments: str) -> None:
        """Reports a handoff to an agent that the model invented. Only in closed rosters: open ones allow any name."""
        known = {handoff_tool_name(agent) for agent in self.steps.known_agents}
        if self.steps.feed.run.agents is None or HANDOFF_PREFIX + name in known or self.turns.activation is None:
            return
        text = self._request_text if has_no_arguments(arguments) else arguments
        verdict = await self.turns.emit([name], payload(text), "handoff")
        if verdict.action != "deliver":
            self.turns.add_input(input_from_verdict(verdict))

    async def _hand_off(self, from_agent: str, to_agent: str) -> None:
        """Reports a handoff. It is a reroute if it adds nothing and returns to an agent that had the task already."""
        await self.steps.announce(to_agent)
        await self._ensure_activation(from_agent)
        await self.complete_streams()
        await self.turns.advance()
        is_empty = not self._has_worked and has_no_arguments(self._handoff_arguments)
        if is_empty and to_agent in self._task_holders and self.turns.inputs:
            verdicts = await self.turns.reroute_inputs([to_agent])
        else:
            text = self._request_text if has_no_arguments(self._handoff_arguments) else self._handoff_arguments
            verdicts = (await self.turns.end_with([to_agent], payload(text), "handoff"),)
        self._task_holders = self._task_holders | {to_agent} if is_empty else {to_agent}
        self._has_worked, self._handoff_arguments = False, ""
        self.turns.agent = to_agent  # set here: the run may end before that agent begins
        self.agents.add(to_agent)
        for verdict in verdicts:
            if not is_rerouted(verdict):
                self.turns.add_input(input_from_verdict(verdict))
                continue
            if not verdict.recipients:
                self.steps.feed.applied(verdict.event, verdict)
                self.turns.agent = from_agent
                raise Cancelled(verdict.inject or UNDELIVERED_TEXT)
            self.turns.add_input(InputEvent(verdict.event))
            if from_agent in verdict.recipients and self.can_go_back:
                self.steps.feed.applied(verdict.event, verdict)
                self.turns.agent = from_agent
                raise HandoffGivenBack(from_agent, verdict.inject or GIVEN_BACK_TEXT)
            self.steps.feed.applied(verdict.event, verdict, as_is="the hand-off cannot be sent elsewhere")

    # ---- the SDK's hooks. The program's own hook comes first, so that it runs at the same time as without digd

    async def report(self, work: Awaitable[T]) -> T | None:
        """Awaits the adapter's part. Logs an error of the adapter and returns None: it must not reach the program."""
        try:
            return await work
        except (Cancelled, GivenBack, HandoffGivenBack):
            raise
        except Exception:
            self.steps.log_fault()
            return None

    @property
    def reports(self) -> bool:
        return not self.steps.is_over and not self.steps.has_fault

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        if self._inner is not None:
            await self._inner.on_agent_start(context, agent)
        if self.reports:
            await self.report(self._ensure_activation(name_of(agent)))

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        if self._inner is not None:
            await self._inner.on_agent_end(context, agent, output)

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: str | None,
                           input_items: list[TResponseInputItem]) -> None:
        if self._inner is not None:
            await self._inner.on_llm_start(context, agent, system_prompt, input_items)
        if self.reports:
            await self.report(self._before_model(name_of(agent), input_items))
        elif self.steps.is_over and self.caller is None:
            self.steps.warn_of_late_work()

    async def on_llm_end(self, context: Any, agent: Any, response: ModelResponse) -> None:
        if self._inner is not None:
            await self._inner.on_llm_end(context, agent, response)
        if self.reports:
            await self.report(self._after_model(agent, response))

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        if self._inner is not None:  # by keyword, as the SDK calls it: the program's parameters may have another order
            await self._inner.on_handoff(context=context, from_agent=from_agent, to_agent=to_agent)
        if self.reports:
            await self.report(self._hand_off(name_of(from_agent), name_of(to_agent)))

    async def on_tool_start(self, context: Any, agent: Any, tool: Tool) -> None:
        if self._inner is not None:
            await self._inner.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Tool, result: object) -> None:
        if self._inner is not None:
            await self._inner.on_tool_end(context, agent, tool, result)
        if self.reports:
            await self.report(self._after_tool(getattr(context, "tool_call_id", None), result))
