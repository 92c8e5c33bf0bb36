// Graphs for the LangGraph.js zoo: builders whose nodes record their calls and inputs.
import { HumanMessage } from "@langchain/core/messages";
import { Annotation, END, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { instrument, type LangGraphOptions } from "../src/langgraph.js";
import type { CaseOptions, Probe, Zoo } from "./harness.js";

export const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  n: Annotation<number>({ reducer: (_, b) => b, default: () => 0 }),
});
export type S = typeof State.State;
export const question = { messages: [new HumanMessage({ content: "the question", id: "m0" })] };
export const parallel: CaseOptions = { ordered: false };

/** A node that records its calls and inputs. */
export const node =
  (probe: Probe, name: string, make: (state: S, call: number) => unknown = () => ({ log: [name] })) =>
  async (state: S): Promise<any> => {
    const call = probe.countCall(name);
    probe.recordInput([name, state]);
    return make(state, call);
  };
export const watched = <G>(probe: Probe, graph: G, more: LangGraphOptions = {}): G =>
  probe.attached ? instrument(graph, { ...probe.options, ...more }) : graph;
export type Builder = StateGraph<any, any, any, any, any, any>;

/** A builder whose nodes record, with one edge for each pair. */
export function build(
  probe: Probe,
  nodes: Record<string, ((state: S, call: number) => unknown) | undefined>,
  edges: [string | string[], string][],
  deferred: string[] = [],
): Builder {
  const builder = new StateGraph(State) as any;
  for (const [name, make] of Object.entries(nodes))
    builder.addNode(name, node(probe, name, make), { defer: deferred.includes(name), ends: Object.keys(nodes) });
  for (const [from, to] of edges) builder.addEdge(from, to);
  return builder as Builder;
}

/** Streams every mode, reads the state and its history, and invokes the graph once more without a checkpointer. */
export async function observe(
  probe: Probe,
  make: () => Builder,
  input: unknown = question,
  more: LangGraphOptions = {},
): Promise<unknown> {
  const graph = watched(probe, make(), more).compile({ checkpointer: new MemorySaver() }) as any;
  const config = { configurable: { thread_id: "t" } };
  const modes = ["values", "updates", "messages", "custom", "tasks", "checkpoints", "debug"];
  for await (const chunk of await graph.stream(input, { ...config, streamMode: modes, subgraphs: true }))
    probe.record(chunk);
  probe.record((await graph.getState(config)).values);
  for await (const state of graph.getStateHistory(config)) probe.record(state);
  const compiled = watched(probe, make(), more).compile() as any;
  probe.record((await compiled.getGraphAsync()).drawMermaid());
  probe.record(Object.keys(compiled).sort());
  return compiled.invoke(input);
}

/** A function that adds a healthy graph to the zoo. `observe` runs it. */
export const shapesOf =
  (zoo: Zoo) =>
  (name: string, make: (probe: Probe) => Builder, options: CaseOptions = {}, input: unknown = question): void =>
    zoo.healthy(`langgraph ${name}`, (probe) => observe(probe, () => make(probe), input), options);

/** A chain of the nodes a, b and c. */
export const threeNodes = (p: Probe): Builder =>
  build(p, { a: undefined, b: undefined, c: undefined }, [
    [START, "a"],
    ["a", "b"],
    ["b", "c"],
    ["c", END],
  ]);
export const threadConfig = { configurable: { thread_id: "t" } };
export const recordHistory = async (p: Probe, graph: any): Promise<void> => {
  for await (const state of graph.getStateHistory(threadConfig)) p.record(state);
};
