"""Records what frameworks really export, as OTLP JSON, with fake models: tests/ingest/otlp/recorded/*.json.

    python3 -m venv /tmp/record && /tmp/record/bin/pip install -r tests/ingest/otlp/record.txt
    /tmp/record/bin/python tests/ingest/otlp/record.py [NAME...]

Each scenario runs in a process of its own. Kept are spans alone: of the resource only `service.name`; ids and times
are those of the day. No network, no keys.
"""

import asyncio
import base64
import json
import os
import subprocess
import sys
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

FOLDER = Path(__file__).parent / "recorded"


class Kept(SpanExporter):
    def __init__(self):
        self.spans = []

    def export(self, spans):
        self.spans += spans
        return SpanExportResult.SUCCESS


def provider(name):
    kept = Kept()
    made = TracerProvider(resource=Resource({"service.name": name}))
    made.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(made)
    return made, kept


def in_hex(value):
    """OTLP's JSON has ids in hexadecimal, protobuf's own in base64."""
    if isinstance(value, dict):
        ids = ("traceId", "spanId", "parentSpanId")
        return {k: base64.b64decode(v).hex() if k in ids else in_hex(v) for k, v in value.items()}
    return [in_hex(v) for v in value] if isinstance(value, list) else value


def langgraph(tracer):
    """A planner, two workers at once, a writer who waits for both."""
    import operator
    from typing import Annotated, TypedDict

    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langgraph.graph import END, START, StateGraph
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=tracer)
    model = FakeListChatModel(responses=["an answer"])

    class Notes(TypedDict):
        notes: Annotated[list, operator.add]

    graph = StateGraph(Notes)
    for name in ("planner", "searcher", "coder", "writer"):
        graph.add_node(name, lambda state, name=name: {"notes": [name + ": " + model.invoke("what?").content]})
    graph.add_edge(START, "planner")
    graph.add_edge("planner", "searcher")
    graph.add_edge("planner", "coder")
    graph.add_edge(["searcher", "coder"], "writer")
    graph.add_edge("writer", END)
    graph.compile().invoke({"notes": ["task"]})


def openai_agents(tracer):
    """A tool, a handoff, an agent as a tool."""
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument(tracer_provider=tracer)

    class Fake(Model):
        def __init__(self, *items):
            self.items = list(items)

        async def get_response(self, *_, **__):
            return ModelResponse(output=[self.items.pop(0)], usage=Usage(), response_id="r")

        def stream_response(self, *_, **__):
            raise NotImplementedError

    def says(text):
        content = [ResponseOutputText(type="output_text", text=text, annotations=[])]
        return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=content)

    def calls(name, arguments="{}"):
        return ResponseFunctionToolCall(id="f", call_id="c" + name, type="function_call", name=name, arguments=arguments)

    @function_tool
    def search(q: str) -> str:
        return "found " + q

    helper = Agent(name="helper", model=Fake(says("helped")))
    writer = Agent(name="writer", model=Fake(calls("ask_helper", '{"input":"x"}'), says("final")),
                   tools=[helper.as_tool("ask_helper", "ask")])
    triage = Agent(name="triage", model=Fake(calls("search", '{"q":"x"}'), calls("transfer_to_writer")),
                   handoffs=[writer], tools=[search])
    asyncio.run(Runner.run(triage, "write something"))


def autogen(tracer):
    """A group chat of two, in turn, until one says so."""
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.conditions import TextMentionTermination
    from autogen_agentchat.teams import RoundRobinGroupChat
    from autogen_core import SingleThreadedAgentRuntime
    from autogen_ext.models.replay import ReplayChatCompletionClient

    async def run():
        runtime = SingleThreadedAgentRuntime(tracer_provider=tracer)
        runtime.start()
        writer = AssistantAgent("writer", model_client=ReplayChatCompletionClient(["draft"]))
        critic = AssistantAgent("critic", model_client=ReplayChatCompletionClient(["good TERMINATE"]))
        team = RoundRobinGroupChat([writer, critic], termination_condition=TextMentionTermination("TERMINATE"),
                                   runtime=runtime)
        await team.run(task="write a poem")
        await runtime.stop_when_idle()

    asyncio.run(run())


def agent_framework(_):
    """A writer, two who check at once, a join, an editor."""
    from agent_framework import (Agent, AgentExecutorRequest, AgentExecutorResponse, BaseChatClient, ChatResponse,
                                 Executor, Message, WorkflowBuilder, WorkflowContext, handler)
    from agent_framework.observability import ChatTelemetryLayer, enable_instrumentation

    enable_instrumentation(enable_sensitive_data=True)

    class Fake(ChatTelemetryLayer, BaseChatClient):
        OTEL_PROVIDER_NAME = "fake"

        def __init__(self, text):
            super().__init__()
            self.text = text

        def _inner_get_response(self, **_):
            async def answer():
                return ChatResponse(messages=[Message(role="assistant", contents=[self.text])], response_id="r")
            return answer()

    class Join(Executor):
        @handler
        async def join(self, all: list[AgentExecutorResponse], context: WorkflowContext[AgentExecutorRequest]) -> None:
            messages = [m for one in all for m in one.agent_response.messages]
            await context.send_message(AgentExecutorRequest(messages=messages, should_respond=True))

    def agent(name, text):
        return Agent(client=Fake(text), name=name, id=name + "-id", instructions="be " + name)

    writer, critic, checker, editor = (agent("writer", "draft"), agent("critic", "bad"), agent("checker", "true"),
                                       agent("editor", "final"))
    join = Join(id="join")
    workflow = (WorkflowBuilder(start_executor=writer).add_fan_out_edges(writer, [critic, checker])
                .add_fan_in_edges([critic, checker], join).add_edge(join, editor).build())
    asyncio.run(workflow.run("write a poem"))


SCENARIOS = {f.__name__: f for f in (langgraph, openai_agents, autogen, agent_framework)}


def record(name):
    tracer, kept = provider(name)
    SCENARIOS[name](tracer)
    tracer.force_flush()
    document = in_hex(MessageToDict(encode_spans(kept.spans)))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(document, indent=0, sort_keys=True) + "\n")
    print(f"{name}: {len(kept.spans)} spans", file=sys.stderr)


if __name__ == "__main__":
    if os.environ.get("RECORD_ONE"):
        record(sys.argv[1])
    else:
        for scenario in sys.argv[1:] or SCENARIOS:
            subprocess.run([sys.executable, __file__, scenario], check=True, env={**os.environ, "RECORD_ONE": "1"})
