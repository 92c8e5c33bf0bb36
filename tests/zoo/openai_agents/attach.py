"""Attaches a system of the OpenAI Agents SDK for a probe, and records what its user can observe."""

from __future__ import annotations

import itertools
import json
from contextlib import asynccontextmanager, contextmanager

import digd
import digd.openai_agents
import digd.sync
from agents import Agent, RunHooks, TracingProcessor, Usage, set_trace_processors
from agents.lifecycle import AgentHooksBase
from agents.testing import ScriptedModel, assistant_message, function_call

ADAPTER_OPTIONS = ("wait_for_healing_ms", "heal_errors")
NOTE = "Note from the monitor of this run"


class Spans(TracingProcessor):
    """Records the spans that end, without their ids and times."""

    def __init__(self, probe):
        self.probe = probe

    def on_trace_start(self, trace):
        self.probe.call("trace")

    def on_trace_end(self, trace):
        pass

    def on_span_start(self, span):
        pass

    def on_span_end(self, span):
        names = {key: value for key, value in (span.span_data.export() or {}).items() if isinstance(value, str)}
        self.probe.call(f"span {span.span_data.type} {names.get('name', '')}")

    def shutdown(self):
        pass

    def force_flush(self):
        pass


def split_options(probe):
    adapter = {k: v for k, v in probe.options.items() if k in ADAPTER_OPTIONS}
    return {k: v for k, v in probe.options.items() if k not in adapter}, adapter


_open_recordings = 0  # of the probe; only one probe is in use at a time


@contextmanager
def spans_recorded(probe):
    """Records the spans of the process until the last of the nested or concurrent contexts ends."""
    global _open_recordings
    if _open_recordings == 0:
        set_trace_processors([Spans(probe)])
    _open_recordings += 1
    try:
        yield
    finally:
        _open_recordings -= 1
        if _open_recordings == 0:
            set_trace_processors([])


@asynccontextmanager
async def run_of(probe):
    """The digd run of an attached execution; None in a plain one."""
    with spans_recorded(probe):
        if not probe.attached:
            yield None
            return
        async with digd.Run(**split_options(probe)[0]) as run:
            yield run


@contextmanager
def attached(probe, run):
    if run is None:
        yield None
        return
    with digd.openai_agents.attach(run, **split_options(probe)[1]) as team:
        yield team


@asynccontextmanager
async def watched(probe):
    """The context for the body of a case."""
    async with run_of(probe) as run:
        with attached(probe, run) as team:
            yield team


@contextmanager
def watched_sync(probe):
    with spans_recorded(probe):
        if not probe.attached:
            yield None
            return
        with digd.sync.Run(**split_options(probe)[0]) as run:
            with digd.openai_agents.attach(run) as team:
                yield team


class Recorded(ScriptedModel):
    """A scripted model that records each input in the probe, with the offered tools and hand-offs."""

    def __init__(self, probe, name, steps):
        super().__init__(steps, default_usage=Usage(requests=1, input_tokens=7, output_tokens=3, total_tokens=10))
        self._probe = probe
        self._name = name

    def _record_input(self, instructions, items, settings, tools, schema, handoffs):
        self._probe.call(f"model {self._name}")
        self._probe.saw(
            [
                self._name,
                instructions,
                items,
                [t.name for t in tools],
                [h.tool_name for h in handoffs],
                settings.tool_choice,
                schema.name() if schema is not None else None,
            ]
        )

    async def get_response(
        self, system_instructions, input, model_settings, tools, output_schema, handoffs, *args, **kwargs
    ):
        arguments = (system_instructions, input, model_settings, tools, output_schema, handoffs)
        self._record_input(*arguments)
        return await super().get_response(*arguments, *args, **kwargs)

    async def stream_response(
        self, system_instructions, input, model_settings, tools, output_schema, handoffs, *args, **kwargs
    ):
        arguments = (system_instructions, input, model_settings, tools, output_schema, handoffs)
        self._record_input(*arguments)
        async for event in super().stream_response(*arguments, *args, **kwargs):
            yield event


class Lab:
    """Builds the parts of a case."""

    def __init__(self, probe):
        self.probe = probe
        self._ids = itertools.count(1)

    def agent(self, agent_name, *steps, **options):
        return Agent(name=agent_name, model=Recorded(self.probe, agent_name, steps), **options)

    def say(self, text):
        return [assistant_message(text, item_id=f"m{next(self._ids)}")]

    def use(self, tool_name, **arguments):
        return function_call(
            tool_name, json.dumps(arguments), call_id=f"c{next(self._ids)}", item_id=f"f{next(self._ids)}"
        )

    def hand(self, agent_name, **arguments):
        return [self.use(f"transfer_to_{agent_name}", **arguments)]

    def record(self, result, *agents):
        """Records a result. `agents`: the user's agent objects, to be compared by identity with those in the result."""
        known = {id(agent): agent.name for agent in agents}

        def named(agent):
            return [agent.name, known.get(id(agent), "another object") if agents else None]

        self.probe.saw(
            {
                "output": result.final_output,
                "last agent": named(result.last_agent),
                "input": result.input,
                "items": [
                    [item.type, named(item.agent), getattr(item, "output", None), item.raw_item]
                    for item in result.new_items
                ],
                "list": result.to_input_list(),
                "responses": [r.output for r in result.raw_responses],
                "usage": [result.context_wrapper.usage.requests, result.context_wrapper.usage.total_tokens],
                "guardrails": [len(result.input_guardrail_results), len(result.output_guardrail_results)],
                "interruptions": [i.tool_name for i in result.interruptions],
            }
        )
        return result

    async def consume(self, stream, *agents):
        """Consumes a stream, and records its events and its result."""
        async for event in stream.stream_events():
            if event.type == "raw_response_event":
                self.probe.saw([event.type, event.data.type])
            elif event.type == "run_item_stream_event":
                self.probe.saw([event.type, event.name, event.item.agent.name, event.item.raw_item])
            else:
                self.probe.saw([event.type, event.new_agent.name])
        return self.record(stream, *agents)

    def error(self, error):
        """Records an exception with the SDK's data about the run."""
        data = getattr(error, "run_data", None)
        seen = (
            None if data is None else [data.last_agent.name, len(data.new_items), len(data.raw_responses), data.input]
        )
        self.probe.saw([type(error).__name__, str(error), seen])


class Hooks(RunHooks):
    """Records each call of a run's hooks."""

    def __init__(self, probe):
        self.probe = probe

    async def on_agent_start(self, context, agent):
        self.probe.saw(["agent start", agent.name])

    async def on_agent_end(self, context, agent, output):
        self.probe.saw(["agent end", agent.name, output])

    async def on_llm_start(self, context, agent, system_prompt, input_items):
        self.probe.saw(["llm start", agent.name, system_prompt, len(input_items)])

    async def on_llm_end(self, context, agent, response):
        self.probe.saw(["llm end", agent.name, response.output])

    async def on_handoff(self, context, from_agent, to_agent):
        self.probe.saw(["handoff", from_agent.name, to_agent.name])

    async def on_tool_start(self, context, agent, tool):
        self.probe.saw(["tool start", agent.name, tool.name])

    async def on_tool_end(self, context, agent, tool, result):
        self.probe.saw(["tool end", agent.name, tool.name, result])


class SingleAgentHooks(AgentHooksBase):
    """Records some calls of an agent's own hooks."""

    def __init__(self, probe):
        self.probe = probe

    async def on_start(self, context, agent):
        self.probe.saw(["own start", agent.name])

    async def on_end(self, context, agent, output):
        self.probe.saw(["own end", agent.name, output])

    async def on_handoff(self, context, agent, source):
        self.probe.saw(["own handoff", agent.name, source.name])

    async def on_llm_start(self, context, agent, system_prompt, input_items):
        self.probe.saw(["own llm start", agent.name, len(input_items)])
