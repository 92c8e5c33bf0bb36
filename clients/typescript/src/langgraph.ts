// LangGraph.js under digd. `instrument(builder)` before `compile()`: every node is an agent, every execution of it an
// activation, every edge taken an event that is held until its verdict.
//
// How: after compiling, what a node writes to other nodes' channels (edges, conditional edges, `Command` goto, `Send`,
// joins) is caught in one place, `Gate`, and only written when the verdict is there. The graph's own definition stays as
// it is, and so do its drawing and its checkpoints. A hidden deferred node runs when nothing else is left to do, and waits
// there for the monitor if the graph has come to rest without an answer.
import { HumanMessage } from "@langchain/core/messages";
import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import { isCommand, isGraphInterrupt, isParentCommand, type CompiledStateGraph, type StateGraph } from "@langchain/langgraph";
import type { Activation, Output } from "./activation.js";
import { Inbox, restMs, RunSettings, snapshot } from "./adapter.js";
import { Idle, restNode } from "./langgraph-rest.js";
import { Mail, type Letter } from "./langgraph-mail.js";
import type { RunOptions } from "./options.js";
import { Run } from "./run.js";
import type { Verdict } from "./verdict.js";

export interface LangGraphOptions {
  /** Of the run that each invocation begins; `agents` are the nodes. A function gets the invocation's config. */
  run?: RunOptions | ((config: RunnableConfig) => RunOptions);
  /** Nodes whose way to END is a final answer. Default: all. Name them if parallel branches each end at END. */
  submits?: readonly string[];
  /** How long a graph at rest without an answer waits for the monitor; milliseconds. Default: its slowest window, and a second. */
  patienceMs?: number;
  /** Adds texts to what a node gets. Default: `digd: string[]` and, if there are `messages`, a HumanMessage for each. */
  inject?: (input: any, texts: readonly string[], node: string) => unknown;
  /** What of a node's update is told as the payload of its events. Default: all of it, as JSON, up to 16 KiB. */
  payload?: (update: unknown, node: string) => unknown;
  /** Called with the run of each invocation when it begins: to look on. */
  onRun?: (run: Run) => void;
}

type Write = [channel: string, value: any];
/** Writes that are one event: of the edges together, of each conditional edge, of a command's goto, of each `Send`. */
interface Way {
  to: string[];
  writes: Write[];
  isGoto: boolean;
}
type AnyGraph = CompiledStateGraph<any, any, any, any, any, any>;
const contextKey = "__digd";
const sendKey = "__pregel_send";
const endKey = "__digd_end";
const branchPrefix = "branch:to:";
const tasksChannel = "__pregel_tasks";
const extraSteps = 4; // of the hidden node: as often as the monitor wakes a run by default, and the end
const mostPaused = 1000;
const unknownVersion = "instrument: this version of @langchain/langgraph is built otherwise than those this adapter knows (1.7)";

/** Everything about one invocation. */
export class Context {
  readonly mail = new Mail();
  readonly inbox = new Inbox();
  readonly open = new Map<string, { activation: Activation; letters: Letter[] }>(); // by task
  readonly joined = new Map<string, Set<unknown>>(); // by join: who has come
  answered = false; // an answer was let through
  over = false; // the graph has come to its end
  constructor(
    readonly owner: Instrument,
    readonly run: Run,
  ) {}

  /** Acts on what the monitor asked for: letters, and the writes that wake their readers. */
  intervene(): Write[] {
    const writes: Write[] = [];
    for (const what of this.inbox.take()) {
      for (const node of what.recipients) writes.push(this.owner.wake(this, node, what.event ?? what.id, what.inject));
    }
    return writes;
  }
}

const contextOf = (owner: Instrument, config: RunnableConfig | undefined): Context | null => {
  const context = config?.configurable?.[contextKey] as Context | undefined;
  return context?.owner === owner ? context : null;
};
const taskOf = (config: RunnableConfig | undefined): string => String(config?.configurable?.["__pregel_task_id"] ?? "");

/** A node under watch: an activation around what it does. */
class WatchedNode extends Runnable {
  lc_namespace = ["digd"];
  constructor(
    private readonly owner: Instrument,
    private readonly node: string,
    private readonly inner: Runnable,
  ) {
    super();
  }

  override getName(): string {
    return this.inner.getName();
  }

  override async invoke(input: any, config?: RunnableConfig): Promise<any> {
    const context = contextOf(this.owner, config);
    if (!context) return this.inner.invoke(input, config);
    const letters = context.mail.take(this.node, input, config);
    const activation = context.run.begin(this.node, letters.map((l) => l.event));
    context.open.set(taskOf(config), { activation, letters });
    const texts = letters.flatMap((l) => (l.inject === undefined ? [] : [l.inject]));
    try {
      return await this.inner.invoke(texts.length > 0 ? this.owner.injected(input, texts, this.node) : input, config);
    } catch (error) {
      if (!isParentCommand(error as Error)) await this.broken(context, config, error);
      throw error;
    }
  }

  /** An interrupt leaves the inputs waiting for the resumption; a failure leaves them pending for another try. */
  private async broken(context: Context, config: RunnableConfig | undefined, error: unknown): Promise<void> {
    await this.owner.abandon(context, taskOf(config), this.node, error);
  }
}

/** Where a node's writes to other nodes are held until their verdicts. */
class Gate extends Runnable {
  lc_namespace = ["digd"];
  constructor(
    private readonly owner: Instrument,
    private readonly node: string,
    private readonly originals: readonly Runnable[],
  ) {
    super();
  }

  override async invoke(input: any, config?: RunnableConfig): Promise<any> {
    const context = contextOf(this.owner, config);
    if (!context) {
      for (const writer of this.originals) await writer.invoke(input, config);
      return input;
    }
    let ways: Way[];
    let atEnd: boolean;
    try {
      [ways, atEnd] = await this.caught(input, config);
    } catch (error) {
      await this.owner.abandon(context, taskOf(config), this.node, error);
      throw error;
    }
    const allowed = await this.owner.judged(context, this.node, input, ways, atEnd, config);
    const send = config?.configurable?.[sendKey] as (writes: Write[]) => void;
    send([...allowed, ...context.intervene()]);
    return input;
  }

  /** Where the node's edges, branches and commands would lead, and whether to END. The first writer is that of commands. */
  private async caught(input: any, config: RunnableConfig | undefined): Promise<[Way[], boolean]> {
    const ways: Way[] = [];
    const end = { reached: this.owner.endsAfter(this.node, input) };
    const edges: Write[] = [];
    for (const [i, writer] of this.originals.entries()) {
      const isEdge = Array.isArray((writer as { writes?: unknown }).writes);
      const writes: Write[] = isEdge ? edges : [];
      const configurable = { ...config?.configurable, [sendKey]: (more: Write[]) => void writes.push(...more), [endKey]: end };
      await writer.invoke(input, { ...config, configurable });
      if (!isEdge) ways.push(...waysOf(writes, i === 0));
    }
    ways.push(...waysOf(edges, false));
    return [ways, end.reached];
  }
}

/** One graph under watch: its nodes, and how what they do becomes activations and events. */
export class Instrument {
  private readonly settings: RunSettings<RunnableConfig>;
  private readonly paused = new Map<string, Context>(); // interrupted invocations, by thread
  private nodes: string[] = [];
  private joins = new Map<string, number>(); // by channel: how many have to come
  private always = new Set<string>(); // nodes that end without a word: an edge to END, or none at all

  constructor(readonly options: LangGraphOptions) {
    this.settings = new RunSettings(options.run);
  }

  /** Puts itself into a graph that was just compiled. */
  into(graph: AnyGraph): void {
    const builder = graph.builder as unknown as StateGraph<any> & { waitingEdges: Set<[string[], string]> };
    this.nodes = Object.keys(builder.nodes);
    for (const [starts, end] of builder.waitingEdges) this.joins.set(`join:${starts.join("+")}:${end}`, starts.length);
    for (const node of this.nodes) if (this.endsByItself(node, builder)) this.always.add(node);
    for (const branches of Object.values(builder.branches)) for (const branch of Object.values(branches)) noteEnds(branch);
    const compiled = graph as any;
    for (const node of [...this.nodes, "__start__"]) {
      const parts = compiled.nodes[node];
      if (!Array.isArray(parts?.writers) || parts.writers.length === 0) throw new TypeError(unknownVersion);
      if (node !== "__start__") parts.bound = new WatchedNode(this, node, parts.bound);
      parts.writers = [parts.writers[0], new Gate(this, node, parts.writers.slice(1))];
    }
    compiled.attachNode(restNode, { runnable: new Idle(this), defer: true });
    compiled.nodes[restNode].tags = ["langsmith:hidden"];
    compiled.triggerToNodes = {};
    compiled.validate();
    this.follow(compiled);
  }

  /** Adds texts to a node's input. */
  injected(input: any, texts: readonly string[], node: string): unknown {
    if (this.options.inject) return this.options.inject(input, texts, node);
    if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
    const said = texts.map((text) => new HumanMessage({ content: text, name: "digd" }));
    return { ...input, digd: texts, ...(Array.isArray(input.messages) ? { messages: [...input.messages, ...said] } : {}) };
  }

  /** Whether a node's way leads to END by a static edge or a command. */
  endsAfter(node: string, value: unknown): boolean {
    const commands = (Array.isArray(value) ? value : [value]).filter(isCommand) as { goto?: unknown }[];
    const goes = commands.flatMap((c) => c.goto ?? []);
    return goes.includes("__end__") || (this.always.has(node) && goes.length === 0);
  }

  /** A letter for a node, and the write that wakes it. */
  wake(context: Context, node: string, event: string, inject?: string): Write {
    const channel = branchPrefix + node;
    context.mail.put(node, { event, ...(inject === undefined ? {} : { inject }), channel, step: context.mail.step });
    return [channel, null];
  }

  /** Ends the node's activation, has its events judged, and returns the writes that are left of its ways. */
  async judged(context: Context, node: string, value: unknown, ways: Way[], atEnd: boolean, config?: RunnableConfig): Promise<Write[]> {
    context.mail.step = Math.max(context.mail.step, Number(config?.metadata?.["langgraph_step"] ?? 0));
    const payload = (of: unknown): unknown => (this.options.payload ? this.options.payload(of, node) : snapshot(of));
    if (node === "__start__") {
      const allowed = await Promise.all(ways.map(async (way) => this.deliver(context, way, await context.run.emit(way.to, { payload: payload(payloadOf(way, value)) }))));
      return [...allowed.flat(), [branchPrefix + restNode, null]];
    }
    const open = context.open.get(taskOf(config));
    if (!open) return ways.flatMap((way) => way.writes);
    context.open.delete(taskOf(config));
    const { activation, letters } = open;
    const passed = letters.length > 0 && passesOn(value) ? ways.filter((w) => w.isGoto && w.to.every((n) => this.nodes.includes(n))) : [];
    if (passed.length > 0) for (const { event } of letters) activation.reroute(event, passed.flatMap((w) => w.to));
    const outputs = ways.filter((w) => !passed.includes(w)).map((way): [Way, Output] => [way, activation.output(way.to, { payload: payload(payloadOf(way, value)) })]);
    const submits = atEnd && (this.options.submits?.includes(node) ?? true);
    const answer = submits ? activation.output([], { submit: true, payload: payload(value) }) : null;
    const verdicts = await activation.end();
    const allowed: Write[] = [];
    if (passed.length > 0) for (const verdict of verdicts.slice(0, letters.length)) allowed.push(...this.redeliver(context, verdict));
    for (const [way, output] of outputs) allowed.push(...this.deliver(context, way, await output.verdict));
    if (answer) allowed.push(...this.answered(context, await answer.verdict));
    return once(allowed);
  }

  /** A task that did not come to its end. */
  async abandon(context: Context, task: string, node: string, error: unknown): Promise<void> {
    const open = context.open.get(task);
    if (!open) return;
    context.open.delete(task);
    for (const letter of open.letters) context.mail.put(node, { ...letter, step: -1 });
    if (isGraphInterrupt(error as Error)) {
      open.activation.wait(...open.activation.inputs);
      await open.activation.end();
    } else {
      open.activation.fail(error);
    }
  }

  /** How long the graph may wait at rest; 0 if it has its answer. */
  patience(context: Context): number {
    return context.answered ? 0 : (this.options.patienceMs ?? restMs(context.run));
  }
  contextOf(config: RunnableConfig | undefined): Context | null {
    return contextOf(this, config);
  }

  private answered(context: Context, verdict: Verdict): Write[] {
    if (!verdict.givenBack) {
      context.answered = true;
      return [];
    }
    context.run.applied(verdict);
    return verdict.recipients.map((node) => this.wake(context, node, verdict.event, verdict.inject));
  }

  private deliver(context: Context, way: Way, verdict: Verdict): Write[] {
    const inject = verdict.inject === undefined ? {} : { inject: verdict.inject };
    context.run.applied(verdict);
    if (verdict.action === "reroute") return this.redeliver(context, verdict, false);
    for (const [i, [channel, value]] of way.writes.entries()) {
      const node = way.to[i] as string;
      if (!this.nodes.includes(node)) continue; // LangGraph drops it, with a warning
      context.mail.put(node, { event: verdict.event, ...inject, channel, step: context.mail.step, ...(channel === tasksChannel ? { packet: value.args } : {}) });
      if (this.joins.has(channel)) this.await(context, node, channel, value);
    }
    return way.writes;
  }

  /** To whom an event was passed, or given back. */
  private redeliver(context: Context, verdict: Verdict, report = true): Write[] {
    if (report) context.run.applied(verdict);
    return verdict.recipients.map((node) => this.wake(context, node, verdict.event, verdict.inject));
  }

  /** A join that others are missing at looks at what has come, and waits. */
  private await(context: Context, node: string, channel: string, from: unknown): void {
    const come = context.joined.get(channel) ?? new Set();
    context.joined.set(channel, come.add(from));
    if (come.size === this.joins.get(channel)) return void context.joined.delete(channel);
    const activation = context.run.begin(node, context.mail.waiting(node, channel));
    activation.wait(...activation.inputs);
    void activation.end();
  }

  private endsByItself(node: string, builder: any): boolean {
    const out = [...builder.edges].filter(([from]: [string]) => from === node).map(([, to]: [string, string]) => to);
    const joins = [...builder.waitingEdges].some(([from]: [string[]]) => from.includes(node));
    const branches = Object.keys(builder.branches[node] ?? {}).length > 0;
    return out.includes("__end__") || (out.length === 0 && !joins && !branches && !builder.nodes[node].ends?.length);
  }

  // ---- invocations

  /** Makes every invocation of this compiled graph, and of what is configured from it, a run. */
  private follow(compiled: any): void {
    const stream = compiled._streamIterator.bind(compiled);
    const withConfig = compiled.withConfig.bind(compiled);
    compiled.withConfig = (config: unknown) => {
      const other = withConfig(config);
      this.follow(other);
      return other;
    };
    const watched = this.watched.bind(this);
    compiled._streamIterator = (input: unknown, options: any) => watched(stream, compiled, input, options);
  }

  private async *watched(stream: (input: unknown, options: any) => AsyncGenerator<any>, compiled: any, input: unknown, options: any): AsyncGenerator<any> {
    if (options?.configurable?.[contextKey]) return yield* stream(input, options); // within another graph's node
    const thread = options?.configurable?.thread_id as string | undefined;
    const context = (await this.resumed(thread, input)) ?? (await this.begun(options ?? {}));
    const limit = options?.recursionLimit ?? compiled.config?.recursionLimit ?? 25;
    const config = { ...options, recursionLimit: limit + extraSteps, configurable: { ...options?.configurable, [contextKey]: context } };
    let outcome: "success" | "failure" | "aborted" = "aborted";
    try {
      yield* stream(input, config);
      outcome = "success";
    } catch (error) {
      outcome = "failure";
      throw error;
    } finally {
      if (outcome === "success" && !context.over && thread !== undefined) this.pause(thread, context);
      else await this.finish(context, outcome);
    }
  }

  private async begun(config: RunnableConfig): Promise<Context> {
    const options = this.settings.next(config);
    let context: Context | null = null;
    const run = new Run({ agents: this.nodes, onIntervention: (what) => (context as Context).inbox.handler(what), ...options });
    context = new Context(this, run);
    await run.ready();
    this.options.onRun?.(run);
    return context;
  }

  private resumed(thread: string | undefined, input: unknown): Context | null {
    const context = thread === undefined ? undefined : this.paused.get(thread);
    if (!context) return null;
    this.paused.delete(thread as string);
    if (input === null || isCommand(input)) return context;
    void this.finish(context, "aborted"); // the thread was begun anew
    return null;
  }

  private pause(thread: string, context: Context): void {
    this.paused.set(thread, context);
    if (this.paused.size <= mostPaused) return;
    const [oldest, first] = this.paused.entries().next().value as [string, Context];
    this.paused.delete(oldest);
    void this.finish(first, "aborted");
  }

  private async finish(context: Context, outcome: "success" | "failure" | "aborted"): Promise<void> {
    for (const { activation } of context.open.values()) activation.fail("the graph ended");
    context.open.clear();
    context.inbox.close();
    await context.run.end(outcome);
  }
}

/** A command that goes somewhere and changes nothing passes its inputs on. */
function passesOn(value: unknown): boolean {
  if (!isCommand(value)) return false;
  const { update, goto } = value as { update?: unknown; goto?: unknown };
  const empty = update === undefined || update === null || (typeof update === "object" && Object.keys(update).length === 0);
  return empty && goto !== undefined;
}

function payloadOf(way: Way, value: unknown): unknown {
  const [channel, packet] = way.writes[0] as Write;
  if (channel === tasksChannel) return packet.args;
  return isCommand(value) ? (value as { update?: unknown }).update : value;
}

/** The node that a write is for; null if it is for none. */
function targetOf([channel, value]: Write): string | null {
  if (channel === tasksChannel) return String(value.node);
  if (channel.startsWith(branchPrefix)) return channel.slice(branchPrefix.length);
  if (channel.startsWith("join:")) return channel.slice(channel.lastIndexOf(":") + 1);
  return null;
}

/** Every `Send` is a way of its own, the rest is one. */
function waysOf(writes: Write[], isGoto: boolean): Way[] {
  const led = writes.filter((w) => targetOf(w) !== null);
  const way = (some: Write[]): Way => ({ to: some.map((w) => targetOf(w) as string), writes: some, isGoto });
  const sends = led.filter(([channel]) => channel === tasksChannel);
  const rest = led.filter(([channel]) => channel !== tasksChannel);
  return [...sends.map((w) => way([w])), ...(rest.length > 0 ? [way(rest)] : [])].map((w, i) => (sends[i] ? { ...w, isGoto: false } : w));
}

/** A node is woken once, however many letters it has. */
function once(writes: Write[]): Write[] {
  const seen = new Set<string>();
  return writes.filter(([channel]) => !channel.startsWith(branchPrefix) || (!seen.has(channel) && seen.add(channel)));
}

/** Notes when a conditional edge chooses END, which leaves no trace in the channels. */
function noteEnds(branch: any): void {
  if (branch.digd) return;
  const route = branch._route;
  branch.digd = true;
  branch._route = function (this: unknown, input: unknown, config: any, writer: any, reader: unknown) {
    const noting = (targets: unknown[], more: unknown): unknown => {
      const end = config?.configurable?.[endKey] as { reached: boolean } | undefined;
      if (end && targets.includes("__end__")) end.reached = true;
      return writer(targets, more);
    };
    return route.call(this, input, config, noting, reader);
  };
}

const instrumented = new WeakSet<object>();

/**
 * Watches a LangGraph.js graph with digd. Call it on the `StateGraph` before `compile()` (or on what `compile()` returned);
 * returns what it was given; a second call does nothing. Each invocation of the compiled graph is then a run.
 */
export function instrument<G>(graph: G, options: LangGraphOptions = {}): G {
  const given = graph as any;
  if (instrumented.has(given)) return graph;
  if (typeof given?._streamIterator === "function") {
    new Instrument(options).into(given);
    instrumented.add(given);
    return graph;
  }
  if (typeof given?.compile !== "function" || typeof given?.addNode !== "function") {
    throw new TypeError("instrument: expected a StateGraph or what its compile() returns");
  }
  instrumented.add(given);
  const compile = given.compile.bind(given);
  given.compile = (...args: unknown[]) => instrument(compile(...args), options);
  return graph;
}
