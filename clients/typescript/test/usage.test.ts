// What the adapters report of the frameworks' own token counts.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Command, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { usageOf } from "../src/langgraph-usage.js";
import { instrument } from "../src/langgraph.js";
import type { Run } from "../src/index.js";
import { Daemon } from "./daemon.js";

const ai = (id: string, tokens: number, tools: object[] = []): AIMessage =>
  new AIMessage({
    content: "text",
    id,
    tool_calls: tools as never,
    usage_metadata: { input_tokens: tokens, output_tokens: 1, total_tokens: tokens + 1 },
  });

describe("usage of LangGraph.js", () => {
  let daemon: Daemon;
  beforeAll(async () => void (daemon = await Daemon.start("threads = 2\nverdict_deadline_ms = 20000\n")));
  afterAll(() => daemon.stop());

  it("counts only messages that the node added, and each once", () => {
    const old = ai("old", 1000);
    const added = ai("new", 10, [{ name: "search", args: {}, id: "c1" }]);
    const before = { messages: [new HumanMessage("ask"), old] };
    const update = { messages: [old, added], last: added };
    for (const value of [update, [update], new Command({ update }), [new Command({ update }), update], added, [added]])
      expect(usageOf(value, before)).toEqual({ input_tokens: 10, output_tokens: 1, model_calls: 1, tool_calls: 1 });
    expect(usageOf(null, before).model_calls).toBe(0);
  });

  it("is reported with the end of the node", async () => {
    const runs: Run[] = [];
    const builder = new StateGraph(MessagesAnnotation)
      .addNode("a", () => ({ messages: [ai("m1", 7)] }))
      .addNode("b", () => ({ messages: [ai("m2", 20)] }))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .addEdge("b", END);
    const graph = instrument(builder.compile(), {
      run: { url: daemon.url, deadlineMs: 20_000, log: () => {} },
      onRun: (run) => runs.push(run),
    });
    await graph.invoke({ messages: [new HumanMessage("ask")] });
    const trace: any[] = await daemon.trace((runs[0] as Run).id);
    const used = trace.filter((m) => m.usage).map((m) => m.usage.input_tokens as number);
    expect(used).toEqual([7, 20]);
  });
});
