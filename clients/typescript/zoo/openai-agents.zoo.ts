// Healthy and broken systems of the OpenAI Agents SDK for JavaScript, in the shapes of its own guides.
import { Agent, handoff, Handoff, MemorySession, Runner, setTracingDisabled, tool, type Session } from "@openai/agents";
import {
  assistantMessage,
  functionCall,
  modelError,
  ScriptedModel,
  type ScriptedModelInput,
} from "@openai/agents/testing";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { expect } from "vitest";
import { instrument, type OpenAIAgentsOptions } from "../src/openai-agents.js";
import { Zoo, type CaseOptions, type Probe } from "./harness.js";

setTracingDisabled(true);

const zoo = new Zoo();
const answers = (text: string): ScriptedModelInput => [assistantMessage(text)];
let callNumber = 0;
const callsTools = (...names: (string | [string, object])[]): ScriptedModelInput =>
  names.map((name) =>
    functionCall(
      typeof name === "string" ? name : name[0],
      typeof name === "string" ? {} : (name[1] as Record<string, unknown>),
      { callId: `c${++callNumber}` },
    ),
  );
const request = (name: string, input: string): [string, object] => [name, { input }];

/** The agents of one system and the inputs of their models. */
class Team {
  private readonly agents = new Map<string, { agent: Agent<any, any>; script: ScriptedModel }>();
  constructor(readonly probe: Probe) {
    callNumber = 0;
  }
  agent(name: string, script: ScriptedModelInput[], more: object = {}): Agent<any, any> {
    const model = new ScriptedModel(script);
    const agent = new Agent({ name, model, ...more }) as Agent<any, any>;
    this.agents.set(name, { agent, script: model });
    return agent;
  }
  runner(more: OpenAIAgentsOptions = {}): Runner {
    const runner = new Runner({ tracingDisabled: true });
    return this.probe.attached ? instrument(runner, { ...this.probe.options, ...more }) : runner;
  }
  /** Records what the user can observe of a result and of the agents. Returns the final output. */
  record(result: any): unknown {
    const { probe } = this;
    probe.record([
      result.finalOutput,
      result.lastAgent?.name,
      result.history,
      result.output,
      result.newItems?.map((i: any) => [i.type, i.rawItem]),
      result.state.usage,
    ]);
    probe.record(
      result.lastAgent === undefined || [...this.agents.values()].some(({ agent }) => agent === result.lastAgent),
    );
    this.recordModels();
    return result.finalOutput;
  }
  recordModels(): void {
    for (const [name, { agent, script }] of this.agents) {
      this.probe.recordInput([
        name,
        script.calls.map((c) => [c.request.input, c.request.systemInstructions, c.request.handoffs, c.request.tools]),
      ]);
      this.probe.record([
        Object.keys(agent).sort(),
        agent.handoffs.map((h: any) => [h.constructor.name, Object.keys(h).sort()]),
      ]);
    }
  }
  modelInput(name: string, call: number): string {
    return JSON.stringify(this.agents.get(name)?.script.calls[call]?.request.input ?? null);
  }
}

const healthy = (name: string, body: (team: Team) => Promise<unknown>, options: CaseOptions = {}): void =>
  zoo.healthy(`openai ${name}`, (probe) => body(new Team(probe)), options);
const lookTool = (p: Probe, text = "seen", more: object = {}): any =>
  tool({
    name: "look",
    description: "looks",
    parameters: z.object({}),
    execute: () => (p.countCall("look"), text),
    ...more,
  });
const asTool = (agent: Agent<any, any>, name = `ask_${agent.name}`): any =>
  agent.asTool({ toolName: name, toolDescription: "asks" });

healthy("one agent", async (t) => t.record(await t.runner().run(t.agent("a", [answers("done")]), "go")));
healthy("input of items", async (t) =>
  t.record(await t.runner().run(t.agent("a", [answers("done")]), [{ role: "user", content: "go" }])),
);
healthy("tools with equal texts", async (t) =>
  t.record(
    await t
      .runner()
      .run(
        t.agent("a", [callsTools("look", "look"), callsTools("look"), answers("done")], { tools: [lookTool(t.probe)] }),
        "go",
      ),
  ),
);
healthy("triage", async (t) => {
  const coder = t.agent("coder", [answers("done")]);
  return t.record(
    await t.runner().run(t.agent("triage", [callsTools("transfer_to_coder")], { handoffs: [coder] }), "go"),
  );
});
healthy("escalation ladder", async (t) => {
  let last = t.agent("l6", [answers("done")]);
  for (let i = 5; i > 0; --i) last = t.agent(`l${i}`, [callsTools(`transfer_to_l${i + 1}`)], { handoffs: [last] });
  return t.record(await t.runner().run(last, "go"));
});
healthy("handoff back to triage and on", async (t) => {
  const billing = t.agent("billing", [callsTools("transfer_to_triage")]);
  const sales = t.agent("sales", [answers("sold")]);
  const triage = t.agent("triage", [callsTools("transfer_to_billing"), callsTools("transfer_to_sales")], {
    handoffs: [billing, sales],
  });
  billing.handoffs = [triage];
  return t.record(await t.runner().run(triage, "go"));
});
healthy("agents that work in turns by handoff", async (t) => {
  const turns = (name: string, to: string, n: number, end: ScriptedModelInput[]): Agent<any, any> =>
    t.agent(
      name,
      [...Array.from({ length: n }, () => [callsTools("look"), callsTools(`transfer_to_${to}`)]).flat(), ...end],
      {
        tools: [lookTool(t.probe)],
      },
    );
  const a = turns("a", "b", 4, [answers("done")]);
  const b = turns("b", "a", 4, []);
  a.handoffs = [b];
  b.handoffs = [a];
  return t.record(await t.runner().run(a, "go", { maxTurns: 40 }));
});
healthy("handoff with input, filter and callback", async (t) => {
  const coder = t.agent("coder", [answers("done")]);
  const to = handoff(coder, {
    inputType: z.object({ why: z.string() }),
    onHandoff: (_, input) => void t.probe.record(input),
    inputFilter: (data) => ({ ...data, newItems: [] }),
  });
  return t.record(
    await t
      .runner()
      .run(t.agent("triage", [callsTools(["transfer_to_coder", { why: "code" }])], { handoffs: [to] }), "go"),
  );
});
healthy("handoff to an agent chosen at run time", async (t) => {
  const expert = t.agent("expert", [answers("done")]);
  return t.record(
    await t.runner().run(
      t.agent("triage", [callsTools("transfer_to_coder")], {
        handoffs: [new Handoff(t.agent("coder", []), () => expert)],
      }),
      "go",
    ),
  );
});
healthy("agent as a tool", async (t) =>
  t.record(
    await t.runner().run(
      t.agent("lead", [callsTools(request("ask_helper", "what?")), answers("42")], {
        tools: [asTool(t.agent("helper", [answers("42")]))],
      }),
      "go",
    ),
  ),
);
healthy("equal questions to one helper, in turn and at once", async (t) => {
  const helper = t.agent("helper", [answers("42"), answers("42"), answers("42")]);
  return t.record(
    await t
      .runner()
      .run(
        t.agent(
          "lead",
          [
            callsTools(request("ask_helper", "?")),
            callsTools(request("ask_helper", "?"), request("ask_helper", "?")),
            answers("42"),
          ],
          { tools: [asTool(helper)] },
        ),
        "go",
      ),
  );
});
healthy(
  "a vote of three experts",
  async (t) => {
    const experts = ["x", "y", "z"].map((name) => t.agent(name, [answers("42")]));
    return t.record(
      await t.runner().run(
        t.agent("lead", [callsTools(...experts.map((e) => request(`ask_${e.name}`, "same"))), answers("42")], {
          tools: experts.map((e) => asTool(e)),
        }),
        "go",
      ),
    );
  },
  { ordered: false },
);
healthy(
  "a tree of requests",
  async (t) => {
    const branch = (name: string): Agent<any, any> =>
      t.agent(name, [callsTools(request(`ask_${name}_leaf`, "p"), request(`ask_${name}_leaf`, "q")), answers(name)], {
        tools: [asTool(t.agent(`${name}_leaf`, [answers("1"), answers("2")]))],
      });
    const [left, right] = [branch("left"), branch("right")];
    return t.record(
      await t.runner().run(
        t.agent("lead", [callsTools(request("ask_left", "x"), request("ask_right", "y")), answers("both")], {
          tools: [asTool(left), asTool(right)],
        }),
        "go",
      ),
    );
  },
  { ordered: false },
);
healthy("a tool that runs an agent and handles its error", async (t) => {
  const helper = t.agent("helper", [modelError(new Error("busy"))]);
  const runner = t.runner();
  const ask = tool({
    name: "ask",
    description: "asks",
    parameters: z.object({}),
    execute: () =>
      runner.run(helper, "?").then(
        (r) => String(r.finalOutput),
        () => "nobody there",
      ),
  });
  return t.record(
    await runner.run(t.agent("lead", [callsTools("ask"), answers("done without")], { tools: [ask] }), "go"),
  );
});
healthy("a helper that fails and is asked again", async (t) => {
  const helper = t.agent("helper", [modelError(new Error("busy")), answers("42")]);
  return t.record(
    await t.runner().run(
      t.agent("lead", [callsTools(request("ask_helper", "?")), callsTools(request("ask_helper", "?")), answers("42")], {
        tools: [asTool(helper)],
      }),
      "go",
    ),
  );
});
/** A tool that starts a run and does not wait for it. */
const startsRun = (start: () => Promise<unknown>, started: Promise<unknown>[]): any =>
  tool({
    name: "start",
    description: "starts",
    parameters: z.object({}),
    execute: () => (started.push(start()), "started"),
  });
for (const [when, delayMs] of [
  ["begins after the answer", 30],
  ["ends at the time of the answer", 0],
] as const) {
  healthy(
    `a run in the background that ${when}`,
    async (t) => {
      const runner = t.runner();
      const started: Promise<any>[] = [];
      const clerk = t.agent("clerk", [answers("filed")]);
      const logger = t.agent("logger", [callsTools(request("ask_clerk", "file")), answers("logged")], {
        tools: [asTool(clerk)],
      });
      const log = (): Promise<any> => runner.run(logger, "log it");
      const boss = t.agent("boss", [callsTools("start"), callsTools("look"), callsTools("look"), answers("done")], {
        tools: [startsRun(delayMs > 0 ? () => setTimeout(delayMs).then(log) : log, started), lookTool(t.probe)],
      });
      const answer = await runner.run(boss, "go");
      for (const result of await Promise.all(started)) t.probe.record(result.finalOutput);
      return t.record(answer);
    },
    { ordered: false },
  );
}
for (const handsOff of [false, true]) {
  healthy(
    `a run in the background that ${handsOff ? "hands off" : "answers"} after the answer`,
    async (t) => {
      const runner = t.runner();
      const started: Promise<any>[] = [];
      let isAnswered = (): void => {};
      const wait = new Promise<void>((resolve) => (isAnswered = resolve));
      const pause = tool({
        name: "pause",
        description: "waits",
        parameters: z.object({}),
        execute: () => wait.then(() => "waited"),
      });
      const other = t.agent("other", [answers("late")]);
      const end = handsOff ? [callsTools("transfer_to_other")] : [callsTools("ask_other"), answers("late")];
      const watcher = t.agent("watcher", [callsTools("pause"), ...end], {
        handoffs: handsOff ? [other] : [],
        tools: handsOff
          ? [pause]
          : [
              pause,
              tool({
                name: "ask_other",
                description: "asks",
                parameters: z.object({}),
                execute: async () => String((await runner.run(other, "?")).finalOutput),
              }),
            ],
      });
      const boss = t.agent("boss", [callsTools("start"), ...(handsOff ? [callsTools("look")] : []), answers("done")], {
        tools: [startsRun(() => runner.run(watcher, "watch it"), started), lookTool(t.probe)],
      });
      const answer = await runner.run(boss, "go");
      isAnswered();
      for (const result of await Promise.all(started)) t.probe.record(result.finalOutput);
      return t.record(answer);
    },
    { ordered: false },
  );
}
healthy("a tool that throws", async (t) =>
  t.record(
    await t.runner().run(
      t.agent("a", [callsTools("bad"), answers("done")], {
        tools: [
          tool({
            name: "bad",
            description: "b",
            parameters: z.object({}),
            execute: () => {
              throw new Error("broken");
            },
          }),
        ],
      }),
      "go",
    ),
  ),
);
healthy("structured output", async (t) =>
  t.record(await t.runner().run(t.agent("a", [answers('{"n":1}')], { outputType: z.object({ n: z.number() }) }), "go")),
);
healthy("empty answer", async (t) => t.record(await t.runner().run(t.agent("a", [answers("")]), "go")));
healthy("limit on turns", async (t) => {
  const error = await t
    .runner()
    .run(
      t.agent("a", [callsTools("look"), callsTools("look"), answers("late")], { tools: [lookTool(t.probe)] }),
      "go",
      { maxTurns: 2 },
    )
    .catch((e: Error) => e);
  t.recordModels();
  return [(error as Error).name, (error as Error).message];
});
healthy(
  "model error",
  async (t) => {
    const error = await t
      .runner()
      .run(t.agent("a", [modelError(new Error("no model"))]), "go")
      .catch((e: Error) => e);
    return [(error as Error).name, (error as Error).message];
  },
  { mayReport: true },
);
healthy("input guardrail that trips", async (t) => {
  const guard = { name: "g", execute: async () => ({ tripwireTriggered: true, outputInfo: null }) };
  return t
    .runner()
    .run(t.agent("a", [answers("done")], { inputGuardrails: [guard] }), "go")
    .catch((e: Error) => [e.name, e.message]);
});
healthy("output guardrail", async (t) =>
  t.record(
    await t.runner().run(
      t.agent("a", [answers("done")], {
        outputGuardrails: [{ name: "g", execute: async () => ({ tripwireTriggered: false, outputInfo: 1 }) }],
      }),
      "go",
    ),
  ),
);
healthy("session over several turns", async (t) => {
  const session: Session = new MemorySession();
  const [runner, a] = [t.runner(), t.agent("a", [answers("one"), answers("two")])];
  for (const text of ["hello", "again"]) t.record(await runner.run(a, text, { session }));
  t.probe.record(await session.getItems());
});
healthy("stop at the first tool", async (t) =>
  t.record(
    await t
      .runner()
      .run(
        t.agent("a", [callsTools("look")], { tools: [lookTool(t.probe)], toolUseBehavior: "stop_on_first_tool" }),
        "go",
      ),
  ),
);
healthy("approval given", async (t) => {
  const [runner, a] = [
    t.runner(),
    t.agent("a", [callsTools("look"), answers("done")], {
      tools: [lookTool(t.probe, "seen", { needsApproval: true })],
    }),
  ];
  const first = await runner.run(a, "go");
  first.state.approve(first.interruptions[0]!);
  return t.record(await runner.run(a, first.state));
});
healthy("approval refused", async (t) => {
  const [runner, a] = [
    t.runner(),
    t.agent("a", [callsTools("look"), answers("not done")], {
      tools: [lookTool(t.probe, "seen", { needsApproval: true })],
    }),
  ];
  const first = await runner.run(a, "go");
  first.state.reject(first.interruptions[0]!);
  return t.record(await runner.run(a, first.state));
});
healthy("stream with a handoff and a tool", async (t) => {
  const coder = t.agent("coder", [callsTools("look"), answers("done")], { tools: [lookTool(t.probe)] });
  const stream = await t
    .runner()
    .run(t.agent("triage", [callsTools("transfer_to_coder")], { handoffs: [coder] }), "go", { stream: true });
  for await (const event of stream)
    t.probe.record(event.type === "run_item_stream_event" ? [event.name, event.item.type] : event);
  await stream.completed;
  return t.record(stream);
});
healthy(
  "stream that fails",
  async (t) => {
    const stream = await t.runner().run(t.agent("a", [modelError(new Error("no model"))]), "go", { stream: true });
    const error = await (async () => {
      for await (const event of stream) t.probe.record(event.type);
    })().catch((e: Error) => [e.name, e.message]);
    await stream.completed.catch(() => undefined);
    return error;
  },
  { mayReport: true },
);
healthy(
  "two runs at once",
  async (t) => {
    const runner = t.runner();
    const results = await Promise.all(["a", "b"].map((name) => runner.run(t.agent(name, [answers(name)]), "go")));
    return results.map((r) => r.finalOutput);
  },
  { ordered: false },
);
healthy("judge in a loop of the program", async (t) => {
  const [runner, writer, judge] = [
    t.runner(),
    t.agent("writer", [answers("draft"), answers("better")]),
    t.agent("judge", [answers("no"), answers("yes")]),
  ];
  const drafts: unknown[] = [];
  for (let verdict: unknown = "no"; verdict !== "yes";) {
    drafts.push((await runner.run(writer, "write")).finalOutput);
    drafts.push((verdict = (await runner.run(judge, "judge")).finalOutput));
  }
  return drafts;
});
healthy("listeners and hooks", async (t) => {
  const runner = t.runner();
  const coder = t.agent("coder", [answers("done")]);
  const triage = t.agent("triage", [callsTools("transfer_to_coder")], { handoffs: [coder] });
  for (const name of ["agent_start", "agent_end", "agent_handoff"] as const)
    runner.on(
      name,
      (_: unknown, ...parts: any[]) => void t.probe.record([name, parts.map((w) => w?.name ?? typeof w)]),
    );
  t.probe.record(Object.keys(runner).sort());
  return t.record(await runner.run(triage, "go"));
});
healthy("a model input filter of the user's", async (t) =>
  t.record(
    await t.runner().run(t.agent("a", [answers("done")]), "go", {
      callModelInputFilter: ({ modelData }: any) => ({ ...modelData, instructions: "short" }),
    }),
  ),
);
healthy(
  "cancelled by a signal",
  async (t) => {
    const control = new AbortController();
    const stop = tool({
      name: "stop",
      description: "s",
      parameters: z.object({}),
      execute: () => (control.abort(), "stopped"),
    });
    return t
      .runner()
      .run(t.agent("a", [callsTools("stop"), answers("late")], { tools: [stop] }), "go", { signal: control.signal })
      .then(
        (r) => r.finalOutput,
        (e: Error) => e.name,
      );
  },
  { mayReport: true },
);

// ---- broken systems

const broken = (name: string, rule: string, body: (team: Team) => Promise<unknown>, options: CaseOptions = {}): void =>
  zoo.broken(`openai ${name}`, rule, (probe) => body(new Team(probe)), options);
const waitIfEnforced = (t: Team): OpenAIAgentsOptions =>
  t.probe.enforces ? { waitForHealingMs: 20_000, healErrors: true } : {};

broken("an answer although a helper failed", "early_termination", async (t) => {
  const helper = t.agent("helper", [modelError(new Error("busy")), answers("42")]);
  const lead = t.agent(
    "lead",
    [
      callsTools(request("ask_helper", "?")),
      answers("no idea"),
      ...(t.probe.enforces ? [callsTools(request("ask_helper", "?")), answers("42")] : []),
    ],
    { tools: [asTool(helper)] },
  );
  const { finalOutput } = await t.runner().run(lead, "go");
  expect(finalOutput).toBe(t.probe.enforces ? "42" : "no idea");
  if (t.probe.enforces) expect(t.modelInput("lead", 2)).toContain("helper");
});
broken("agents that hand the same task back and forth", "excessive_rerouting", async (t) => {
  const a = t.agent("a", [callsTools("transfer_to_b"), callsTools("transfer_to_b"), answers("handled")]);
  const b = t.agent("b", [callsTools("transfer_to_a"), callsTools("transfer_to_a")]);
  a.handoffs = [b];
  b.handoffs = [a];
  await t.runner().run(a, "go");
  expect(t.modelInput("a", 2).includes("passed on 3 times")).toBe(t.probe.enforces);
});
broken(
  "an error leaves the work open",
  "deadlock",
  async (t) => {
    const lead = t.agent("lead", [modelError(new Error("no model")), ...(t.probe.enforces ? [answers("done")] : [])]);
    const output = await t
      .runner(waitIfEnforced(t))
      .run(lead, "go")
      .then(
        (r) => r.finalOutput,
        () => "failed",
      );
    expect(output).toBe(t.probe.enforces ? "done" : "failed");
  },
  { rules: { deadlock: { window_ms: 200, max_attempts: 1 } } },
);

zoo.register();
