"""AutoGen's runtime with every message judged before it enters the queue.

An intervention handler, AutoGen's own place for this, is not enough. It runs in the runtime's one loop, so a message
held there holds all others. It does not see which call of an agent a message comes from, nor when that call ends. It
cannot send a message elsewhere, and `stop_when_idle` waits for ever for one that it drops. This runtime holds a message
in the task of its sender and drops none.

No agent is changed. While the runtime delivers a message, it sees a stand-in for the agent that reports the call.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any

from autogen_core import Agent, AgentId, AgentType, CancellationToken, SingleThreadedAgentRuntime, TopicId

from ..line import Given, GivenBack, Mail, quoted, said
from ..messages import Intervention, Outcome, Verdict
from ..run import Run
from .agents import DIRECT, Traits, all_absorb, id_of, name_of, traits_of
from .calls import Calls, Followed, Handling, current
from .delivery import Watched, delivering
from .flow import Holds, RunState, consume_unseen, reporting_drops
from .notes import AddNote, NoPlaceForNote, add_model_note, careful, text_of

try:
    from . import group_chat
except ModuleNotFoundError as error:  # autogen-core alone
    if (error.name or "").partition(".")[0] != "autogen_agentchat" or "autogen_agentchat" in sys.modules:
        raise  # it is installed, but not in the version that this adapter knows
    group_chat = None  # type: ignore[assignment]

OPT_IN = ("repeated_subproblem", "cross_lineage_aggregation")  # AutoGen does not say which messages are parts of one
Classes = type | Iterable[type]


class Runtime(SingleThreadedAgentRuntime):
    """`runtime = digd.autogen.Runtime(run)` instead of `SingleThreadedAgentRuntime()`.

    run: an open `digd.Run`; make the runtime before the first `await` within it. The mode is `shadow` unless the run or
    DIGD_MODE names another.
    answers: classes of messages that are the final answer, however an agent puts them out. Without them the response to
    a message from outside is the answer, and digd does not say that an answer is missing.
    is_answer: whether a team's TaskResult is an answer; every one is by default, whatever ended the team.
    fyi: classes of messages that ask nothing of anybody.
    add_note: copies a message with the monitor's text in it; the default leaves the program's own classes alone.
    heal_errors: keeps the input of a handler that raised as open work, which digd may give to the agent again.
    wait_for_healing_ms: how long `stop_when_idle` and a team without an answer wait for the monitor's help.
    max_returns_per_agent, max_added_ms: as of `digd.Run`, where that names none.
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
            options["intervention_handlers"] = reporting_drops(options["intervention_handlers"], self._finish)
        super().__init__(**options)
        self.is_answer = is_answer
        self.wait_for_healing_ms = wait_for_healing_ms
        self.try_note = careful(add_note)
        self._answers = (answers,) if isinstance(answers, type) else tuple(answers)
        self._fyi = (fyi,) if isinstance(fyi, type) else tuple(fyi)
        self._heal_errors = heal_errors
        self._bounds = (max_returns_per_agent, max_added_ms)
        self._traits: dict[str, Traits] = {}  # by agent type
        self._has_stopped_itself = False  # run_team did; a program that stops the runtime once more may
        self.chats = None if group_chat is None else group_chat.Chats(self)
        self.watch(run)

    def watch(self, run: Run) -> None:
        """Reports to this run from now on. Nothing may be on its way."""
        self.digd_run = run
        self.is_off = run.mode == "off"
        self.mail = Mail()
        self.holding = Holds()
        self.state = RunState.of(run)
        self.flow = self.state.flow
        self.calls = Calls(self, self._heal_errors)
        self._introduced: set[str] = set(run.agents or ())
        self._events: dict[str, str] = {}  # by AutoGen's message id
        self._undeliverable: set[str] = set()  # message ids: an agent of theirs could not be made
        self._had: dict[str, frozenset[str]] = {}  # by event that is being sent: who had its message and passed it on
        self._passed_on_by: dict[str, frozenset[str]] = {}  # the same by message id
        self._awaited: dict[str, list[str]] = {}  # by message id of a request: the event of its response
        if self.chats is not None:
            self.chats.begin_anew()
        if self.is_off:
            return
        self._ask_for_settings()
        if not run.heals:  # no verdict can change anything, so none is waited for
            run._conversation.no_hold_reason = run._conversation.no_hold_reason or "unheld"
        self.state.runtimes.append(self)
        run.on_intervention(self._carry_out)
        run.before_end(self._outcome_at_end)

    def _ask_for_settings(self) -> None:
        """The bounds, and the rules that need to know what messages mean: off unless the user sets their mode."""
        unknown = OPT_IN if self._answers or self.is_answer else (*OPT_IN, "missing_termination")
        max_returns, max_added_ms = self._bounds
        self.digd_run.ask_for(rules={rule: {"mode": "off"} for rule in unknown}, max_added_ms=max_added_ms,
                              healing=None if max_returns is None else {"max_returns_per_agent": max_returns})

    def _outcome_at_end(self, known: Outcome | None) -> Outcome | None:
        if known not in (None, "success"):
            return known
        is_paused = self.chats is not None and self.chats.is_paused()
        missing = (self._answers or self.is_answer) and not self.state.answered.is_set() and not is_paused
        return "failure" if missing and self.state.outcome == "success" else self.state.outcome

    async def answer(self, within_s: float | None = None) -> Any:
        """The final answer, once one was let through. Raises asyncio.TimeoutError after `within_s` seconds."""
        await asyncio.wait_for(self.state.answered.wait(), within_s)
        return self.state.answer

    # ---- teams

    async def run_team(self, team: Any, *, task: Any = None, **options: Any) -> Any:
        """As `team.run(task=…)`, for a team that was made with `runtime=` this one. Healing may make it go on."""
        result = None
        async with aclosing(self.run_team_stream(team, task=task, **options)) as items:
            async for item in items:
                result = item
        return result

    async def run_team_stream(self, team: Any, *, task: Any = None, **options: Any) -> AsyncGenerator[Any, None]:
        """As `team.run_stream(task=…)`. Starts the runtime if need be, and stops what it started."""
        if self.chats is None:
            raise RuntimeError("run_team needs the package autogen-agentchat")
        if getattr(team, "_runtime", self) is not self:
            raise ValueError(f"the team {team.name!r} has a runtime of its own; make it with runtime= this one, or "
                             "attach it: digd.autogen.instrument(team, run)")
        begins = self._run_context is None
        if begins:
            self.start()
        try:
            async for item in self.chats.run(team, team.run_stream, task, options):
                yield item
        finally:
            if begins:
                await super().stop_when_idle()
                self._has_stopped_itself = True

    async def stop(self) -> None:
        if self._run_context is None and self._has_stopped_itself:
            return
        await super().stop()
        for message_id in list(self._events):
            await self._finish(message_id)
        if self.chats is not None:
            self.chats.stop()

    async def stop_when_idle(self) -> None:
        """Held messages are not in AutoGen's queue yet: the runtime is not idle while there are some."""
        if self._run_context is None and self._has_stopped_itself:
            return
        if self._run_context is not None and not self.is_off and self.digd_run.heals:
            await self.holding.rest(self._message_queue)
            if self.wait_for_healing_ms and self._answers:
                try:
                    await self.answer(self.wait_for_healing_ms / 1000)
                except asyncio.TimeoutError:
                    pass
                await self.holding.rest(self._message_queue)
        await super().stop_when_idle()

    # ---- the roster

    def is_registered(self, type: str) -> bool:
        return type in self._agent_factories

    async def introduce(self, *names: str) -> None:
        """Announces agents to the daemon, each once."""
        for name in names:
            if name not in self._introduced:
                self._introduced.add(name)
                await self.digd_run.agent_joined(name)

    async def register_factory(self, type: str | AgentType, agent_factory: Callable[[], Any], *,
                               expected_class: Any = None) -> AgentType:
        known = await super().register_factory(type, agent_factory, expected_class=expected_class)
        if self.is_off:
            return known
        if self.chats is not None and self.chats.register(known.type, expected_class):
            await self.introduce(*self.chats.participant(known.type))
            return known
        self._traits[known.type] = traits_of(expected_class, agent_factory)
        await self.introduce(known.type)
        return known

    async def register_agent_instance(self, agent_instance: Agent, agent_id: AgentId) -> AgentId:
        known = await super().register_agent_instance(agent_instance, agent_id)
        if not self.is_off:
            self._traits[known.type] = traits_of(type(agent_instance))
            await self.introduce(name_of(known))
        return known

    async def takers(self, message: Any, topic: TopicId, sender: AgentId | None) -> list[str]:
        """The subscribers that will be given the message and have a handler for it."""
        try:
            agents = dict.fromkeys(await self._subscription_manager.get_subscribed_recipients(topic))
        except Exception:  # a subscription of the program's own; AutoGen meets it again as it delivers
            return []
        return [name_of(a) for a in agents if a != sender and self._traits.get(a.type, Traits()).takes(message)]

    async def _get_agent(self, agent_id: AgentId) -> Agent:
        message_id = delivering.get()
        token = delivering.set(None)  # not for tasks that a new agent starts
        try:
            agent = await super()._get_agent(agent_id)
        except BaseException:
            self._undeliverable.update([message_id] if message_id is not None else [])
            raise
        finally:
            delivering.reset(token)
        return Watched(self.calls, agent) if message_id is not None and not self.is_off else agent

    # ---- messages on their way

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
        handling = self._handling(sender)
        name = name_of(recipient)
        known = self.is_registered(recipient.type)
        if known:
            await self.introduce(name)
        to = [name] if known or self.digd_run.agents is not None else []
        with self.holding(), self.flow.announcing():
            verdict = await self._announce(handling, message, to, "request", is_request=True)
        followed = self.follow(handling, message, verdict)
        if isinstance(followed, Given):
            assert handling is not None
            handling.line.give(followed.event)  # the handler may take the exception and go on by itself
            raise GivenBack(followed.event, followed.note or "")
        if verdict.action == "reroute" and verdict.recipients and not followed.as_is:
            recipient = id_of(verdict.recipients[0])
        elif verdict.submit:
            self.state.settle(message)
        return await self._request(handling, verdict.event, followed.message, recipient, message_id, options)

    async def _request(self, handling: Handling | None, event: str, message: Any, recipient: AgentId,
                       message_id: str | None, options: dict[str, Any]) -> Any:
        """Sends an announced request and waits for the response, which becomes an input of the caller."""
        message_id = message_id or str(uuid.uuid4())
        if self.is_registered(recipient.type):
            self._expect(message_id, event, [name_of(recipient)], is_work=True)
        answered = self._awaited[message_id] = []
        if handling is not None:
            handling.requests.add(message_id)
            self.calls.callers[message_id] = handling
        try:
            response = await super().send_message(message, recipient, message_id=message_id, **options)
            if handling is None:
                self.state.outcome = "success"
            return response
        except BaseException as error:
            if handling is None:
                self.state.outcome = "failure" if isinstance(error, Exception) else "aborted"
            if isinstance(error, asyncio.CancelledError):
                await self.calls.give_up(message_id)
            await self._finish(message_id)
            raise
        finally:
            self.calls.callers.pop(message_id, None)
            self._awaited.pop(message_id, None)
            if handling is not None:
                handling.requests.discard(message_id)
                for response_event in answered:
                    handling.line.give(response_event)

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
            await self._publish(message, topic_id, self._handling(sender), message_id or str(uuid.uuid4()), options)
        await self._come_to_rest()

    async def _publish(self, message: Any, topic_id: TopicId, handling: Handling | None, message_id: str,
                       options: dict[str, Any]) -> None:
        to = await self.takers(message, topic_id, options["sender"])
        await self.introduce(*to)
        verdict = await self._announce(handling, message, to, type(message).__name__)
        followed = self.follow(handling, message, verdict)
        if isinstance(followed, Given):
            assert handling is not None
            if handling.over:
                await self.calls.remind(handling.agent, followed)
            else:
                handling.back.append(followed)
            return
        if verdict.action == "reroute" and not followed.as_is:
            for name in verdict.recipients:
                await self.publish_to(name, followed.message, verdict.event)
            return
        self._expect(message_id, verdict.event, to, is_work=not self._asks_nothing(message, to))
        if verdict.submit:
            self.state.settle(message)
        await super().publish_message(followed.message, topic_id, message_id=message_id, **options)

    async def publish_unwatched(self, message: Any, topic_id: TopicId, options: dict[str, Any]) -> None:
        await super().publish_message(message, topic_id, **options)

    def _handling(self, sender: AgentId | None) -> Handling | None:
        """The call that a message comes from; None from outside."""
        handling = current.get()
        return handling if sender is not None and handling is not None and handling.agent == name_of(sender) else None

    def _expect(self, message_id: str, event: str, agents: Iterable[str], *, is_work: bool) -> None:
        had = self._had.pop(event, None)
        agents = list(agents)
        if agents:
            self._events[message_id] = event
            self.flow.send(message_id, agents, is_work=is_work)
            if had is not None:
                self._passed_on_by[message_id] = had

    def _asks_nothing(self, message: Any, to: list[str]) -> bool:
        """Whether a published message is a notice: by its class, or as nobody who gets it can put anything out.

        Publishing to nobody is a notice too, but for programs that declare their answers: there it may be a mistake.
        """
        if isinstance(message, self._fyi):
            return True
        if not to:
            return not self._answers
        return all_absorb(self._traits.get(id_of(name).type, Traits()) for name in to)

    async def _announce(self, handling: Handling | None, message: Any, to: list[str], kind: str, *,
                        is_request: bool = False) -> Verdict:
        """The verdict on a message, of the first event where it is several."""
        fyi = not is_request and self._asks_nothing(message, to)
        payload = said(text_of(message))
        if handling is None:
            return await self.digd_run.emit(to, payload, kind=kind, fyi=fyi)
        submit = isinstance(message, self._answers)
        if handling.over:  # a task that the agent started and did not wait for
            late = self.calls.line()
            await late.begin(handling.agent)
            return await late.end_with(to, payload, kind, submit=submit, fyi=fyi)
        line = handling.line
        await line.begin(handling.agent)
        await line.turn()
        passed_on = handling.passes_on(message)
        had = self._passed_on_by.get(handling.message_id, frozenset()) | {handling.agent}
        if passed_on and len(to) == 1 and to[0] in had and line.can_pass_on():
            verdict = (await line.pass_on(to))[0]
        else:
            handling.put_out = not passed_on
            defers = submit and not self.flow.rests(handling.own_messages(), announcing=1)
            verdict = await line.emit(to, payload, kind, fyi=fyi or (defers and not to), submit=submit and not defers)
            if defers:
                self.defer_answer(handling.agent, verdict.event, message)
        if passed_on:
            self._had[verdict.event] = had
        return verdict

    def follow(self, handling: Handling | None, message: Any, verdict: Verdict) -> Followed | Given:
        """The message as the verdict wants it; its event with a text if it goes back to the agent being called."""
        run = self.digd_run
        if verdict.action == "reroute" and handling is not None and verdict.recipients == (handling.agent,):
            if not self.calls.can_read(handling.agent, handling.message):
                run.applied(verdict.event, verdict, as_is=f"{handling.agent!r} has no place to read a text")
                return Followed(message, as_is=True)
            run.applied(verdict.event, verdict)
            text = f"{verdict.inject or 'It was given back to you.'} You wrote: {quoted(text_of(message))}"
            return Given(verdict.event, text)
        if verdict.action == "reroute" and not all(self.is_registered(id_of(name).type) for name in verdict.recipients):
            run.applied(verdict.event, verdict, as_is=f"no agent of the type of {verdict.recipients} is registered")
            return Followed(message, as_is=True)
        if verdict.inject:
            try:
                message = self.try_note(message, verdict.inject)
            except NoPlaceForNote as error:
                self.calls.notes[verdict.event] = verdict.inject
                if not set(verdict.recipients) <= self.calls.readers:
                    run.applied(verdict.event, verdict, as_is=str(error))
                    return Followed(message, as_is=True)
        run.applied(verdict.event, verdict)
        return Followed(message)

    async def publish_to(self, name: str, message: Any, event: str) -> None:
        """Gives a message to one agent, unjudged."""
        agent = id_of(name)
        message_id = str(uuid.uuid4())
        self._expect(message_id, event, [name], is_work=True)
        await super().publish_message(message, TopicId(agent.type + DIRECT, agent.key), message_id=message_id)

    # ---- for the calls of agents

    def event_of(self, message_id: str, agent: str) -> str | None:
        """The event of a message that is on its way to this agent."""
        return self._events.get(message_id) if self.flow.expects(message_id, agent) else None

    def answer_request(self, message_id: str, event: str) -> None:
        """The response to a request has been announced."""
        if message_id in self._awaited:
            self._awaited[message_id].append(event)

    async def handled(self, message_id: str, agent: str) -> None:
        self.flow.handle(message_id, agent)
        if self.flow.is_handled(message_id):
            await self._finish(message_id)

    async def chat_ended(self, chat: str) -> None:
        self.flow.end_chat(chat)
        await self._come_to_rest()

    def is_answer_message(self, message: Any, *, from_outside: bool) -> bool:
        """Whether a response is the final answer."""
        return isinstance(message, self._answers) if self._answers else from_outside

    def defer_answer(self, agent: str, event: str, message: Any) -> None:
        """Keeps an answer that was put out while others still work. It is submitted once all is handled."""
        self.state.deferred = (agent, event, message)

    async def _come_to_rest(self) -> None:
        if self.state.deferred is None or not self.flow.rests():
            return
        (agent, event, message), self.state.deferred = self.state.deferred, None
        with self.digd_run.unheld("delivered"):
            async with self.digd_run.activation(agent, [event]) as activation:
                activation.output([], said(text_of(message)), kind="answer", submit=True)
        self.state.settle(message)

    # ---- what nobody handles

    async def _finish(self, message_id: str) -> None:
        """Nobody will handle the message any more. Whoever has not was never called with it."""
        event = self._events.pop(message_id, None)
        if event is None:
            return
        for agent in sorted(self.flow.forget(message_id)):
            await consume_unseen(self.digd_run, agent, event)
        self.calls.notes.pop(event, None)
        self._passed_on_by.pop(message_id, None)
        await self._come_to_rest()

    async def _process_publish(self, message_envelope: Any) -> None:
        await self._deliver(super()._process_publish, message_envelope)

    async def _process_send(self, message_envelope: Any) -> None:
        await self._deliver(super()._process_send, message_envelope)

    async def _process_response(self, message_envelope: Any) -> None:
        await self.holding.start()  # in its order among the deliveries
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
            if message_id in self._undeliverable:  # else a handler that raised has left others at work
                self._undeliverable.discard(message_id)
                await self._finish(message_id)

    # ---- interventions

    async def _carry_out(self, intervention: Intervention) -> bool:
        """Any runtime of this run may have the agents."""
        return any([await runtime.help(intervention) for runtime in self.state.runtimes])

    async def help(self, intervention: Intervention) -> bool:
        """Calls those of the agents that are this runtime's; returns whether there is one that reads the text."""
        speakers = [n for n in intervention.recipients if self.chats is not None and self.chats.has_participant(n)]
        helped = self.chats is not None and self.chats.carry_out(intervention, speakers)
        agents = [n for n in intervention.recipients if n not in speakers]
        if self._run_context is None or not self.flow.rests():
            return helped  # nobody is there to be called, or everybody is busy
        return await self.calls.carry_out(intervention, agents) or helped
