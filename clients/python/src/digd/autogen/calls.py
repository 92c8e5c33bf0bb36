"""Handler calls: each is an activation, or several if answers to its requests arrive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from autogen_core import Agent, MessageContext, TopicId

from ..activation import error_text
from ..cancellation import GIVEN_BACK_TEXT, UNDELIVERED_TEXT, Cancelled
from ..line import MAX_ROUNDS, InputEvent, GivenBack, quoted, text_payload
from ..messages import Intervention, Verdict, event_id
from .agents import DIRECT, id_of, name_of
from .flow import AgentLine
from .host import Host, JudgedMessage
from .notes import NoPlaceForNote, content_of, text_of
from .speaking import current_turn


@dataclass(eq=False)
class HandlerCall:
    """One call of an agent's handler."""

    calls: Calls
    agent: str
    message: Any
    message_id: str
    event: str
    line: AgentLine
    caller: HandlerCall | None = None  # the call that waits for the response; None if none waits
    returned: list[InputEvent] = field(default_factory=list)  # messages that the monitor gave back to the agent
    requests: set[str] = field(default_factory=set)  # message ids of requests whose responses it waits for
    has_output: bool = False  # it has sent a message of its own
    content: str = ""  # of the message, as received
    is_finished: bool = False

    def is_forwarding(self, message: Any) -> bool:
        """Whether this output is the message that the call received, unchanged, and the call's first output."""
        return message is self.message and not self.has_output and content_of(message) == self.content

    def message_ids(self) -> list[str]:
        """The message ids of this call and of the calls that wait for it."""
        return [self.message_id, *(self.caller.message_ids() if self.caller is not None else ())]


current: ContextVar[HandlerCall | None] = ContextVar("digd_autogen_call", default=None)
"""The handler call that the running code belongs to."""


class Calls:
    """The handler calls of a runtime's agents, and the inputs that agents wait with between calls."""

    def __init__(self, runtime: Host, heal_errors: bool) -> None:
        self._runtime = runtime
        self._heal_errors = heal_errors
        self.requests: dict[str, HandlerCall] = {}  # by message id: calls that may have a waiting caller
        self.callers: dict[str, HandlerCall] = {}  # by message id: the calls that wait for a response
        self.readers: set[str] = set()  # agents that call notes()
        self.notes: dict[str, str] = {}  # by event: the monitor's text, if its message has no place for it
        self._last_messages: dict[str, Any] = {}  # by agent: the message that it handled last
        self._waiting_inputs: defaultdict[str, list[str]] = defaultdict(list)  # by agent: inputs with reaction `wait`

    async def handle(self, agent: Agent, message: Any, ctx: MessageContext) -> Any:
        runtime, name = self._runtime, name_of(agent.id)
        await runtime.holding.start()
        if runtime.chats is not None and runtime.chats.owns(agent.id.type):
            return await runtime.chats.handled(agent, message, ctx)
        event = runtime.event_of(ctx.message_id, name)
        if event is None:  # no event was announced: the agent has no handler for the message
            return await agent.on_message(message, ctx)
        caller = self.callers.get(ctx.message_id)
        call = HandlerCall(self, name, message, ctx.message_id, event, runtime.line(), caller)
        for waiting_event in self._waiting_inputs.pop(name, []):
            call.line.add_input(InputEvent(waiting_event))
        call.line.add_input(InputEvent(event, self.notes.get(event)))
        self._last_messages[name] = message
        if ctx.is_rpc:
            self.requests[ctx.message_id] = call
        token = current.set(call)
        try:
            return await self._call_until_accepted(call, agent.on_message, message, ctx)
        finally:
            call.is_finished = True
            await call.line.end()  # a task of the agent may have begun an activation while the response was held
            current.reset(token)
            self.requests.pop(ctx.message_id, None)
            await runtime.handled(ctx.message_id, name)

    async def _call_until_accepted(self, call: HandlerCall, inner: Callable[..., Awaitable[Any]], message: Any,
                                   ctx: MessageContext) -> Any:
        """Calls the handler. Repeats the call as long as the monitor gives one of its messages back."""
        line = call.line
        for _ in range(MAX_ROUNDS):
            await line.begin(call.agent)
            call.message = self._with_notes(message, line)
            call.content = content_of(call.message)
            response = await self._call(call, inner, ctx)
            if not call.returned:
                response = await self._respond(call, response, ctx)
            if not call.returned:
                return response
            await self._add_returned_inputs(call)
        await line.end()
        return response

    async def _call(self, call: HandlerCall, inner: Callable[..., Awaitable[Any]], ctx: MessageContext) -> Any:
        try:
            return await call.line.do(partial(inner, call.message), ctx)  # type: ignore[arg-type]
        except GivenBack as returned:
            call.returned.append(returned.input)
            return None  # the message is handled again, with the text
        except BaseException as error:
            await self._fail(call, error)
            raise
        finally:
            for request in list(call.requests):
                await self.abandon_request(request)

    async def _fail(self, call: HandlerCall, error: BaseException) -> None:
        """Reports that the handler raised. With `heal_errors` its inputs stay open; else the caller gets the error."""
        line = call.line
        if line.activation is None:
            await line.begin(call.agent)
        if self._heal_errors:
            text_before = quoted(text_of(self._last_messages.get(call.agent, "")))
            await line.fail(error)
            note = f"An earlier message to you is still unanswered: {text_before}"
            line.mail_unused_inputs(call.agent, note)
            return
        to = [call.caller.agent] if call.caller is not None else []
        with self._runtime.holding():
            event = await line.end_failed(error, text_payload(error_text(error)), to)
        if to:
            self._runtime.answer_request(call.message_id, event)

    async def _add_returned_inputs(self, call: HandlerCall) -> None:
        """Makes the returned messages inputs of the next activation, and their texts its notes."""
        self._store_waiting_inputs(call.agent, call.line)
        await call.line.end()
        for input in call.returned:
            call.line.add_input(input)
        call.returned, call.has_output = [], False

    async def _respond(self, call: HandlerCall, response: Any, ctx: MessageContext) -> Any:
        """Ends the activation, with the response if there is one."""
        line, runtime = call.line, self._runtime
        if line.has_inputs and line.activation is None:
            await line.begin(call.agent)
        await line.advance()
        if not ctx.is_rpc or response is None:
            self._store_waiting_inputs(call.agent, line)
            await line.end()
            return response
        await line.begin(call.agent)
        self._store_waiting_inputs(call.agent, line)
        to = [call.caller.agent] if call.caller is not None else []
        is_answer = runtime.is_answer_message(response, from_outside=ctx.sender is None)
        submit = is_answer and runtime.flow.is_idle(call.message_ids())
        with runtime.holding():
            verdict = await line.end_with(to, text_payload(text_of(response)), "response", submit=submit, fyi=not to)
        if is_answer and not submit:
            runtime.defer_answer(call.agent, verdict.event, response)
        judged = self.apply_verdict(call, response, verdict)
        if isinstance(judged, InputEvent):
            call.returned.append(judged)
            return response
        if verdict.action == "reroute" and not verdict.recipients:
            raise Cancelled(verdict.inject or UNDELIVERED_TEXT)
        if submit:
            runtime.state.settle(judged.message)
        if to:
            runtime.answer_request(call.message_id, verdict.event)
        return judged.message

    def apply_verdict(self, call: HandlerCall | None, message: Any, verdict: Verdict) -> JudgedMessage | InputEvent:
        """Returns the message as the verdict wants it, or an input if it goes back to the called agent."""
        runtime, run = self._runtime, self._runtime.digd_run
        if verdict.action == "reroute" and call is not None and verdict.recipients == (call.agent,):
            if not self.can_read(call.agent, call.message):
                run.applied(verdict.event, verdict, as_is=f"{call.agent!r} has no place to read a text")
                return JudgedMessage(message, as_is=True)
            run.applied(verdict.event, verdict)
            text = f"{verdict.inject or GIVEN_BACK_TEXT} You wrote: {quoted(text_of(message))}"
            return InputEvent(verdict.event, text)
        is_known = all(runtime.is_registered(id_of(name).type) for name in verdict.recipients)
        if verdict.action == "reroute" and not is_known:
            run.applied(verdict.event, verdict, as_is=f"no agent of the type of {verdict.recipients} is registered")
            return JudgedMessage(message, as_is=True)
        if verdict.inject:
            try:
                message = runtime.try_note(message, verdict.inject)
            except NoPlaceForNote as error:
                self.notes[verdict.event] = verdict.inject
                if not set(verdict.recipients) <= self.readers:
                    run.applied(verdict.event, verdict, as_is=str(error))
                    return JudgedMessage(message, as_is=True)
        run.applied(verdict.event, verdict)
        return JudgedMessage(message)

    async def abandon_request(self, message_id: str) -> None:
        """Closes a request whose response nobody waits for any more. Its handler may continue; nothing stays open."""
        call = self.requests.get(message_id)
        if call is not None:
            call.caller = None
            self._runtime.flow.forget(message_id)
            await call.line.end()
            for request in list(call.requests):
                await self.abandon_request(request)

    def _store_waiting_inputs(self, agent: str, line: AgentLine) -> None:
        if line.activation is not None:
            waiting = [e for e, reaction in line.activation.reactions.items() if reaction == "wait"]
            self._waiting_inputs[agent] = list(dict.fromkeys((*self._waiting_inputs.get(agent, ()), *waiting)))

    def _with_notes(self, message: Any, line: AgentLine) -> Any:
        """Returns the message with the notes of the open activation, if it has a place for them."""
        for note in line.notes:
            try:
                message = self._runtime.try_note(message, note)
            except NoPlaceForNote:
                break
        return message

    def can_read(self, agent: str, message: Any) -> bool:
        """Whether the agent can read a text: in the message when it gets it again, or through notes()."""
        if agent in self.readers:
            return True
        try:
            self._runtime.try_note(message, "")
        except NoPlaceForNote:
            return False
        return True

    # ---- interventions

    async def carry_out(self, intervention: Intervention, agents: list[str]) -> bool:
        """Sends each agent its last message again, with the text. Returns whether any agent gets it.

        If some of the agents wait with inputs, only these are called: they cause the deadlock.
        """
        input = InputEvent(event_id(intervention), intervention.inject or "")
        waiting = [name for name in agents if self._waiting_inputs.get(name)]
        return any([await self.resend_last_message(name, input) for name in waiting or agents])

    async def resend_last_message(self, name: str, input: InputEvent) -> bool:
        last, agent = self._last_messages.get(name), id_of(name)
        if last is None or not self.can_read(name, last):
            return False
        self._runtime.mail.put(name, input, wakes=True)
        if await self._runtime.recipients_of(last, TopicId(agent.type + DIRECT, agent.key), None):
            await self._runtime.publish_to(name, last, input.event)
        return True


def _line_with_activation() -> AgentLine | None:
    call = current.get()
    return None if call is None or call.line.activation is None else call.line


def _react(react: Callable[[Any, str], None], events: Iterable[str] | None = None) -> None:
    line = _line_with_activation()
    if line is not None and line.activation is not None:
        for event in line.activation.inputs if events is None else events:
            react(line.activation, event)


def notes() -> list[str]:
    """Call within a handler or a turn: returns the monitor's texts, if the message has no place for them."""
    call, turn = current.get(), current_turn.get()
    if turn is not None:
        return list(turn.line.notes)
    if call is None:
        return []
    call.calls.readers.add(call.agent)
    return list(call.line.notes)


def wait() -> None:
    """Call within a handler: the agent's inputs stay pending, and are inputs of its next call too."""
    _react(lambda activation, event: activation.wait(event))


def discard() -> None:
    """Call within a handler: the agent drops its inputs."""
    _react(lambda activation, event: activation.discard(event))
