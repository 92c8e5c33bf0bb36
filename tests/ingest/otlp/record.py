"""Records the spans that real frameworks export, with fake models, as OTLP JSON in tests/ingest/otlp/recorded/.

    python3 -m venv /tmp/record && /tmp/record/bin/pip install -r tests/ingest/otlp/record.txt
    /tmp/record/bin/python tests/ingest/otlp/record.py openinference [PROGRAM...]
    python3 -m venv /tmp/record2 && /tmp/record2/bin/pip install -r tests/ingest/otlp/record_traceloop.txt
    /tmp/record2/bin/python tests/ingest/otlp/record.py traceloop [PROGRAM...]
    python3 -m venv /tmp/record3 && /tmp/record3/bin/pip install -r tests/ingest/otlp/record_crewai.txt
    /tmp/record3/bin/python tests/ingest/otlp/record.py crewai [PROGRAM...]

The programs are in programs/. Each runs in its own process and becomes recorded/healthy/SOURCE_PROGRAM.json or
recorded/broken/SOURCE_PROGRAM.json, one span a line. A recording keeps only `service.name` of the resource, and no
stack traces. Ids and times differ between recordings. It needs no network and no keys.
"""

import base64
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "programs"))


class Kept(SpanExporter):
    def __init__(self):
        self.spans = []

    def export(self, spans):
        self.spans += spans
        return SpanExportResult.SUCCESS


def own_provider(name):
    kept = Kept()
    provider = TracerProvider(resource=Resource({"service.name": name}))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    return provider, kept


def openinference_langgraph(name):
    from openinference.instrumentation.langchain import LangChainInstrumentor

    provider, kept = own_provider(name)
    LangChainInstrumentor().instrument(tracer_provider=provider)
    return provider, kept


def openinference_openai_agents(name):
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    provider, kept = own_provider(name)
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    return provider, kept


def traceloop(name):
    """The setup of Traceloop's guide: one call before the program."""
    from traceloop.sdk import Traceloop

    kept = Kept()
    Traceloop.init(app_name=name, exporter=kept, disable_batch=True, telemetry_enabled=False)
    return trace.get_tracer_provider(), kept


def traceloop_crewai(name):
    """CrewAI conflicts with the versions of traceloop-sdk, so this uses its instrumentation alone."""
    os.environ["TRACELOOP_METRICS_ENABLED"] = "false"
    from opentelemetry.instrumentation.crewai import CrewAIInstrumentor

    provider, kept = own_provider(name)
    CrewAIInstrumentor().instrument(tracer_provider=provider)
    return provider, kept


# Source of a recording → the module in programs/, and the function that sets up tracing.
SOURCES = {
    "openinference": {
        "langgraph": ("langgraph_programs", openinference_langgraph),
        "openai_agents": ("openai_agents_programs", openinference_openai_agents),
        "autogen": ("autogen_programs", own_provider),
        "agent_framework": ("agent_framework_programs", own_provider),
    },
    "traceloop": {
        "traceloop_langgraph": ("langgraph_programs", traceloop),
        "traceloop_openai_agents": ("openai_agents_programs", traceloop),
        "traceloop_plain": ("plain_programs", traceloop),
    },
    "crewai": {"traceloop_crewai": ("crewai_programs", traceloop_crewai)},
}


def hexadecimal_ids(value):
    """Converts ids from base64, as in protobuf's JSON, to hexadecimal, as in OTLP's JSON."""
    if isinstance(value, dict):
        ids = ("traceId", "spanId", "parentSpanId")
        return {k: base64.b64decode(v).hex() if k in ids else hexadecimal_ids(v) for k, v in value.items()}
    return [hexadecimal_ids(v) for v in value] if isinstance(value, list) else value


def without_paths(value):
    """Removes stack traces, and the folders of this machine from file names in texts."""
    if isinstance(value, dict):
        return {k: without_paths(v) for k, v in value.items()}
    if isinstance(value, list):
        return [without_paths(v) for v in value if not (isinstance(v, dict) and v.get("key") == "exception.stacktrace")]
    return re.sub(r'(?<=File )(\\*")[^"\n]*/', r"\1", value) if isinstance(value, str) else value


def written(document, service):
    """Formats a document: one span a line, with `service.name` as the only resource attribute."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    scopes = []
    for resource_spans in document["resourceSpans"]:
        for scope in resource_spans["scopeSpans"]:
            spans = ",\n".join(json.dumps(span, sort_keys=True) for span in scope["spans"])
            scopes.append(f'{{"scope": {json.dumps(scope["scope"])}, "spans": [\n{spans}]}}')
    return (
        f'{{"resourceSpans": [{{"resource": {json.dumps(resource)}, "scopeSpans": [\n' + ",\n".join(scopes) + "]}]}\n"
    )


def record(source, module, tracing, program):
    provider, kept = tracing(source)
    programs = importlib.import_module(module)
    run = getattr(programs, program)
    run(provider) if inspect.signature(run).parameters else run()
    provider.force_flush()
    folder = HERE / "recorded" / ("healthy" if run in programs.HEALTHY else "broken")
    folder.mkdir(parents=True, exist_ok=True)
    document = without_paths(hexadecimal_ids(MessageToDict(encode_spans(kept.spans), use_integers_for_enums=True)))
    (folder / f"{source}_{program}.json").write_text(written(document, source))
    print(f"{source} {program}: {len(kept.spans)} spans", file=sys.stderr)


def programs_of(module):
    found = importlib.import_module(module)
    return [program.__name__ for program in found.HEALTHY + found.BROKEN]


def main():
    instrumentation, wanted = sys.argv[1], sys.argv[2:]
    for source, (module, tracing) in SOURCES[instrumentation].items():
        if os.environ.get("RECORD_ONE"):
            if source == wanted[0]:
                record(source, module, tracing, wanted[1])
            continue
        for program in programs_of(module):
            if wanted and program not in wanted and source not in wanted:
                continue
            subprocess.run(
                [sys.executable, __file__, instrumentation, source, program],
                check=False,
                env={**os.environ, "RECORD_ONE": "1"},
            )


if __name__ == "__main__":
    main()
