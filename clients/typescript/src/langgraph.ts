/**
 * LangGraph.js: `instrument(builder)` before `builder.compile()`, or `instrument(compiledGraph)`.
 *
 * Each invocation of an instrumented graph is a run, and each execution of a node an activation. An instrumented graph
 * inside another graph, a node or a tool is a run of its own, with the names of its own nodes.
 *
 * The adapter changes no object of the user. It remembers the watched graphs and looks them up when LangGraph begins to
 * run a graph. `langgraph-internals.ts` lists the parts of LangGraph that the adapter relies on.
 *
 * @module langgraph
 */
import type { RunnableConfig } from "@langchain/core/runnables";
import { CompiledStateGraph, StateGraph } from "@langchain/langgraph";
import {
  checkedMode,
  lingerDefault,
  logUnwatched,
  runOptionsOf,
  RunSettings,
  waitsForHealing,
  type AdapterOptions,
} from "./adapter.js";
import { startNode, taskIdOf, type Loop } from "./langgraph-internals.js";
import type { Inject } from "./langgraph-text.js";
import { runByTask, Watch } from "./langgraph-watch.js";
import { safeLog, type RunOptions } from "./options.js";
import { Run } from "./run.js";

export { addTexts, notes, type Inject } from "./langgraph-text.js";

/** Options of `instrument`. A function `run` gets the invocation's config; `agents` are the nodes. */
export interface LangGraphOptions extends AdapterOptions<RunnableConfig> {
  /** The nodes whose ended branches are the answer. Default: all branches, when the graph comes to rest. */
  submits?: readonly string[];
  /** Returns a node's input with texts added, or the same object. Default: a HumanMessage at the end of `messages`. */
  inject?: Inject;
  /** Returns the payload to report for an update. Default: the whole update as JSON, up to 16 Ki characters. */
  payload?: (update: unknown, node: string) => unknown;
}

interface Watched {
  options: LangGraphOptions;
  settings: RunSettings<RunnableConfig>;
}

type RunLoop = (this: any, params: { loop: Loop; config: any }) => Promise<void>;

const watchedGraphs = new WeakMap<object, Watched>(); // by builder, or by the nodes of a compiled graph
const patchedPrototypes = new WeakSet<object>();

/** The options of a watched graph. Copies made by `withConfig` share the builder and the nodes. */
const watchedGraph = (graph: any): Watched | undefined =>
  watchedGraphs.get(graph.nodes as object) ?? (graph.builder ? watchedGraphs.get(graph.builder as object) : undefined);

/**
 * The options of the run of an invocation. LangGraph itself knows when no work is left, so a slow node or a slow reader
 * of a stream is not stuck.
 */
function resolveRunOptions(options: LangGraphOptions, given: RunOptions, config: any): RunOptions {
  const parentRun = runByTask.get(taskIdOf(config) ?? "");
  return {
    ...runOptionsOf(options, given),
    ...(parentRun === undefined ? {} : { labels: { parent_run: parentRun, ...given.labels } }),
  };
}

/** Begins a run of digd. Null in the mode `off`, and if a callback of the monitoring fails: it goes on unwatched. */
function begin({ options, settings }: Watched, loop: Loop, config: any): Watch | null {
  let log: RunOptions["log"];
  let run: Run | undefined;
  try {
    const given = settings.next(config);
    log = given.log;
    const resolved = resolveRunOptions(options, given, config);
    if (resolved.mode === "off") return null;
    const watch = beginRun(options, resolved, loop);
    run = watch.run;
    options.onRun?.(run);
    watch.attach();
    return watch;
  } catch (error) {
    void run?.close();
    logUnwatched(error, log);
    return null;
  }
}

function beginRun(options: LangGraphOptions, resolved: RunOptions, loop: Loop): Watch {
  let watch: Watch | null = null;
  const handler: RunOptions = waitsForHealing(options)
    ? { onIntervention: (intervention) => watch?.inbox.handler(intervention) ?? false }
    : {};
  const agents = Object.keys(loop.nodes).filter((name) => name !== startNode);
  // The task that made a write waits for its verdict, so it can wait for a person as well.
  const capabilities = { hold: resolved.hold !== false, ...resolved.capabilities };
  const run = new Run({ agents, ...handler, ...lingerDefault(resolved.mode), ...resolved, capabilities });
  run.adapterDefaults("langgraph-js");
  watch = new Watch(run, options, loop, safeLog(resolved.log ?? ((line) => console.warn(line))));
  return watch;
}

const pendingEnds = new Map<string, Set<Promise<unknown>>>(); // of nested graphs, by the run around them

/** The outermost graph waits until the ends of all runs within it are durable. */
async function allEnded(run: Run, end: Promise<void>, config: any): Promise<void> {
  const ends = Promise.all([end, ...(pendingEnds.get(run.id) ?? [])]);
  pendingEnds.delete(run.id);
  const parentRun = runByTask.get(taskIdOf(config) ?? "");
  if (parentRun === undefined) return void (await ends);
  const siblings = pendingEnds.get(parentRun) ?? new Set();
  pendingEnds.set(parentRun, siblings);
  const tracked: Promise<unknown> = ends.finally(() => {
    siblings.delete(tracked);
    if (siblings.size === 0 && pendingEnds.get(parentRun) === siblings) pendingEnds.delete(parentRun);
  });
  siblings.add(tracked);
}

/** Makes LangGraph look up whether digd watches the graph that it is about to run. Patches each prototype once. */
function patch(prototype: any): void {
  if (patchedPrototypes.has(prototype)) return;
  patchedPrototypes.add(prototype);
  const original = prototype._runLoop as RunLoop;
  const runLoop: RunLoop = async function (params) {
    const watched = watchedGraph(this);
    const watch = watched ? begin(watched, params.loop, params.config) : null;
    if (!watch) return original.call(this, params);
    let error: unknown;
    try {
      await original.call(this, params);
    } catch (raised) {
      error = raised ?? new Error("the graph threw nothing");
      throw raised;
    } finally {
      await allEnded(watch.run, watch.end(error, params.config?.signal?.aborted === true), params.config);
    }
  };
  Object.defineProperty(prototype, "_runLoop", {
    value: runLoop,
    configurable: true,
    writable: true,
    enumerable: false,
  });
}

/** The prototype that runs a graph. */
function runnerOf(graph: object): object {
  let prototype: object | null = graph;
  while (prototype && !Object.hasOwn(prototype, "_runLoop"))
    prototype = Object.getPrototypeOf(prototype) as object | null;
  if (!prototype)
    throw new TypeError(
      "instrument: this version of @langchain/langgraph is not supported by this adapter (supported: 1.7)",
    );
  return prototype;
}

/**
 * A program may have loaded LangGraph twice, as a module and as CommonJS. Then only a compiled graph shows which
 * prototype runs it, so wait for `compile`.
 */
function patchWhenCompiled(builder: any): void {
  const compile = builder.compile as (...args: unknown[]) => object;
  const value = function (this: unknown, ...args: unknown[]): object {
    const compiled = compile.apply(this, args);
    patch(runnerOf(compiled));
    return compiled;
  };
  Object.defineProperty(builder, "compile", { value, configurable: true, writable: true, enumerable: false });
}

/**
 * Lets digd watch a compiled graph, or every graph that a `StateGraph` compiles. Returns `graph` itself, unchanged. A
 * second call replaces the options; the mode `off` undoes it.
 */
export function instrument<G>(graph: G, options: LangGraphOptions = {}): G {
  const target = graph as any;
  const compiled =
    typeof target?._runLoop === "function"
      ? target
      : typeof target?.graph?._runLoop === "function"
        ? target.graph
        : null;
  const isBuilder = compiled === null && typeof target?.compile === "function" && typeof target?.addNode === "function";
  if (compiled?.builder === undefined && !isBuilder) {
    throw new TypeError("instrument: expected a StateGraph or what its compile() returns");
  }
  const key: object = compiled ? compiled.nodes : target;
  if (checkedMode(options) === "off") {
    watchedGraphs.delete(key);
    return graph;
  }
  watchedGraphs.set(key, { options, settings: new RunSettings(options.run) });
  if (compiled || target instanceof StateGraph) patch(runnerOf(compiled ?? CompiledStateGraph.prototype));
  else patchWhenCompiled(target);
  return graph;
}
