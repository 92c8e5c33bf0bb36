// The OpenAI Agents SDK for JavaScript: `instrument(new Runner())`. Each `run` of that runner is then a run of digd, an agent's
// turns until it hands off or answers an activation, a handoff an event, and an agent used as a tool a request and a response.
//
// `Runner.prototype.run` and `Agent.prototype.getEnabledHandoffs` look whether they are called within a watched run, which
// travels in an AsyncLocalStorage. No agent, handoff or runner is changed. In a mode that does not heal, nothing here waits,
// and the SDK gets no filter of model inputs.
import { AsyncLocalStorage } from "node:async_hooks";
import {
  Agent,
  Handoff,
  InputGuardrailTripwireTriggered,
  MaxTurnsExceededError,
  OutputGuardrailTripwireTriggered,
  Runner,
  RunState,
  user,
  type AgentInputItem,
} from "@openai/agents";
import type { Activation } from "./activation.js";
import { Inbox, RunSettings, snapshot } from "./adapter.js";
import { requestedMode, resolveOptions, type RunOptions } from "./options.js";
import { Run } from "./run.js";
import type { Verdict } from "./verdict.js";
import type { Mode, Outcome } from "./wire.js";

export interface OpenAIAgentsOptions {
  /** Default: DIGD_MODE, else `shadow`, which changes nothing. `off` undoes an earlier `instrument` and leaves no trace. */
  mode?: Mode;
  /** Of the run that each `runner.run` begins; `agents` are those that can be reached. A function gets the first agent. */
  run?: RunOptions | ((agent: Agent<any, any>) => RunOptions);
  /** How long a run without an answer waits for the monitor, in milliseconds. Default 0: an empty answer is an answer. */
  waitForHealingMs?: number;
  /** Also wait so after an error (too many turns, a failed model). Needs `waitForHealingMs`. */
  healErrors?: boolean;
  /** How often healing may make the same agent act again in a run. */
  maxReturnsPerAgent?: number;
  /** How long messages may be held in a run in all, in milliseconds; then they go out unchanged. */
  maxAddedMs?: number;
  /** Called with the run of each `runner.run` when it begins. */
  onRun?: (run: Run) => void;
}

type AnyAgent = Agent<any, any>;
type AnyResult = any;
type RunFn = (this: Runner, agent: AnyAgent, input: any, options?: any) => Promise<AnyResult>;

const maxRounds = 16; // how often an answer is asked for anew, whatever the daemon's limits
const neverMs = 7 * 24 * 3600 * 1000;
const defaultToolError = "An error occurred while running the tool";

interface Letter {
  event: string;
  inject?: string;
  verdict?: Verdict;
  /** The agents that have had this work, unchanged. */
  holders?: ReadonlySet<string>;
}

/** Everything about one run. */
class Context {
  readonly inbox = new Inbox();
  readonly agents = new Map<string, AnyAgent>();
  run!: Run;
  private readonly roster = new Set<string>();
  private events = 0;
  constructor(readonly options: OpenAIAgentsOptions) {}

  /** An id for an event that is announced while its activation goes on. */
  nextRequest(): string {
    return `r${++this.events}`;
  }

  /** Remembers the agents that can be reached from this one. Those used as tools become known when they are called. */
  learn(first: AnyAgent, join = false): void {
    for (const agent of reachable(first)) {
      if (join && !this.roster.has(agent.name)) this.run.agentJoined(agent.name);
      this.roster.add(agent.name);
      this.agents.set(agent.name, agent);
    }
  }
}

/** One thread of a conversation: whose turn it is, and in which activation. */
class Scope {
  activation: Activation;
  letters: readonly Letter[] = [];
  texts: string[] = []; // the monitor's, for the agent whose turn it is
  hasShown = false; // a model was given the texts
  requests = -1; // model calls of the run when this turn began
  asked = 0; // requests made of other agents in this activation
  failed: Activation[] = []; // runs of other agents that raised, and that nobody has dealt with
  responses: Letter[] = [];
  private readonly unresolved: Activation[] = [];

  constructor(
    readonly context: Context,
    public agent: AnyAgent,
    inputs: readonly Letter[],
  ) {
    this.activation = this.begin(agent, inputs);
  }

  /** The next agent's turn. */
  next(agent: AnyAgent, inputs: readonly Letter[]): void {
    this.agent = agent;
    this.requests = -1;
    this.activation = this.begin(agent, inputs);
  }

  /** Responses have come: the agent takes them up in an activation of its own. */
  async takeResponses(): Promise<void> {
    if (this.responses.length === 0) return;
    const letters = this.responses.splice(0);
    const texts = this.texts;
    await when(this.context, this.activation.end());
    this.activation = this.begin(this.agent, letters);
    this.texts = [...texts, ...this.texts];
  }

  /** Settles the requests whose runs raised. `open`: they are unresolved; else the agent has dealt with the error. */
  settleFailed(open: boolean): void {
    for (const { agent, inputs } of this.unresolved.splice(0)) this.discard(this.context.run.begin(agent, inputs));
    for (const activation of this.failed.splice(0)) {
      if (!open) this.discard(activation);
      else {
        activation.fail("the run raised");
        this.unresolved.push(activation); // until the agent, which reads so, acts again
      }
    }
  }

  private discard(activation: Activation): void {
    activation.discard(...activation.inputs);
    void activation.end();
  }

  /** Reports whether a model was given the texts of this turn. */
  reportTexts(): void {
    for (const { verdict } of this.letters) {
      if (verdict?.action === "inject")
        this.context.run.applied(verdict, this.hasShown ? undefined : "no model was given the text");
    }
    this.letters = [];
  }

  private begin(agent: AnyAgent, inputs: readonly Letter[]): Activation {
    this.reportTexts();
    this.letters = inputs;
    this.hasShown = false;
    this.texts = inputs.flatMap((l) => (l.inject === undefined ? [] : [l.inject]));
    this.asked = 0;
    return this.context.run.begin(
      agent.name,
      inputs.map((l) => l.event),
    );
  }
}

/** Waits for verdicts only if they can change something. */
async function when<T>(context: Context, judged: Promise<T>): Promise<T | undefined> {
  return context.run.heals ? await judged : undefined;
}

const scopes = new AsyncLocalStorage<Scope>();
const watchedRunners = new WeakMap<Runner, Watched>();
const paused = new WeakMap<object, { context: Context; inputs: readonly string[] }>(); // runs that wait for an approval, by state

const letterOf = (verdict: Verdict): Letter => ({
  event: verdict.event,
  verdict,
  ...(verdict.inject === undefined ? {} : { inject: verdict.inject }),
});
/** An event that is delivered unchanged, in a mode that does not heal. */
const unjudged = (event: string, recipients: readonly string[]): Verdict => ({
  event,
  action: "deliver",
  recipients,
  detections: [],
  givenBack: false,
});

// ---- handoffs

function reachable(first: AnyAgent): AnyAgent[] {
  const found = new Set<AnyAgent>([first]);
  for (const agent of found) {
    for (const to of agent.handoffs) found.add(to instanceof Handoff ? to.agent : (to as AnyAgent));
  }
  return [...found];
}

const watchedHandoffs = new WeakSet<object>();

/** The same handoff, which ends the turn of the agent that makes it. */
function watchedHandoff(handoff: Handoff<any, any>, agent: AnyAgent): Handoff<any, any> {
  if (watchedHandoffs.has(handoff)) return handoff;
  const onInvokeHandoff = async (runContext: any, args: string): Promise<AnyAgent> => {
    const target = (await handoff.onInvokeHandoff(runContext, args)) as AnyAgent;
    const scope = scopes.getStore();
    return scope && scope.agent.name === agent.name ? handedOff(scope, target, args, modelCalls(runContext)) : target;
  };
  const watched = Object.create(handoff, {
    onInvokeHandoff: { value: onInvokeHandoff, enumerable: true, writable: true },
  }) as Handoff<any, any>;
  watchedHandoffs.add(watched);
  return watched;
}

const modelCalls = (runContext: any): number => Number(runContext?.usage?.requests ?? 0);

/** Ends the turn of the agent that hands off, and begins that of the one that gets the work. */
async function handedOff(scope: Scope, target: AnyAgent, args: string, calls: number): Promise<AnyAgent> {
  const { context, activation } = scope;
  context.learn(target, true);
  scope.settleFailed(false);
  // A handoff without work, back to an agent that has had the same task, passes it on. Every other handoff is a new event.
  const worked = scope.requests < 0 || calls - scope.requests > 1 || scope.asked > 0;
  const holders = scope.letters.map((l) => l.holders ?? new Set<string>());
  const passes =
    !worked && holders.length > 0 && holders.every((h) => h.has(target.name)) && target.name !== scope.agent.name;
  const held = new Set([...(worked ? [] : holders.flatMap((h) => [...h])), scope.agent.name, target.name]);
  let ids: readonly string[] = activation.inputs;
  if (passes) for (const input of activation.inputs) activation.reroute(input, [target.name]);
  else ids = [activation.output([target.name], { payload: snapshot({ handoff: target.name, arguments: args }) }).id];
  const verdicts = (await when(context, activation.end())) ?? ids.map((id) => unjudged(id, [target.name]));
  let chosen = target;
  for (const verdict of verdicts) {
    const other = verdict.action === "reroute" ? context.agents.get(verdict.recipients[0] ?? "") : undefined;
    if (verdict.action === "reroute")
      context.run.applied(verdict, other ? undefined : "no agent of that name can be reached");
    chosen = other ?? chosen;
  }
  scope.next(
    chosen,
    verdicts.map((verdict) => ({ ...letterOf(verdict), holders: held })),
  );
  scope.requests = calls;
  return chosen;
}

// ---- model calls

/** Adds the monitor's texts to the model's input, at each call of the agent's turn. */
function filterOf(inner: any): any {
  const filter = async (args: {
    modelData: { input: AgentInputItem[]; instructions?: string };
    agent: AnyAgent;
    context: unknown;
  }) => {
    const data = inner ? await inner(args) : args.modelData;
    const scope = scopes.getStore();
    if (!scope || scope.agent.name !== args.agent.name || scope.texts.length === 0) return data;
    scope.hasShown = true;
    return { ...data, input: [...data.input, ...scope.texts.map((text) => user(text))] };
  };
  if (!inner || inner.preserveInputIdentity) (filter as any).preserveInputIdentity = true;
  return filter;
}

function filtered(context: Context, runner: Runner, options: any): any {
  if (!context.run.heals) return options;
  return {
    ...options,
    callModelInputFilter: filterOf(options?.callModelInputFilter ?? (runner as any).config?.callModelInputFilter),
  };
}

// ---- agents as tools

/** Ends that the author declared, by a guardrail or a limit on turns. */
const isDeclaredEnd = (error: unknown): boolean =>
  error instanceof InputGuardrailTripwireTriggered ||
  error instanceof OutputGuardrailTripwireTriggered ||
  error instanceof MaxTurnsExceededError;

/** A run within a run: a request to the agent, and its response. */
async function requested(
  original: RunFn,
  runner: Runner,
  outer: Scope,
  agent: AnyAgent,
  input: any,
  options: any,
): Promise<AnyResult> {
  const { context } = outer;
  if (input instanceof RunState) return original.call(runner, agent, input, options);
  context.learn(agent, true);
  outer.settleFailed(false);
  outer.asked += 1;
  const id = context.nextRequest();
  const told = { id, payload: snapshot(input) };
  const judged = outer.activation.isOpen
    ? outer.activation.emit([agent.name], told)
    : context.run.emit([agent.name], told);
  const letter = letterOf((await when(context, judged)) ?? unjudged(id, [agent.name]));
  const scope = new Scope(context, agent, [letter]);
  let result: AnyResult;
  try {
    result = await scopes.run(scope, () => original.call(runner, agent, input, filtered(context, runner, options)));
  } catch (error) {
    raised(outer, scope, error);
    throw error;
  }
  if (!options?.stream) await respond(outer, scope, result);
  else
    void Promise.resolve(result.completed).then(
      () => respond(outer, scope, result),
      (error) => raised(outer, scope, error),
    );
  return result;
}

function raised(outer: Scope, scope: Scope, error: unknown): void {
  scope.settleFailed(false);
  scope.reportTexts();
  outer.failed.push(scope.activation);
  if (isDeclaredEnd(error)) outer.settleFailed(false);
}

async function respond(outer: Scope, scope: Scope, result: AnyResult): Promise<void> {
  const { context } = outer;
  const asker = outer.agent.name;
  if (result.interruptions?.length > 0) {
    scope.activation.wait(...scope.activation.inputs);
    await when(context, scope.activation.end());
    return;
  }
  await scope.takeResponses();
  scope.settleFailed(false);
  const response = scope.activation.output([asker], { payload: snapshot(result.finalOutput) });
  const [verdict] = (await when(context, scope.activation.end())) ?? [unjudged(response.id, [asker])];
  scope.reportTexts();
  if (!verdict) return;
  if (verdict.action === "reroute") context.run.applied(verdict, "the response has been given to the tool");
  outer.responses.push(letterOf(verdict));
}

// ---- runs

function runOptions(options: OpenAIAgentsOptions, given: RunOptions): RunOptions {
  const mode = requestedMode(options.mode ?? given.mode);
  const declared = { kinds: ["work"] }; // an agent gets only answers to its own requests: nothing meets or repeats by accident
  return {
    ...given,
    ...(mode === undefined ? {} : { mode }),
    ...(options.maxReturnsPerAgent === undefined ? {} : { maxReturnsPerAgent: options.maxReturnsPerAgent }),
    ...(options.maxAddedMs === undefined ? {} : { maxAddedMs: options.maxAddedMs }),
    rules: {
      cross_lineage_aggregation: declared,
      repeated_subproblem: declared,
      ...withoutClock(options),
      ...given.rules,
    },
    limits: { stalled_ms: neverMs, ...given.limits },
  };
}

/** Unless the user waits for healing, a slow agent is not stuck: what is wrong at rest is reported at the end of the run. */
function withoutClock({ waitForHealingMs = 0 }: OpenAIAgentsOptions): RunOptions["rules"] {
  return waitForHealingMs > 0 ? {} : { deadlock: { window_ms: neverMs }, missing_termination: { window_ms: neverMs } };
}

function begun({ options, settings }: Watched, agent: AnyAgent): Context | null {
  const chosen = runOptions(options, settings.next(agent));
  if (chosen.mode === "off") return null;
  const context = new Context(options);
  const waits = (options.waitForHealingMs ?? 0) > 0;
  const agents = reachable(agent).map((one) => one.name);
  context.run = new Run({ agents, ...(waits ? { onIntervention: context.inbox.handler } : {}), ...chosen });
  context.run.adapterDefaults("openai-agents-js");
  context.learn(agent);
  options.onRun?.(context.run);
  return context;
}

async function watchedRun(
  original: RunFn,
  runner: Runner,
  agent: AnyAgent,
  input: any,
  options: any,
): Promise<AnyResult> {
  const resumed = input instanceof RunState ? paused.get(input) : undefined;
  const context = resumed?.context ?? begun(watchedRunners.get(runner) as Watched, agent);
  if (!context) return original.call(runner, agent, input, options);
  const first = input instanceof RunState ? (((input as any)._currentAgent ?? agent) as AnyAgent) : agent;
  let letters: Letter[] = (resumed?.inputs ?? []).map((event) => ({ event }));
  if (!resumed) {
    const id = context.nextRequest();
    const judged = context.run.emit([first.name], {
      id,
      payload: snapshot(input instanceof RunState ? undefined : input),
    });
    letters = [
      { ...letterOf((await when(context, judged)) ?? unjudged(id, [first.name])), holders: new Set([first.name]) },
    ];
  }
  const scope = new Scope(context, first, letters);
  if (options?.stream) return streamed(original, runner, scope, agent, input, options);
  try {
    const result = await rounds(original, runner, scope, agent, input, options);
    if (result.interruptions?.length > 0) await pause(scope, result);
    else await ended(scope, "success");
    return result;
  } catch (error) {
    await ended(scope, outcomeOf(error, options));
    throw error;
  }
}

const outcomeOf = (error: unknown, options: any): Outcome =>
  isDeclaredEnd(error) || options?.signal?.aborted ? "aborted" : "failure";

/** A run that waits for an approval: its inputs wait, and resuming its state goes on with them. */
async function pause(scope: Scope, result: AnyResult): Promise<void> {
  const { activation, context } = scope;
  activation.wait(...activation.inputs);
  await when(context, activation.end());
  paused.set(result.state as object, { context, inputs: activation.inputs });
}

async function ended(scope: Scope, outcome: Outcome): Promise<void> {
  scope.reportTexts();
  scope.context.inbox.close();
  await scope.context.run.end(outcome);
}

/** Runs until an answer stands. What the monitor gives back is another round, and so is waking a run that has no answer. */
async function rounds(
  original: RunFn,
  runner: Runner,
  scope: Scope,
  agent: AnyAgent,
  input: any,
  options: any,
): Promise<AnyResult> {
  const { context } = scope;
  let [current, given] = [agent, input];
  for (let round = 0; ; ++round) {
    let result: AnyResult = null;
    let failure: unknown = null;
    let again: { agent: string; letters: Letter[] } | null = null;
    try {
      result = await scopes.run(scope, () => original.call(runner, current, given, filtered(context, runner, options)));
    } catch (error) {
      failure = error;
      scope.settleFailed(false);
      scope.activation.fail(error);
    }
    if (result?.interruptions?.length > 0) return result;
    if (result && (isAnswer(result.finalOutput) || !waits(context))) {
      again = await answered(scope, result);
      if (!again || round >= maxRounds) return result;
    } else {
      if (result) await when(context, scope.activation.end());
      again = round < maxRounds ? await woken(context, failure !== null) : null;
      // The work that the failed turn was given is still to be done.
      if (again && failure !== null) again.letters.push(...scope.activation.inputs.map((event) => ({ event })));
      if (!again && failure !== null) throw failure;
      if (!again) return result;
    }
    current = context.agents.get(again.agent) ?? current;
    given = continued(given, result, options);
    scope.next(current, again.letters);
  }
}

const isAnswer = (output: unknown): boolean => output !== undefined && output !== null && output !== "";
const waits = (context: Context): boolean => context.run.heals && (context.options.waitForHealingMs ?? 0) > 0;

/** Whether the agent answered right after it got the SDK's default text for a tool that raised. */
function ignoredError(result: AnyResult): boolean {
  const items: any[] = result.newItems ?? [];
  const last = [...items]
    .reverse()
    .find((item) => item.type !== "message_output_item" && item.type !== "reasoning_item");
  return last?.type === "tool_call_output_item" && JSON.stringify(last.rawItem ?? null).includes(defaultToolError);
}

/** Submits the final answer. Null: it stands. Else the agent that gets it back, and the text. */
async function answered(scope: Scope, result: AnyResult): Promise<{ agent: string; letters: Letter[] } | null> {
  const { context } = scope;
  await scope.takeResponses();
  scope.settleFailed(ignoredError(result));
  scope.activation.output([], { submit: true, payload: snapshot(result.finalOutput) });
  const [verdict] = (await when(context, scope.activation.end())) ?? [];
  if (!verdict?.givenBack) return null;
  const agent = verdict.recipients[0] ?? scope.agent.name;
  context.run.applied(verdict, context.agents.has(agent) ? undefined : "no agent of that name can be reached");
  return context.agents.has(agent) ? { agent, letters: [letterOf(verdict)] } : null;
}

/** Waits as long as the user allows for the monitor to wake a run without an answer. Null: it did not. */
async function woken(context: Context, failed: boolean): Promise<{ agent: string; letters: Letter[] } | null> {
  if (!waits(context) || (failed && !context.options.healErrors)) return null;
  if (!(await context.inbox.waitForAny(context.options.waitForHealingMs ?? 0, () => !context.run.connected))) return null;
  const taken = context.inbox.takeAll();
  const agent = taken[0]?.recipients.find((name) => context.agents.has(name));
  if (agent === undefined) return null;
  return {
    agent,
    letters: taken
      .filter((i) => i.recipients.includes(agent))
      .map((i) => ({ event: i.event ?? i.id, ...(i.inject === undefined ? {} : { inject: i.inject }) })),
  };
}

/** The conversation so far, as the next round's input; where a session keeps it, only a prompt to go on. */
function continued(input: any, result: AnyResult, options: any): AgentInputItem[] | string {
  const kept = options?.session || options?.conversationId || options?.previousResponseId;
  if (kept) return [user("Go on.")];
  if (result) return result.history;
  return input instanceof RunState ? input.history : input;
}

/** A stream is read while it comes: handoffs are held, the final answer is only reported. */
async function streamed(
  original: RunFn,
  runner: Runner,
  scope: Scope,
  agent: AnyAgent,
  input: any,
  options: any,
): Promise<AnyResult> {
  const { context } = scope;
  let result: AnyResult;
  const failed = async (error: unknown): Promise<void> => {
    if (scope.activation.isOpen) scope.activation.fail(error);
    await ended(scope, outcomeOf(error, options));
  };
  try {
    result = await scopes.run(scope, () => original.call(runner, agent, input, filtered(context, runner, options)));
  } catch (error) {
    await failed(error);
    throw error;
  }
  const watch = async (): Promise<void> => {
    await result.completed;
    if (result.interruptions?.length > 0) return pause(scope, result);
    await scope.takeResponses();
    scope.settleFailed(ignoredError(result));
    const answer = scope.activation.output([], { submit: true, payload: snapshot(result.finalOutput) });
    await scope.activation.end();
    const verdict = await answer.verdict;
    if (verdict.givenBack) context.run.applied(verdict, "the stream has been read");
    await ended(scope, "success");
  };
  watch().catch(failed);
  return result;
}

interface Watched {
  options: OpenAIAgentsOptions;
  settings: RunSettings<AnyAgent>;
}

let patched = false;

/** Makes the SDK look whether it works for a watched run. Once a process. */
function patch(): void {
  if (patched) return;
  patched = true;
  const run = Runner.prototype.run as unknown as RunFn;
  const watchedRunOf = function (this: Runner, agent: AnyAgent, input: any, options?: any): Promise<AnyResult> {
    const scope = scopes.getStore();
    if (scope) return requested(run, this, scope, agent, input, options);
    if (watchedRunners.has(this)) return watchedRun(run, this, agent, input, options);
    return run.call(this, agent, input, options);
  };
  Object.defineProperty(Runner.prototype, "run", {
    value: watchedRunOf,
    configurable: true,
    writable: true,
    enumerable: false,
  });
  const handoffs = Agent.prototype.getEnabledHandoffs;
  const watchedHandoffsOf = async function (this: AnyAgent, runContext: any): Promise<Handoff<any, any>[]> {
    const enabled = await handoffs.call(this, runContext);
    const scope = scopes.getStore();
    if (!scope || scope.agent.name !== this.name) return enabled;
    if (scope.requests < 0) scope.requests = modelCalls(runContext);
    await scope.takeResponses();
    return enabled.map((handoff: Handoff<any, any>) => watchedHandoff(handoff, this));
  };
  Object.defineProperty(Agent.prototype, "getEnabledHandoffs", {
    value: watchedHandoffsOf,
    configurable: true,
    writable: true,
    enumerable: false,
  });
}

/** Has digd watch all runs of this runner; returns it, unchanged. Calling it again replaces the options. Mode `off` undoes it. */
export function instrument(runner: Runner, options: OpenAIAgentsOptions = {}): Runner {
  if (!(runner instanceof Runner)) throw new TypeError("instrument: expected a Runner of @openai/agents");
  const fixed = typeof options.run === "function" ? {} : (options.run ?? {});
  const { mode } = resolveOptions({ ...fixed, ...(options.mode === undefined ? {} : { mode: options.mode }) });
  if (mode === "off") {
    watchedRunners.delete(runner);
    return runner;
  }
  patch();
  watchedRunners.set(runner, { options, settings: new RunSettings(options.run) });
  return runner;
}
