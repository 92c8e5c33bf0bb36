// Two agents of the OpenAI Agents SDK that hand the same task back and forth, until digd's text asks one to handle it.
//
//   build/release/bin/digd &        node examples/openai-agents.mjs
import { Agent, Runner } from "@openai/agents";
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from "@openai/agents/testing";
import { instrument } from "@digd/client/openai-agents";

let call = 0;
const passes = (name, to) =>
  modelResponder(({ request }) => {
    const last = typeof request.input === "string" ? request.input : request.input.at(-1).content;
    const text = typeof last === "string" ? last : last?.[0]?.text;
    if (text?.includes("Do not pass it on")) console.log(`${name} reads: ${text}`);
    const handles = text?.includes("Do not pass it on") || call >= 5;
    return handles
      ? [assistantMessage(`${name} has handled it`)]
      : [functionCall(`transfer_to_${to}`, {}, { callId: `c${++call}` })];
  });
const script = (name, to) => new ScriptedModel(Array.from({ length: 8 }, () => passes(name, to)));

const billing = new Agent({ name: "billing", model: script("billing", "support") });
const support = new Agent({ name: "support", model: script("support", "billing"), handoffs: [billing] });
billing.handoffs = [support];

let run;
const runner = instrument(new Runner({ tracingDisabled: true }), { mode: "enforce", onRun: (begun) => (run = begun) });
const result = await runner.run(support, "my invoice is wrong");
console.log(result.finalOutput);
console.log(run.welcome ? `digctl show ${run.id}` : "no daemon was listening; the run went on unchanged");
