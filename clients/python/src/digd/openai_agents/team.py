"""The agents of one digd run, and the SDK's runner as long as they are watched."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextvars import Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Union

from agents import (Agent, AgentsException, InputGuardrailTripwireTriggered, OutputGuardrailTripwireTriggered,
                    RunContextWrapper, RunResult, RunState, TResponseInputItem, UserError)
from agents.items import ItemHelpers
from agents.run import AgentRunner

from ..line import ROUNDS, Mail, said, window_s
from ..run import Run
from .conversation import Conversation, configured, current, note_item, text_of
from .handoffs import Directory
from .runner import Watching, attached

TEXTS = 1024  # remembered, to see that one is asked again; the oldest is forgotten first
NEVER_RESCUED = (InputGuardrailTripwireTriggered, OutputGuardrailTripwireTriggered, UserError)


@dataclass(frozen=True)
class Handed:
    """What one run hands to the agents `to`: the input of theirs. `note` is the monitor's text on it."""

    event: str
    text: str
    to: tuple[str, ...]
    note: str | None = None
    result: RunResult | None = None


Input = Union[str, "list[TResponseInputItem]", RunState[Any], Handed, Sequence[Handed]]


def handed_of(input: Any) -> list[Handed]:
    """What other runs handed to this one; nothing if it is asked something else."""
    several = [input] if isinstance(input, Handed) else input if isinstance(input, (list, tuple)) else []
    return [one for one in several if isinstance(one, Handed)]


class Again(NamedTuple):
    """Who is run again, and with what."""

    agent: Agent[Any]
    input: Any


class Team:
    """`with attach(run) as team:` — inside, every `Runner.run` is watched, and healed where the run's mode says so.

    run: an open `digd.Run`.
    patience_s: for how long a run that failed or answered nothing waits for the monitor's help; None: as long as its
    windows for deadlock and missing termination last, not at all while nobody enforces.
    same_text: a request in the very words of an earlier one is the same event again.
    """

    def __init__(self, run: Run, *, patience_s: float | None = None, same_text: bool = True) -> None:
        self.run = run
        self.mail = Mail()
        self.directory = Directory(self._hand_off)
        self._patience_s = patience_s
        self._same_text = same_text
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._paused: dict[str, Conversation] = {}  # waiting for an approval, by the agent they were started with
        self._token: Token[Team | None] | None = None
        run.on_intervention(self._carry_out)

    def __enter__(self) -> Team:
        Watching.begin()
        self._token = attached.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._token is not None
        attached.reset(self._token)
        Watching.end()

    # ---- for programs that pass results from run to run themselves

    async def task(self, text: str, to: Iterable[str]) -> Handed:
        """Something asked from outside of several agents; each is then run with it."""
        verdict = await self.run.emit(to, said(text), kind="task")
        self.remember(text, verdict.event)
        self.run.applied(verdict.event, verdict)
        return Handed(verdict.event, text, verdict.recipients, verdict.inject)

    async def work(self, agent: Agent[Any], input: Input, to: Iterable[str], **options: Any) -> Handed:
        """Runs an agent whose output is no final answer but work for other agents, which are run with it."""
        _, handed = await self._rounds(agent, input, tuple(to), options)
        assert handed is not None
        return handed

    async def final(self, agent: Agent[Any], input: Input, **options: Any) -> RunResult:
        """As `Runner.run` inside the `with`, which cannot be given what `task` and `work` return."""
        result, _ = await self._rounds(agent, input, (), options)
        return result

    # ---- what was asked before

    def repeated(self, text: str) -> str | None:
        """The event in which this text was asked before."""
        return self._texts.get(text) if self._same_text else None

    def remember(self, text: str, event: str) -> None:
        self._texts[text] = event
        if len(self._texts) > TEXTS:
            self._texts.popitem(last=False)

    def may_receive(self, agent: str) -> bool:
        """Whether the run's roster, where it is closed, names the agent."""
        return self.run.agents is None or agent in self.run.agents

    # ---- one run, and its repetitions

    async def _rounds(self, agent: Agent[Any], input: Input, to: tuple[str, ...],
                      options: dict[str, Any]) -> tuple[RunResult, Handed | None]:
        conversation = Conversation(self, current.get(), options.pop("hooks", None))
        starting, items = await self._begin(conversation, agent, input)
        options["run_config"] = configured(options.get("run_config"))
        token = current.set(conversation)
        try:
            for round in range(ROUNDS + 1):
                last = round == ROUNDS
                try:
                    result: RunResult = await Watching.sdk().run(starting, items, hooks=conversation, **options)
                except BaseException as error:
                    again = await self._failed(conversation, starting, items, error, not to and not last)
                    if again is None:
                        raise
                else:
                    if result.interruptions:
                        await conversation.line.pause()
                        self._paused[agent.name] = conversation
                        return result, None
                    again, handed = await self._answered(conversation, result, to, options, last)
                    if again is None:
                        return result, handed
                starting, items = again
        finally:
            current.reset(token)
        raise AssertionError("the last round returns or raises")

    async def _begin(self, conversation: Conversation, agent: Agent[Any], input: Input) -> tuple[Agent[Any], Any]:
        """Announces what the run is asked, unless it was given by another; returns who is asked, and what."""
        copy = self.directory.copy_of(agent)
        conversation.line.agent = copy.name
        if isinstance(input, RunState):
            paused = self._paused.pop(copy.name, None)
            if paused is not None:
                conversation.line, conversation.asked = paused.line, paused.asked
            return copy, input
        handed = handed_of(input)
        if handed:
            for one in handed:
                conversation.line.give(one.event, one.note)
            conversation.asked = "\n\n".join(one.text for one in handed)
            return copy, conversation.asked
        name = await conversation.ask(copy.name, text_of(input))
        other = self.directory.named(name) if name != copy.name else None
        return other or copy, input

    async def _answered(self, conversation: Conversation, result: RunResult, to: tuple[str, ...],
                        options: dict[str, Any], last: bool) -> tuple[Again | None, Handed | None]:
        agent = result.last_agent
        caller = conversation.caller
        if result.final_output in (None, "") and caller is None and not to:
            await conversation.line.end()
            return None if last else await self._rescued(conversation, result, options), None
        recipients = to or ((caller.line.agent,) if caller is not None else ())
        verdict = await conversation.answer(agent.name, result.final_output, recipients, submit=not recipients)
        if verdict.action == "reroute":
            if not last:
                self.run.applied(verdict.event, verdict)
                conversation.line.give(verdict.event)
                return self._again(result, options, verdict.inject or ""), None
            self.run.applied(verdict.event, verdict, as_is=f"run again {ROUNDS} times")
        else:
            self.run.applied(verdict.event, verdict)
            if caller is not None and not to:
                caller.line.give(verdict.event, verdict.inject)
        text = str(said(result.final_output)["text"])
        return None, Handed(verdict.event, text, verdict.recipients, verdict.inject, result)

    async def _failed(self, conversation: Conversation, agent: Agent[Any], items: Any, error: BaseException,
                      may_rescue: bool) -> Again | None:
        """A run that raised. The outermost is taken up again if it was the agents' doing and the monitor says so in time."""
        data = getattr(error, "run_data", None)
        acting = conversation.line.agent or agent.name
        await conversation.line.fail(error)
        if (may_rescue and conversation.caller is None and isinstance(error, AgentsException)
                and not isinstance(error, NEVER_RESCUED) and not isinstance(items, RunState)):
            helped = await self._help(acting)
            if helped is not None:
                name, text = helped
                for given in text:
                    conversation.line.give(given.event)
                history = items if data is None else _history(data.input, data.new_items)
                return self._go_on(name, history, [g.note for g in text])
        conversation.left_behind(acting)
        return None

    async def _rescued(self, conversation: Conversation, result: RunResult, options: dict[str, Any]) -> Again | None:
        """A run that answered nothing."""
        helped = await self._help(result.last_agent.name)
        if helped is None:
            return None
        name, text = helped
        for given in text:
            conversation.line.give(given.event)
        agent = self.directory.named(name) or result.last_agent
        return self._again(result, options, "\n".join(g.note or "" for g in text), agent)

    async def _help(self, agent: str) -> tuple[str, list[Any]] | None:
        """Waits for an intervention; returns whom it is for, and what it says."""
        patience_s = self._patience_s
        if patience_s is None:
            patience_s = window_s(self.run, ("deadlock", "missing_termination"))
        name = await self.mail.wait(agent, lambda n: self.directory.named(n) is not None, patience_s)
        return None if name is None else (name, self.mail.take(name))

    def _again(self, result: RunResult, options: dict[str, Any], text: str, agent: Agent[Any] | None = None) -> Again:
        """The run goes on after its output, with the monitor's text; where the SDK keeps the history, with that alone."""
        note = [note_item(text)]
        if options.get("previous_response_id") is not None or options.get("auto_previous_response_id"):
            options["previous_response_id"] = result.last_response_id
        elif options.get("session") is None and options.get("conversation_id") is None:
            note = [*result.to_input_list(), *note]
        return Again(agent or self.directory.copy_of(result.last_agent), note)

    def _go_on(self, name: str, history: Any, notes: list[str | None]) -> Again | None:
        agent = self.directory.named(name)
        items = ItemHelpers.input_to_new_input_list(history)
        return None if agent is None else Again(agent, [*items, *(note_item(n) for n in notes if n)])

    # ---- called by others

    async def _hand_off(self, original: Any, context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
        conversation = current.get()
        if conversation is None or conversation.team is not self:
            agent: Agent[Any] = await original.on_invoke_handoff(context, arguments)
            return agent
        return await conversation.hand_off(original, context, arguments)

    def _carry_out(self, intervention: Any) -> None:
        self.mail.carry_out(intervention)

    async def watched(self, agent: Agent[Any], input: Any, options: dict[str, Any]) -> RunResult:
        """What `Runner.run` does while this team is attached."""
        result, _ = await self._rounds(agent, input, (), options)
        return result

    def streamed(self, runner: AgentRunner, agent: Agent[Any], input: Any, options: dict[str, Any]) -> Any:
        """What `Runner.run_streamed` does: hand-offs and requests are held, the output, which is out by then, only judged."""
        caller = current.get()
        to = (caller.line.agent,) if caller is not None else ()
        conversation = Conversation(self, caller, options.pop("hooks", None), streamed_to=to)
        copy = self.directory.copy_of(agent)
        if not isinstance(input, RunState):
            conversation.ask_later(copy.name, text_of(input))
        options["run_config"] = configured(options.get("run_config"))
        token = current.set(conversation)
        try:
            return runner.run_streamed(copy, input, hooks=conversation, **options)
        finally:
            current.reset(token)


def _history(before: Any, items: Iterable[Any]) -> list[Any]:
    """What had been said when a run failed; calls that were not answered are left out, as models refuse these."""
    said_since = [item.to_input_item() for item in items]
    answered = {i.get("call_id") for i in said_since if str(i.get("type", "")).endswith("_output")}
    return [*ItemHelpers.input_to_new_input_list(before),
            *(i for i in said_since if i.get("type") != "function_call" or i.get("call_id") in answered)]


def attach(run: Run, *, patience_s: float | None = None, same_text: bool = True) -> Team:
    """`with digd.openai_agents.attach(run):` — see Team. Before the first `await` within the run."""
    return Team(run, patience_s=patience_s, same_text=same_text)
