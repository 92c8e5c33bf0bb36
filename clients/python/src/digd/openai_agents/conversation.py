"""One `Runner.run` of the SDK as digd sees it: who acts when, what is asked of others, and what comes out."""

from __future__ import annotations

import dataclasses
import inspect
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agents import Agent, Handoff, ModelResponse, RunConfig, RunContextWrapper, RunHooks, Tool, TResponseInputItem
from agents.run import CallModelData, CallModelInputFilter, ModelInputData

from ..line import NOTE, GivenBack, Line, quoted, said
from ..messages import Verdict

if TYPE_CHECKING:
    from .team import Team

current: ContextVar[Conversation | None] = ContextVar("digd_openai_agents_conversation", default=None)
"""The conversation that the running code belongs to: tools and the runs they start inherit it."""


def note_item(text: str) -> TResponseInputItem:
    """The monitor's text as the models are given it."""
    return {"role": "user", "content": NOTE + text}


def text_of(items: Any) -> str:
    """What a run was asked: its input, or the last thing in it that was said."""
    if isinstance(items, str):
        return items
    for item in reversed(items if isinstance(items, list) else []):
        content = item.get("content") if isinstance(item, dict) else None
        if isinstance(content, str) and content:
            return content
    return str(said(items)["text"])


class Conversation(RunHooks[Any]):
    """Told by the SDK what happens, it opens and ends activations, and holds what agents give to one another.

    caller: the conversation that asked for this one, from a tool; None: asked from outside.
    inner: the hooks that the program itself gave to the run; they are called as before.
    """

    def __init__(self, team: Team, caller: Conversation | None, inner: RunHooks[Any] | None,
                 streamed_to: tuple[str, ...] | None = None) -> None:
        self.team = team
        self.caller = caller
        self.line = Line(team.run, team.mail)
        self.asked = ""
        self._inner = inner
        self._worked = False  # said or did something in the open activation, other than handing off
        self._streamed_to = streamed_to
        self._unannounced: str | None = None  # whose question is announced once the loop comes to it

    # ---- from the beginning to the end

    async def ask(self, agent: str, text: str) -> str:
        """Announces what is asked of the agent; returns the agent that the monitor lets have it.

        A text that was asked before is the same event again: whoever takes it up repeats that sub-problem.
        """
        self.asked = text
        known = self.team.repeated(text)
        if known is not None:
            self.line.give(known, again=True)
            return agent
        if self.caller is not None:
            await self.caller.line.begin(self.caller.line.agent)
        event = self.team.run.next_id("e")
        self.team.remember(text, event)  # before the verdict: another tool may ask the same at the same time
        if self.caller is None:
            verdict = await self.team.run.emit([agent], said(text), kind="task", id=event)
        else:
            verdict = await self.caller.line.emit([agent], said(text), "request", id=event)
        return self._directed(agent, verdict)

    def _directed(self, agent: str, verdict: Verdict) -> str:
        if verdict.action != "reroute":
            self.line.give(verdict.event, verdict.inject)
            self.team.run.applied(verdict.event, verdict)
            return agent
        to = verdict.recipients[0] if verdict.recipients else ""
        if self.caller is not None and to == self.caller.line.agent:
            self.team.run.applied(verdict.event, verdict)
            self.caller.line.give(verdict.event, verdict.inject)  # tools do not show the model what they failed with
            raise GivenBack(verdict.event, verdict.inject or "the request was given back")
        if self.team.directory.named(to) is None:
            self.team.run.applied(verdict.event, verdict, as_is=f"agent {to!r} is not known to the adapter")
            self.line.give(verdict.event)
            return agent
        self.line.give(verdict.event, verdict.inject)
        self.team.run.applied(verdict.event, verdict)
        return to

    def ask_later(self, agent: str, text: str) -> None:
        """As `ask`, for a streamed run, which is begun by code that cannot wait."""
        self._unannounced, self.asked = agent, text

    async def answer(self, agent: str, output: Any, recipients: tuple[str, ...], *, submit: bool) -> Verdict:
        """Puts out what the run came to."""
        await self.line.begin(agent)
        await self.line.turn()
        return await self.line.put_out(recipients, said(output), "answer", submit=submit)

    def left_behind(self, agent: str) -> None:
        """What the agent was asked and did not take up waits until it is called again."""
        self.line.leave(agent, lambda event: f"An earlier request to you is still unanswered: {quoted(self.asked)}")

    # ---- hand-offs

    async def hand_off(self, original: Handoff[Any, Any], context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
        """Holds a hand-off; returns the agent that goes on.

        An agent that did nothing but hand off passes on what it was asked (a reroute); else it puts out something of its own.
        """
        directory = self.team.directory
        to = original.agent_name
        await self.line.turn()
        words = arguments.strip() not in ("", "{}", "null")
        if not self._worked and not words and self.line.can_pass_on() and self.team.may_receive(to):
            verdicts = await self.line.pass_on([to])
        else:
            verdicts = (await self.line.put_out([to], said(arguments if words else self.asked), "handoff"),)
        self._worked = False
        instead = next((v.recipients[0] for v in verdicts if v.action == "reroute" and v.recipients), None)
        agent = directory.named(instead) if instead is not None else None
        for verdict in verdicts:
            lost = verdict.action == "reroute" and agent is None
            self.team.run.applied(verdict.event, verdict,
                                  as_is=f"agent {instead!r} is not known to the adapter" if lost else None)
            self.line.give(verdict.event, None if lost else verdict.inject)
        if agent is not None:
            return agent
        return directory.copy_of(await original.on_invoke_handoff(context, arguments))

    # ---- what the model is given

    async def before_model(self, agent: str, data: ModelInputData) -> ModelInputData:
        """Opens the activation, goes on with answers that have come in, and adds the monitor's notes to the input."""
        await self._open(agent)
        await self.line.turn()
        if not self.line.notes:
            return data
        return dataclasses.replace(data, input=[*data.input, *(note_item(n) for n in self.line.notes)])

    async def _open(self, agent: str) -> None:
        if self._unannounced is not None:
            asked, self._unannounced = self._unannounced, None
            await self.ask(asked, self.asked)
        if self.line.activation is None:
            self._worked = False
            await self.line.begin(agent)

    # ---- RunHooks: ours first, then the program's

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        await self._open(agent.name)
        if self._inner is not None:
            await self._inner.on_agent_start(context, agent)

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        if self._streamed_to is not None:
            await self._streamed(agent.name, output, self._streamed_to)
        if self._inner is not None:
            await self._inner.on_agent_end(context, agent, output)

    async def _streamed(self, agent: str, output: Any, to: tuple[str, ...]) -> None:
        """What was streamed is out already: it is judged, and a give-back is not followed."""
        verdict = await self.answer(agent, output, to, submit=not to)
        if verdict.action == "reroute":
            self.team.run.applied(verdict.event, verdict, as_is="streamed")
        elif self.caller is not None:
            self.caller.line.give(verdict.event, verdict.inject)
            self.team.run.applied(verdict.event, verdict)

    async def on_llm_end(self, context: Any, agent: Any, response: ModelResponse) -> None:
        handoffs = {h.tool_name for h in agent.handoffs if isinstance(h, Handoff)}
        self._worked = self._worked or any(item.type not in ("function_call", "reasoning")
                                           or (item.type == "function_call" and item.name not in handoffs)
                                           for item in response.output)
        if self._inner is not None:
            await self._inner.on_llm_end(context, agent, response)

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: str | None,
                           input_items: list[TResponseInputItem]) -> None:
        if self._inner is not None:
            await self._inner.on_llm_start(context, agent, system_prompt, input_items)

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        if self._inner is not None:
            await self._inner.on_handoff(context, from_agent, to_agent)

    async def on_tool_start(self, context: Any, agent: Any, tool: Tool) -> None:
        if self._inner is not None:
            await self._inner.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Tool, result: object) -> None:
        if self._inner is not None:
            await self._inner.on_tool_end(context, agent, tool, result)


class ModelInput:
    """The run configuration's filter of what models are given: the program's own, then the conversation's notes."""

    def __init__(self, inner: CallModelInputFilter | None) -> None:
        self._inner = inner

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        model_data = data.model_data
        if self._inner is not None:
            filtered = self._inner(data)
            model_data = await filtered if inspect.isawaitable(filtered) else filtered
        conversation = current.get()
        return model_data if conversation is None else await conversation.before_model(data.agent.name, model_data)


def configured(config: RunConfig | dict[str, Any] | None) -> RunConfig:
    """The program's run configuration with our filter. Tools' runs inherit it, and are not given it twice."""
    known = RunConfig(**config) if isinstance(config, dict) else config or RunConfig()
    if isinstance(known.call_model_input_filter, ModelInput):
        return known
    return dataclasses.replace(known, call_model_input_filter=ModelInput(known.call_model_input_filter))
