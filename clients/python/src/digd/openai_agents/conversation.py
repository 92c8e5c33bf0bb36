"""One `Runner.run` of the SDK as events and activations."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterator
from contextvars import ContextVar
from typing import Any, Literal, TypeVar

from agents import (Agent, Handoff, InputGuardrailTripwireTriggered, MaxTurnsExceeded, ModelResponse,
                    OutputGuardrailTripwireTriggered, RunContextWrapper, RunHooks, RunState, Tool, TResponseInputItem)
from agents.tool import default_tool_error_function
from agents.tool_context import ToolContext

from ..activation import error_text
from ..messages import Json, Verdict
from .notes import Given, GivenBack, HandoffGivenBack, name_of, note_item, payload, quoted, text_of
from .steps import Steps
from .turns import Turns, given_by, is_bare, sent_back

HANDOFF_PREFIX = "transfer_to_"  # of the SDK's default names for hand-off tools
DECLARED_ENDS = (InputGuardrailTripwireTriggered, OutputGuardrailTripwireTriggered, MaxTurnsExceeded)

current: ContextVar[Conversation | None] = ContextVar("digd_openai_agents_conversation", default=None)
"""The conversation of the running code. Tools and the runs that they start inherit it."""

T = TypeVar("T")


def handoff_tool_name(agent: str) -> str:
    """The same name as `Handoff.default_tool_name`, which logs a warning about names that are no identifiers."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", f"{HANDOFF_PREFIX}{agent}").lower()


State = Literal["running", "paused", "answered", "failed"]


class Conversation(RunHooks[Any]):
    """Learns from the SDK's hooks what happens in a run, and reports it. The program's own hooks are called before it.

    caller: the conversation whose tool, guardrail or hook started this run; None: the program started it.
    inner: the hooks that the program gave to the run.
    """

    def __init__(self, steps: Steps, caller: Conversation | None, inner: RunHooks[Any] | None,
                 context: Any = None) -> None:
        self.steps = steps
        self.caller = caller
        self.turns = Turns(steps.feed, steps.mail)
        self.state: State = "running"
        self.output: Json = None  # the payload of the final output
        self.error_text = "failed"
        self.is_unanswered = False
        self.is_declared_end = False  # ended by a guardrail or by a limit on turns that the program set
        self.agents: set[str] = set()
        self.paused: list[Conversation] = []  # runs that this one's tools started and that wait for an approval
        self.is_stream = False
        self.stream: Any = None  # the SDK's result of a streamed run, until it has ended
        self._tool_error: str | None = None  # the SDK's own text for the model, if the tool does not handle the error
        self.can_go_back = False  # the run can be taken up again: not a stream, not resumed, and not too often already
        self.begin_with: tuple[Agent[Any], Any] | None = None  # of a streamed run, until its loop has begun
        self._failed: list[Conversation] = []  # runs that this one started and that failed, until their tool returns
        self._requests: list[Conversation] = []  # those of tools that the SDK reported as failed, until the next move
        self._streams: list[Conversation] = []
        self._tool_call_id: str | None = context.tool_call_id if isinstance(context, ToolContext) else None
        self._inner = inner
        self._asked = ""
        self._worked = False  # the open activation did more than hand off
        self._passed: set[str] = set()  # agents that had the task since somebody last worked on it
        self._handoff_arguments = ""

    # ---- the beginning

    async def start(self, agent: Agent[Any], input: Any) -> None:
        """Reports the request of the run. Raises GivenBack if the monitor returns it to the caller."""
        if isinstance(input, RunState):
            if self._resume(agent, input):
                return
            input = getattr(input, "_original_input", "")
        self._asked = text_of(input)
        await self._enter(name_of(agent))
        if self.caller is None:
            await self.steps.follow(self, name_of(agent))
            verdict = await self.steps.feed.emit([name_of(agent)], payload(self._asked), kind="task",
                                                 hold=not self.is_stream)  # a stream's agent has begun by now
        else:
            self.steps.nested.add(self)
            await self.caller._open(self.caller.turns.agent)
            verdict = await self.caller.turns.emit([name_of(agent)], payload(self._asked), "request")
        self._take_request(verdict)

    async def start_with(self, agent: Agent[Any], given: list[Given], text: str) -> None:
        """As `start`, for a run whose input is other runs' work."""
        self._asked = text
        await self._enter(name_of(agent))
        if self.caller is None:
            await self.steps.follow(self, name_of(agent))
        for item in given:
            self.turns.give(item)

    async def _enter(self, agent: str) -> None:
        self.turns.agent = agent
        self.agents.add(agent)
        self._passed = {agent}
        await self.steps.announce(agent)

    def _take_request(self, verdict: Verdict) -> None:
        if not sent_back(verdict):
            self.turns.give(given_by(verdict))
            return
        caller = self.caller
        if caller is not None and caller.turns.agent in verdict.recipients:
            caller.turns.give(given_by(verdict))
            self.state = "failed"
            raise GivenBack(verdict.event, verdict.inject or "the request was given back")
        self.steps.feed.applied(verdict.event, verdict, as_is="the run has begun with its agent")
        self.turns.give(Given(verdict.event))

    def _resume(self, agent: Agent[Any], state: RunState[Any]) -> bool:
        acting = getattr(state, "_current_agent", None)
        names = {name_of(agent)} | ({name_of(acting)} if acting is not None else set())
        if self.caller is None:
            paused = self.steps.resumed(names)
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
        self._failed, self._requests = paused._failed, paused._requests
        self._streams, self._asked = paused._streams, paused._asked
        self._worked, self._passed = paused._worked, paused._passed
        return True

    async def _open(self, agent: str) -> None:
        if self.begin_with is not None:
            (first, input), self.begin_with = self.begin_with, None
            await self.start(first, input)
            agent = agent or name_of(first)
        if self.turns.activation is None:
            self._worked = False
            self.agents.add(agent)
            await self.turns.begin(agent)

    # ---- requests to other agents

    def add_failed(self, conversation: Conversation, error: Exception) -> None:
        """Adds a run that this one started and that failed. It is handled unless the SDK reports its tool as failed."""
        conversation._tool_error = default_tool_error_function(RunContextWrapper(None), error)
        self._failed.append(conversation)

    def add_stream(self, stream: Conversation) -> None:
        self._streams.append(stream)

    def requests_left(self) -> list[Conversation]:
        """Removes and returns the failed requests that this run has not reacted to."""
        requests, self._requests = self._requests, []
        return requests

    async def settle_requests(self) -> None:
        """The agent went on after its failed requests: it tried again, asked another, or handled the error."""
        await self.settle_handled()
        for request in self.requests_left():
            await request.turns.settle()

    async def settle_handled(self) -> None:
        """The program handled the failures that the SDK reported of no tool."""
        failed, self._failed = self._failed, []
        for conversation in failed:
            await conversation.turns.settle()

    async def fail_requests(self) -> None:
        """The agent answers although its requests failed: they stay pending, and wait for the agents they went to."""
        for request in self.requests_left():
            text = f"An earlier request to you is still unanswered: {quoted(request._asked)}"
            for event in await request.turns.fail(request.error_text):
                self.steps.mail.put(request.turns.agent, Given(event, text))

    def paused_below(self) -> Iterator[Conversation]:
        """The runs under this one that wait for an approval."""
        for conversation in self.paused:
            yield conversation
            yield from conversation.paused_below()

    @property
    def has_open_requests(self) -> bool:
        return bool(self._requests)

    async def _after_tool(self, tool_call_id: str | None, result: object) -> None:
        """A tool that returned anything but the SDK's own error text has handled the failure of the run it started."""
        await self.complete_streams()
        for request in list(self._failed):
            if request._tool_call_id not in (None, tool_call_id):
                continue
            self._failed.remove(request)
            if isinstance(result, str) and result == request._tool_error:
                self._requests.append(request)
            else:
                await request.turns.settle()

    # ---- streamed runs

    def observe_stream(self) -> None:
        """Takes the state of a streamed run from its result. Calls no coroutine."""
        stream = self.stream
        if stream is None or self.state != "running" or stream.run_loop_task is None or not stream.run_loop_task.done():
            return
        has_output = stream.final_output is not None
        self.output = payload(stream.final_output) if has_output else None
        self.state = "paused" if stream.interruptions else "answered" if has_output else "failed"
        self.stream = None

    async def complete_streams(self) -> None:
        """Reports the answers of streamed runs that this run's tools started and that have ended."""
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
        """Ends the run with its answer to the caller. Returns the verdict if the monitor sends the answer elsewhere."""
        caller = self.caller
        if caller is None or caller.state != "running":
            await self.turns.settle()  # nobody waits for the answer any more
            return None
        verdict = await self.turns.put_out([caller.turns.agent], self.output, "answer")
        if sent_back(verdict) and not self.is_stream:
            return verdict
        if sent_back(verdict):
            self.steps.feed.applied(verdict.event, verdict, as_is="streamed")
            caller.turns.give(Given(verdict.event))
        else:
            caller.turns.give(given_by(verdict))
        return None

    # ---- within the run

    async def _before_model(self, agent: str, items: Any) -> None:
        await self._open(agent)
        await self.complete_streams()
        await self.turns.turn()
        if isinstance(items, list):  # the list that the SDK passes to the model after this hook
            items.extend(note_item(text) for text in self.turns.read_notes())

    async def _after_model(self, agent: Agent[Any], response: ModelResponse) -> None:
        handoffs = {h.tool_name if isinstance(h, Handoff) else handoff_tool_name(h.name) for h in agent.handoffs}
        calls = [item for item in response.output if item.type == "function_call"]
        if calls:
            await self.settle_requests()
        first = next((call for call in calls if call.name in handoffs), None)
        self._handoff_arguments = first.arguments if first is not None else ""
        spoke = any(item.type not in ("function_call", "reasoning") for item in response.output)
        self._worked = self._worked or spoke or any(call.name not in handoffs for call in calls)
        tools = {getattr(tool, "name", None) for tool in agent.tools}
        for call in calls:
            if call.name.startswith(HANDOFF_PREFIX) and call.name not in handoffs | tools:
                await self._hand_off_to_nobody(call.name[len(HANDOFF_PREFIX):], call.arguments)

    async def _hand_off_to_nobody(self, name: str, arguments: str) -> None:
        """A hand-off that the model made up. Reported in closed rosters only: an open one takes any name."""
        known = {handoff_tool_name(agent) for agent in self.steps.known_agents}
        if self.steps.feed.run.agents is None or HANDOFF_PREFIX + name in known or self.turns.activation is None:
            return
        verdict = await self.turns.emit([name], payload(self._asked if is_bare(arguments) else arguments), "handoff")
        if verdict.action != "deliver":
            self.turns.give(given_by(verdict))

    async def _hand_off(self, from_agent: str, to_agent: str) -> None:
        """Reports a hand-off. One without work or words, back to an agent that had the task already, is a reroute."""
        await self.steps.announce(to_agent)
        await self._open(from_agent)
        await self.complete_streams()
        await self.turns.turn()
        is_empty = not self._worked and is_bare(self._handoff_arguments)
        if is_empty and to_agent in self._passed and self.turns.inputs:
            verdicts = await self.turns.pass_on(to_agent)
        else:
            text = self._asked if is_bare(self._handoff_arguments) else self._handoff_arguments
            verdicts = (await self.turns.put_out([to_agent], payload(text), "handoff"),)
        self._passed = self._passed | {to_agent} if is_empty else {to_agent}
        self._worked, self._handoff_arguments = False, ""
        self.turns.agent = to_agent  # also if the run ends before that agent begins
        self.agents.add(to_agent)
        for verdict in verdicts:
            if not sent_back(verdict):
                self.turns.give(given_by(verdict))
                continue
            self.turns.give(Given(verdict.event))
            if from_agent in verdict.recipients and self.can_go_back:
                self.steps.feed.applied(verdict.event, verdict)
                self.turns.agent = from_agent
                raise HandoffGivenBack(from_agent, verdict.inject or "the hand-off was given back")
            self.steps.feed.applied(verdict.event, verdict, as_is="the hand-off cannot be sent elsewhere")

    # ---- the SDK's hooks: the program's part first, so that it runs when it would without digd

    async def report(self, work: Awaitable[T]) -> T | None:
        """Awaits the adapter's part. A fault of the adapter must not become one of the program: None stands for it."""
        try:
            return await work
        except (GivenBack, HandoffGivenBack):
            raise
        except Exception:
            self.steps.log_fault()
            return None

    @property
    def reports(self) -> bool:
        return not self.steps.is_over and not self.steps.is_broken

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        if self._inner is not None:
            await self._inner.on_agent_start(context, agent)
        if self.reports:
            await self.report(self._open(name_of(agent)))

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
        if self._inner is not None:  # by keyword, as the SDK calls it: the program may have another order
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
