import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { context, trace } from "@opentelemetry/api";

// A caller and the agent it calls, as the GenAI conventions name them.
const exporter = new OTLPTraceExporter({ url: process.argv[2], compression: process.argv[3] });
const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({ "service.name": "js-app" }),
  spanProcessors: [new BatchSpanProcessor(exporter)],
});
const tracer = provider.getTracer("app");
const agent = (name, parent) => tracer.startSpan(`invoke_agent ${name}`,
  { attributes: { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name } },
  parent ? trace.setSpan(context.active(), parent) : undefined);
const boss = agent("boss");
const clerk = agent("clerk", boss);
clerk.end();
boss.end();
await provider.shutdown();
