"""AutoGen's runtime, in which every message gets its verdict before it enters the queue.

AutoGen's intervention handlers cannot do this. They run in the runtime's single loop, so a message held there blocks
all others. They know neither the call of an agent that sent a message nor the end of that call. They cannot send a
message elsewhere, and `stop_when_idle` never returns after they drop one. This runtime holds messages in their sender's
task.

Agents are not changed. While the runtime delivers a message, it sees a proxy of the agent that reports the call.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any

from autogen_core import Agent, AgentId, AgentType, CancellationToken, SingleThreadedAgentRuntime, TopicId

from ..cancellation import UNDELIVERED_TEXT, Cancelled
from ..line import InputEvent, GivenBack, Mail, text_payload
from ..messages import Intervention, Outcome, Verdict
from ..run import Run
from ..waiting import wait_at_most
from .agents import DIRECT, Traits, all_absorb, id_of, name_of, traits_of
from .calls import Calls, HandlerCall, current
from .delivery import WatchedAgent, delivering
from .flow import AgentLine, Holds, RunState, consume_without_call, reporting_drops
from .notes import AddNote, add_model_note, wrapping_errors, text_of

try:
    from . import group_chat
except ModuleNotFoundError as error:  # autogen-core alone
    if (error.name or "").partition(".")[0] != "autogen_agentchat" or "autogen_agentchat" in sys.modules:
        raise  # it is installed, but in a version that this adapter does not know
    group_chat = None  # type: ignore[assignment]

OPT_IN = ("repeated_subproblem", "cross_lineage_aggregation")  # AutoGen does not tell which messages are parts of one
Classes = type | Iterable[type]


class Runtime(SingleThreadedAgentRuntime):
    """`runtime = digd.autogen.Runtime(run)` replaces `SingleThreadedAgentRuntime()`.

    run: an open `digd.Run`. Make the runtime before the first `await` within it. The mode is `shadow` unless the run or
    DIGD_MODE names another.
    answers: classes of messages that are the final answer, whether returned, sent or published. Without them the
    response to a message from outside is the answer, and digd does not report a missing answer.
    is_answer: whether a team's TaskResult is an answer. By default each one is, independent of its stop reason.
    fyi: classes of messages that ask nothing of their recipients.
    add_note: returns a copy of a message with the monitor's text. The default leaves the program's own classes alone.
    heal_errors: keeps the input of a handler that raised as open work, which digd may give to the agent again.
    wait_for_healing_ms: how long `stop_when_idle` and a team without an answer wait for an intervention.
    max_returns_per_agent, max_added_ms: as in `digd.Run`, if the run does not set them.
    options: of SingleThreadedAgentRuntime.
    """

    def __init__(self, run: Run, *, answers: Classes = (), fyi: Classes = (),
                 is_answer: Callable[[Any], bool] | None = None, add_note: AddNote = add_model_note,
                 heal_errors: bool = False, wait_for_healing_ms: float = 0, max_returns_per_agent: int | None = None,
                 max_added_ms: float | None = None, **options: Any) -> None:
        if not isinstance(run, Run):
            raise TypeError(f"digd.autogen needs a digd.Run, not a {type(run).__module__}.{type(run).__name__}")
        run.adapter_defaults("autogen")
        if run.mode != "off" and options.get("intervention_handlers"):
            options["intervention_handlers"] = reporting_drops(options["intervention_handlers"], self._forget_message)
        super().__init__(**options)
        self.is_answer = is_answer
        self.wait_for_healing_ms = wait_for_healing_ms
        self.try_note = wrapping_errors(add_note)
        self._answers = (answers,) if isinstance(answers, type) else tuple(answers)
        self._fyi = (fyi,) if isinstance(fyi, type) else tuple(fyi)
        self._heal_errors = heal_errors
        self._bounds = (max_returns_per_agent, max_added_ms)
        self._traits: dict[str, Traits] = {}  # by agent type
        self._has_stopped_itself = False  # `run_team` stopped it; a second stop by the program is allowed
        self.chats = None if group_chat is None else group_chat.Chats(self)
        self.watch(run)

    def watch(self, run: Run) -> None:
        """Reports to this run from now on. No message may be in flight."""
        self.digd_run = run
        self.is_off = run.mode == "off"
        self.mail, self.holding = Mail(), Holds()
        self.state = RunState.of(run)
        self.flow = self.state.flow
        self.calls = Calls(self, self._heal_errors)
        self._announced_agents: set[str] = set(run.agents or ())
        self._events: dict[str, str] = {}  # by AutoGen's message id
        self._undeliverable_messages: set[str] = set()  # message ids; an agent could not be created
        self._forwarders_by_event: dict[str, frozenset[str]] = {}  # agents that forwarded an event that is being sent
        self._forwarders_by_message: dict[str, frozenset[str]] = {}  # the same, by message id
        self._response_events: dict[str, list[str]] = {}  # by message id of a request: the event of its response
        if self.chats is not None:
            self.chats.reset()
        if self.is_off:
            return
        self._ask_for_settings()
        run._conversation.may_hold = lambda: run.heals  # else no verdict can change anything, so messages wait for none
        if self not in self.state.runtimes:  # a team may be attached to the same run again
            self.state.runtimes.append(self)
            run.before_end(self._outcome_at_end)
        run.on_intervention(self._carry_out)
        run.on_intervention("cancel")(self._cancel)

    def _ask_for_settings(self) -> None:
        """Sets the bounds, and turns off the rules that need to know what messages mean, unless the user set them."""
        unknown = OPT_IN if self._answers or self.is_answer else (*OPT_IN, "missing_termination")
        max_returns, max_added_ms = self._bounds
        self.digd_run.ask_for(rules={rule: {"mode": "off"} for rule in unknown}, max_added_ms=max_added_ms,
                              capabilities={"hold": True},
                              healing=None if max_returns is None else {"max_returns_per_agent": max_returns})

    def _outcome_at_end(self, known: Outcome | None) -> Outcome | None:
        if known not in (None, "success"):
            return known
        is_paused = self.chats is not None and self.chats.is_paused()
        missing = (self._answers or self.is_answer) and not self.state.answered.is_set() and not is_paused
        return "failure" if missing and self.state.outcome == "success" else self.state.outcome

    async def answer(self, within_s: float | None = None) -> Any:
        """Waits for the final answer. Raises asyncio.TimeoutError after `within_s` seconds."""
        if not await wait_at_most(self.state.answered.wait(), within_s):
            raise asyncio.TimeoutError
        return self.state.answer

    # ---- teams

    async def run_team(self, team: Any, *, task: Any = None, **options: Any) -> Any:
        """As `team.run(task=…)`, for a team made with `runtime=` this one. Healing may make the team continue."""
        result = None
        async with aclosing(self.run_team_stream(team, task=task, **options)) as items:
            async for item in items:
                result = item
        return result

    async def run_team_stream(self, team: Any, *, task: Any = None, **options: Any) -> AsyncGenerator[Any, None]:
        """As `team.run_stream(task=…)`. Starts the runtime if it is not running, and then stops it at the end."""
        if self.chats is None:
            raise RuntimeError("run_team needs the package autogen-agentchat")
        if getattr(team, "_runtime", self) is not self:
            raise ValueError(f"the team {team.name!r} has its own runtime; make it with runtime= this one, or attach "
                             "it: digd.autogen.instrument(team, run)")
        starts_runtime = self._run_context is None
        if starts_runtime:
            self.start()
        try:
            async for item in self.chats.run(team, team.run_stream, task, options):
                yield item
        finally:
            if starts_runtime:
                await super().stop_when_idle()
                self._has_stopped_itself = True

    async def stop(self) -> None:
        if self._run_context is None and self._has_stopped_itself:
            return
        await super().stop()
        for message_id in list(self._events):
            await self._forget_message(message_id)
        if self.chats is not None:
            self.chats.stop()

    async def stop_when_idle(self) -> None:
        """As AutoGen's, but held messages, which are not in AutoGen's queue yet, count as well."""
        if self._run_context is None and self._has_stopped_itself:
            return
        if self._run_context is not None and not self.is_off and self.digd_run.heals:
            await self.holding.wait_until_idle(self._message_queue)
            if self.wait_for_healing_ms and self._answers:
                await wait_at_most(self.state.answered.wait(), self.wait_for_healing_ms / 1000)
                await self.holding.wait_until_idle(self._message_queue)
        await super().stop_when_idle()

    # ---- the roster

    def is_registered(self, type: str) -> bool:
        """Whether an agent of this type is registered."""
        return type in self._agent_factories

    async def announce_agents(self, *names: str) -> None:
        """Announces agents to the daemon, each once."""
        for name in names:
            if name not in self._announced_agents:
                self._announced_agents.add(name)
                await self.digd_run.agent_joined(name)

    async def register_factory(self, type: str | AgentType, agent_factory: Callable[[], Any], *,
                               expected_class: Any = None) -> AgentType:
        registered = await super().register_factory(type, agent_factory, expected_class=expected_class)
        if self.is_off:
            return registered
        if self.chats is not None and self.chats.register(registered.type, expected_class):
            await self.announce_agents(*self.chats.participant(registered.type))
            return registered
        self._traits[registered.type] = traits_of(expected_class, agent_factory)
        await self.announce_agents(registered.type)
        return registered

    async def register_agent_instance(self, agent_instance: Agent, agent_id: AgentId) -> AgentId:
        registered = await super().register_agent_instance(agent_instance, agent_id)
        if not self.is_off:
            self._traits[registered.type] = traits_of(type(agent_instance))
            await self.announce_agents(name_of(registered))
        return registered

    async def recipients_of(self, message: Any, topic: TopicId, sender: AgentId | None) -> list[str]:
        """The subscribers that will get the message and have a handler for it."""
        try:
            agents = dict.fromkeys(await self._subscription_manager.get_subscribed_recipients(topic))
        except Exception:  # raised by the program's own subscription; AutoGen raises it again when it delivers
            return []
        return [name_of(a) for a in agents if a != sender and self._traits.get(a.type, Traits()).takes(message)]

    async def _get_agent(self, agent_id: AgentId) -> Agent:
        message_id = delivering.get()
        token = delivering.set(None)  # tasks that a new agent starts must not inherit it
        try:
            agent = await super()._get_agent(agent_id)
        except BaseException:
            self._undeliverable_messages.update([message_id] if message_id is not None else [])
            raise
        finally:
            delivering.reset(token)
        return WatchedAgent(self.calls, agent) if message_id is not None and not self.is_off else agent

    # ---- messages in flight

    async def send_message(self, message: Any, recipient: AgentId, *, sender: AgentId | None = None,
                           cancellation_token: CancellationToken | None = None, message_id: str | None = None) -> Any:
        options: dict[str, Any] = {"sender": sender, "cancellation_token": cancellation_token}
        if self.is_off:
            response = await super().send_message(message, recipient, message_id=message_id, **options)
            if sender is None and self.is_answer_message(response, from_outside=True):
                self.state.settle(response)
            return response
        if self.chats is not None and self.chats.owns(recipient.type):
            await self.chats.sent(message, recipient)
            return await super().send_message(message, recipient, message_id=message_id, **options)
        call = self._call_of(sender)
        name = name_of(recipient)
        registered = self.is_registered(recipient.type)
        if registered:
            await self.announce_agents(name)
        to = [name] if registered or self.digd_run.agents is not None else []
        with self.holding(), self.flow.announcing():
            verdict = await self._announce(call, message, to, "request", is_request=True)
        judged = self.calls.apply_verdict(call, message, verdict)
        if isinstance(judged, InputEvent):
            assert call is not None
            call.line.add_input(InputEvent(judged.event))  # the handler may catch the exception and continue
            raise GivenBack(judged.event, judged.text or "")
        if verdict.action == "reroute" and not verdict.recipients:
            raise Cancelled(verdict.inject or UNDELIVERED_TEXT)
        if verdict.action == "reroute" and not judged.as_is:
            recipient = id_of(verdict.recipients[0])
        elif verdict.submit:
            self.state.settle(message)
        return await self._request(call, verdict.event, judged.message, recipient, message_id, options)

    async def _request(self, call: HandlerCall | None, event: str, message: Any, recipient: AgentId,
                       message_id: str | None, options: dict[str, Any]) -> Any:
        """Sends an announced request and waits for its response, which becomes an input of the caller."""
        message_id = message_id or str(uuid.uuid4())
        if self.is_registered(recipient.type):
            self._record_delivery(message_id, event, [name_of(recipient)], is_work=True)
        answered = self._response_events[message_id] = []
        if call is not None:
            call.requests.add(message_id)
            self.calls.callers[message_id] = call
        try:
            response = await super().send_message(message, recipient, message_id=message_id, **options)
            if call is None:
                self.state.outcome = "success"
            return response
        except BaseException as error:
            if call is None:
                self.state.outcome = "failure" if isinstance(error, Exception) else "aborted"
            if isinstance(error, asyncio.CancelledError):
                await self.calls.abandon_request(message_id)
            await self._forget_message(message_id)
            raise
        finally:
            self.calls.callers.pop(message_id, None)
            self._response_events.pop(message_id, None)
            if call is not None:
                call.requests.discard(message_id)
                for response_event in answered:
                    call.line.add_input(InputEvent(response_event))

    async def publish_message(self, message: Any, topic_id: TopicId, *, sender: AgentId | None = None,
                              cancellation_token: CancellationToken | None = None,
                              message_id: str | None = None) -> None:
        options: dict[str, Any] = {"sender": sender, "cancellation_token": cancellation_token}
        if self.is_off:
            if sender is not None and isinstance(message, self._answers):
                self.state.settle(message)
            return await super().publish_message(message, topic_id, message_id=message_id, **options)
        if self.chats is not None and sender is not None and self.chats.owns(sender.type):
            for sending in await self.chats.published(message, topic_id, {**options, "message_id": message_id}):
                await self.publish_unwatched(*sending)
            return None
        with self.holding(), self.flow.announcing():
            await self._publish(message, topic_id, self._call_of(sender), message_id or str(uuid.uuid4()), options)
        await self._submit_deferred_answer()

    async def _publish(self, message: Any, topic_id: TopicId, call: HandlerCall | None, message_id: str,
                       options: dict[str, Any]) -> None:
        to = await self.recipients_of(message, topic_id, options["sender"])
        await self.announce_agents(*to)
        verdict = await self._announce(call, message, to, type(message).__name__)
        judged = self.calls.apply_verdict(call, message, verdict)
        if isinstance(judged, InputEvent):
            assert call is not None
            if call.is_finished:
                await self.calls.resend_last_message(call.agent, judged)
            else:
                call.returned.append(judged)
            return
        if verdict.action == "reroute" and not judged.as_is:
            for name in verdict.recipients:
                await self.publish_to(name, judged.message, verdict.event)
            return
        self._record_delivery(message_id, verdict.event, to, is_work=not self._asks_nothing(message, to))
        if verdict.submit:
            self.state.settle(message)
        await super().publish_message(judged.message, topic_id, message_id=message_id, **options)

    async def publish_unwatched(self, message: Any, topic_id: TopicId, options: dict[str, Any]) -> None:
        """Publishes a message as AutoGen does, without reporting it."""
        await super().publish_message(message, topic_id, **options)

    def _call_of(self, sender: AgentId | None) -> HandlerCall | None:
        """The handler call that a message comes from; None for a message from outside."""
        call = current.get()
        return call if sender is not None and call is not None and call.agent == name_of(sender) else None

    def _record_delivery(self, message_id: str, event: str, agents: Iterable[str], *, is_work: bool) -> None:
        forwarders = self._forwarders_by_event.pop(event, None)
        agents = list(agents)
        if agents:
            self._events[message_id] = event
            self.flow.send(message_id, agents, is_work=is_work)
            if forwarders is not None:
                self._forwarders_by_message[message_id] = forwarders

    def _asks_nothing(self, message: Any, to: list[str]) -> bool:
        """Whether a published message is a notice: by its class, or because no recipient can send anything.

        A message to nobody is a notice too, unless the program declares its answers: then it may be a mistake.
        """
        if isinstance(message, self._fyi):
            return True
        if not to:
            return not self._answers
        return all_absorb(self._traits.get(id_of(name).type, Traits()) for name in to)

    async def _announce(self, call: HandlerCall | None, message: Any, to: list[str], kind: str, *,
                        is_request: bool = False) -> Verdict:
        """Reports a message; returns the verdict on it, or on the first event if a reroute has several."""
        fyi = not is_request and self._asks_nothing(message, to)
        payload = text_payload(text_of(message))
        if call is None:
            return await self.digd_run.emit(to, payload, kind=kind, fyi=fyi)
        submit = isinstance(message, self._answers)
        if call.is_finished:  # a task that the agent started and did not wait for
            late = self.line()
            await late.begin(call.agent)
            return await late.end_with(to, payload, kind, submit=submit, fyi=fyi)
        line = call.line
        await line.begin(call.agent)
        await line.advance()
        is_forwarded = call.is_forwarding(message)
        forwarders = self._forwarders_by_message.get(call.message_id, frozenset()) | {call.agent}
        if is_forwarded and len(to) == 1 and to[0] in forwarders and line.inputs:
            verdict = (await line.reroute_inputs(to))[0]
        else:
            call.has_output = not is_forwarded
            defers = submit and not self.flow.is_idle(call.message_ids(), announcing=1)
            verdict = await line.emit(to, payload, kind, fyi=fyi or (defers and not to), submit=submit and not defers)
            if defers:
                self.defer_answer(call.agent, verdict.event, message)
        if is_forwarded:
            self._forwarders_by_event[verdict.event] = forwarders
        return verdict

    async def publish_to(self, name: str, message: Any, event: str) -> None:
        """Publishes a message to one agent without a verdict."""
        agent = id_of(name)
        message_id = str(uuid.uuid4())
        self._record_delivery(message_id, event, [name], is_work=True)
        await super().publish_message(message, TopicId(agent.type + DIRECT, agent.key), message_id=message_id)

    # ---- for handler calls and group chats

    def line(self) -> AgentLine:
        """Makes the line of work of an agent's next call."""
        line = AgentLine(self.digd_run, self.mail)
        self.state.lines.add(line)
        return line

    def instance(self, agent_id: AgentId) -> Any:
        """The agent's object, or None if AutoGen has not made it yet."""
        return self._instantiated_agents.get(agent_id)

    def event_of(self, message_id: str, agent: str) -> str | None:
        """The event of a message that this agent has not handled yet."""
        return self._events.get(message_id) if self.flow.expects(message_id, agent) else None

    def answer_request(self, message_id: str, event: str) -> None:
        """Notes that the response to a request has been announced."""
        if message_id in self._response_events:
            self._response_events[message_id].append(event)

    async def handled(self, message_id: str, agent: str) -> None:
        """Notes that an agent has handled a message; forgets the message after its last agent."""
        self.flow.handle(message_id, agent)
        if self.flow.is_handled(message_id):
            await self._forget_message(message_id)

    async def chat_ended(self, chat: str) -> None:
        """Notes the end of a group chat, and submits an answer that waited for it."""
        self.flow.end_chat(chat)
        await self._submit_deferred_answer()

    def is_answer_message(self, message: Any, *, from_outside: bool) -> bool:
        """Whether a response is the final answer."""
        return isinstance(message, self._answers) if self._answers else from_outside

    def defer_answer(self, agent: str, event: str, message: Any) -> None:
        """Stores an answer given while other agents still work. It is submitted when all messages are handled."""
        self.state.deferred = (agent, event, message)

    async def _submit_deferred_answer(self) -> None:
        if self.state.deferred is None or not self.flow.is_idle():
            return
        (agent, event, message), self.state.deferred = self.state.deferred, None
        with self.digd_run.unheld("delivered"):
            async with self.digd_run.activation(agent, [event]) as activation:
                activation.output([], text_payload(text_of(message)), kind="answer", submit=True)
        self.state.settle(message)

    # ---- messages that no agent handles

    async def _forget_message(self, message_id: str) -> None:
        """Removes a message that no agent will handle any more. Consumes its event for agents never called with it."""
        event = self._events.pop(message_id, None)
        if event is None:
            return
        for agent in sorted(self.flow.forget(message_id)):
            await consume_without_call(self.digd_run, agent, event)
        self.calls.notes.pop(event, None)
        self._forwarders_by_message.pop(message_id, None)
        await self._submit_deferred_answer()

    async def _process_publish(self, message_envelope: Any) -> None:
        await self._deliver(super()._process_publish, message_envelope)

    async def _process_send(self, message_envelope: Any) -> None:
        await self._deliver(super()._process_send, message_envelope)

    async def _process_response(self, message_envelope: Any) -> None:
        await self.holding.start()  # keeps its place in the order of deliveries
        await super()._process_response(message_envelope)

    async def _deliver(self, process: Callable[[Any], Awaitable[None]], envelope: Any) -> None:
        if self.is_off:
            return await process(envelope)
        await self.holding.start()
        message_id, token = envelope.message_id, delivering.set(envelope.message_id)
        try:
            return await process(envelope)
        finally:
            delivering.reset(token)
            if message_id in self._undeliverable_messages:  # after another error, other agents may still handle it
                self._undeliverable_messages.discard(message_id)
                await self._forget_message(message_id)

    # ---- interventions

    async def _carry_out(self, intervention: Intervention) -> bool:
        """Offers the intervention to all runtimes of this run: each may have some of the agents."""
        return any([await runtime.offer_intervention(intervention) for runtime in self.state.runtimes])

    def _cancel(self, intervention: Intervention) -> None:
        """Ends open work of agents: they raise Cancelled with the intervention's text."""
        for line in list(self.state.lines):
            line.cancel(intervention)

    async def offer_intervention(self, intervention: Intervention) -> bool:
        """Calls the recipients that are agents of this runtime. Returns whether any of them reads the text."""
        speakers = [n for n in intervention.recipients if self.chats is not None and self.chats.has_participant(n)]
        is_helped = self.chats is not None and self.chats.carry_out(intervention, speakers)
        if self._run_context is None or not self.flow.is_idle():  # stopped, or its agents are busy
            return is_helped
        agents = [n for n in intervention.recipients if n not in speakers]
        return await self.calls.carry_out(intervention, agents) or is_helped
