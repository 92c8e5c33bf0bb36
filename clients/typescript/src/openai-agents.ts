// The OpenAI Agents SDK for JavaScript under digd. `instrument(new Runner())`: every run of it is a run of digd's, an
// agent's turn at the conversation an activation, a handoff a held event, an agent used as a tool a request and a
// response, and the final answer is held before the caller gets it.
//
// How: `Runner.run` is wrapped (also for the runs that agents as tools begin), the handoffs of all agents that can be
// reached are wrapped in place, and a filter before each model call adds what the monitor says. Which activation a call
// belongs to travels in an AsyncLocalStorage; without one, everything wrapped does what it did.
import { AsyncLocalStorage } from "node:async_hooks";
import { Agent, getHandoff, Handoff, Runner, RunState, user, type AgentInputItem } from "@openai/agents";
import type { Activation } from "./activation.js";
import { Inbox, restMs, RunSettings, snapshot } from "./adapter.js";
import type { RunOptions } from "./options.js";
import { Run } from "./run.js";
import type { Verdict } from "./verdict.js";

export interface OpenAIAgentsOptions {
  /** Of the run that each `runner.run` begins; `agents` are those that can be reached. A function gets the first agent. */
  run?: RunOptions | ((agent: Agent<any, any>) => RunOptions);
  /** How long a run without an answer waits for the monitor; milliseconds. Default: its slowest window, and a second. */
  patienceMs?: number;
  /** Also wait so after an error (too many turns, a failed model), for the monitor to wake the agents. Default: no. */
  healErrors?: boolean;
  /** Called with the run of each `runner.run` when it begins: to look on. */
  onRun?: (run: Run) => void;
}

type AnyAgent = Agent<any, any>;
type AnyResult = any;
type RunFn = (this: Runner, agent: AnyAgent, input: any, options?: any) => Promise<AnyResult>;

const mostRounds = 16; // times that one answer is asked for anew, whatever the daemon says
const mostRequests = 4096; // remembered, to know one that is made again

interface Letter {
  event: string;
  inject?: string;
}

/** Everything about one run. */
class Context {
  readonly inbox = new Inbox();
  readonly agents = new Map<string, AnyAgent>();
  readonly requests = new Map<string, string>(); // event by requester and text
  run!: Run;
  private readonly roster = new Set<string>();
  constructor(readonly options: OpenAIAgentsOptions) {}

  /** Agents that can be reached from this one: those used as tools come to be known when they are called. */
  learn(first: AnyAgent, join = false): void {
    for (const agent of reachable(first)) {
      if (join && !this.roster.has(agent.name)) this.run.agentJoined(agent.name);
      this.roster.add(agent.name);
      this.agents.set(agent.name, agent);
      watchHandoffs(agent);
    }
  }
}

/** One thread of a conversation: whose turn it is, and in which activation. */
class Scope {
  activation: Activation;
  texts: string[] = []; // the monitor's, for the agent whose turn it is
  calls = 0; // of the model, in this turn
  asked = 0; // requests made of other agents in this activation
  responses: Letter[] = [];

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
    this.calls = 0;
    this.activation = this.begin(agent, inputs);
  }

  /** Responses have come: what the agent does with them is an activation of its own. */
  async takeResponses(): Promise<void> {
    if (this.responses.length === 0) return;
    const letters = this.responses.splice(0);
    const texts = this.texts;
    await this.activation.end();
    this.activation = this.begin(this.agent, letters);
    this.texts = [...texts, ...this.texts];
  }

  private begin(agent: AnyAgent, inputs: readonly Letter[]): Activation {
    this.texts = inputs.flatMap((l) => (l.inject === undefined ? [] : [l.inject]));
    this.asked = 0;
    return this.context.run.begin(agent.name, inputs.map((l) => l.event));
  }
}

const scopes = new AsyncLocalStorage<Scope>();
const watchedRunners = new WeakMap<Runner, { options: OpenAIAgentsOptions; settings: RunSettings<AnyAgent> }>();
const watchedHandoffs = new WeakSet<object>();
const paused = new WeakMap<object, { context: Context; inputs: readonly string[] }>(); // runs that wait for an approval, by their state

const letterOf = (verdict: Verdict): Letter => ({ event: verdict.event, ...(verdict.inject === undefined ? {} : { inject: verdict.inject }) });

// ---- handoffs

function reachable(first: AnyAgent): AnyAgent[] {
  const found = new Set<AnyAgent>([first]);
  for (const agent of found) {
    for (const to of agent.handoffs) found.add(to instanceof Handoff ? to.agent : (to as AnyAgent));
  }
  return [...found];
}

/** Wraps an agent's handoffs in place, once; outside of a watched run they do what they did. */
function watchHandoffs(agent: AnyAgent): void {
  agent.handoffs = agent.handoffs.map((to: any) => {
    if (watchedHandoffs.has(to)) return to;
    const handoff = getHandoff(to) as Handoff<any, any>;
    const watched = handoff.clone({
      onInvokeHandoff: async (runContext: any, args: string) => {
        const target = (await handoff.onInvokeHandoff(runContext, args)) as AnyAgent;
        const scope = scopes.getStore();
        return scope && scope.agent.name === agent.name ? handedOff(scope, target, args) : target;
      },
    } as any);
    watchedHandoffs.add(watched);
    return watched;
  });
}

/** Ends the turn of who hands off, and begins that of who gets it: the one meant, or whom the monitor chose. */
async function handedOff(scope: Scope, target: AnyAgent, args: string): Promise<AnyAgent> {
  const { context, activation } = scope;
  // Who hands off as the first thing it does passes its inputs on; who has worked makes something of them.
  const worked = scope.calls > 1 || scope.asked > 0 || !context.agents.has(target.name);
  const passes = !worked && activation.inputs.length > 0;
  if (passes) for (const input of activation.inputs) activation.reroute(input, [target.name]);
  else activation.output([target.name], { payload: snapshot({ handoff: target.name, arguments: args }) });
  const verdicts = await activation.end();
  const first = verdicts[0] as Verdict;
  for (const verdict of verdicts) context.run.applied(verdict);
  const chosen = first.action === "reroute" ? (context.agents.get(first.recipients[0] ?? "") ?? target) : target;
  scope.next(chosen, verdicts.map(letterOf));
  return chosen;
}

// ---- model calls

/** Adds what the monitor says to what the agent reads, at each call of its turn. */
function filterOf(inner: any): any {
  const filter = async (args: { modelData: { input: AgentInputItem[]; instructions?: string }; agent: AnyAgent; context: unknown }) => {
    const data = inner ? await inner(args) : args.modelData;
    const scope = scopes.getStore();
    if (!scope || scope.agent.name !== args.agent.name) return data;
    await scope.takeResponses();
    scope.calls += 1;
    return scope.texts.length === 0 ? data : { ...data, input: [...data.input, ...scope.texts.map((text) => user(text))] };
  };
  if (inner?.preserveInputIdentity) (filter as any).preserveInputIdentity = true;
  return filter;
}

const filtered = (runner: Runner, options: any): any => ({ ...options, callModelInputFilter: filterOf(options?.callModelInputFilter ?? (runner as any).config?.callModelInputFilter) });

// ---- agents as tools

/** A run within a run: a request to the agent, and its response. */
async function requested(original: RunFn, runner: Runner, outer: Scope, agent: AnyAgent, input: any, options: any): Promise<AnyResult> {
  const { context } = outer;
  const asker = outer.agent.name;
  if (input instanceof RunState) return original.call(runner, agent, input, options);
  context.learn(agent, true);
  const letter = await request(outer, agent, input);
  const scope = new Scope(context, agent, [letter]);
  let result: AnyResult;
  try {
    result = await scopes.run(scope, () => original.call(runner, agent, input, filtered(runner, options)));
    if (options?.stream) await result.completed;
  } catch (error) {
    scope.activation.fail(error);
    throw error;
  }
  if (result.interruptions?.length > 0) {
    scope.activation.wait(...scope.activation.inputs);
    await scope.activation.end();
    return result;
  }
  await scope.takeResponses();
  const response = scope.activation.output([asker], { payload: snapshot(result.finalOutput) });
  await scope.activation.end();
  const verdict = await response.verdict;
  context.run.applied(verdict);
  if (verdict.recipients.includes(asker)) outer.responses.push(letterOf(verdict));
  return result;
}

/** Announces a request; one that was made before, of whomever, is the same work given again. */
async function request(outer: Scope, agent: AnyAgent, input: unknown): Promise<Letter> {
  const { context } = outer;
  const key = JSON.stringify([outer.agent.name, input]);
  const before = context.requests.get(key);
  outer.asked += 1;
  if (before !== undefined) return { event: before };
  const verdict = await outer.activation.emit([agent.name], { payload: snapshot(input) });
  context.run.applied(verdict);
  if (context.requests.size < mostRequests) context.requests.set(key, verdict.event);
  return letterOf(verdict);
}

// ---- runs

async function begun(watch: { options: OpenAIAgentsOptions; settings: RunSettings<AnyAgent> }, agent: AnyAgent): Promise<Context> {
  const context = new Context(watch.options);
  const agents = reachable(agent).map((one) => one.name);
  context.run = new Run({ agents, onIntervention: context.inbox.handler, ...watch.settings.next(agent) });
  context.learn(agent);
  await context.run.ready();
  watch.options.onRun?.(context.run);
  return context;
}

async function watchedRun(original: RunFn, runner: Runner, agent: AnyAgent, input: any, options: any): Promise<AnyResult> {
  const watch = watchedRunners.get(runner) as { options: OpenAIAgentsOptions; settings: RunSettings<AnyAgent> };
  const resumed = input instanceof RunState ? paused.get(input) : undefined;
  const context = resumed?.context ?? (await begun(watch, agent));
  const letters: Letter[] = resumed ? resumed.inputs.map((event) => ({ event })) : [letterOf(await context.run.emit([agent.name], { payload: snapshot(input instanceof RunState ? undefined : input) }))];
  const scope = new Scope(context, input instanceof RunState ? ((input as any)._currentAgent ?? agent) : agent, letters);
  if (options?.stream) return streamed(original, runner, scope, agent, input, options);
  try {
    const result = await rounds(original, runner, scope, agent, input, options);
    if (result.interruptions?.length > 0) {
      scope.activation.wait(...scope.activation.inputs);
      await scope.activation.end();
      paused.set(result.state, { context, inputs: scope.activation.inputs });
      return result;
    }
    await ended(context, "success");
    return result;
  } catch (error) {
    await ended(context, "failure");
    throw error;
  }
}

async function ended(context: Context, outcome: "success" | "failure"): Promise<void> {
  context.inbox.close();
  await context.run.end(outcome);
}

/** Runs until an answer is let through; whatever the monitor gives back, or makes, is another round. */
async function rounds(original: RunFn, runner: Runner, scope: Scope, agent: AnyAgent, input: any, options: any): Promise<AnyResult> {
  const { context } = scope;
  let [who, what] = [agent, input];
  for (let round = 0; ; ++round) {
    let result: AnyResult = null;
    let failure: unknown = null;
    let said: { agent: string; letters: Letter[] } | null = null;
    try {
      result = await scopes.run(scope, () => original.call(runner, who, what, filtered(runner, options)));
    } catch (error) {
      failure = error;
      scope.activation.fail(error);
    }
    if (result?.interruptions?.length > 0 || round >= mostRounds) return result;
    if (result && isAnswer(result.finalOutput)) {
      said = await answered(scope, result.finalOutput);
      if (!said) return result;
    } else {
      if (result) await scope.activation.end();
      said = await awaited(context, failure !== null);
      // What the failed turn was given is still to be done.
      if (said && failure !== null) said.letters.push(...scope.activation.inputs.map((event) => ({ event })));
      if (!said) {
        if (failure !== null) throw failure;
        return result;
      }
    }
    who = context.agents.get(said.agent) ?? who;
    what = continued(what, result, options);
    scope.next(who, said.letters);
  }
}

const isAnswer = (output: unknown): boolean => output !== undefined && output !== null && output !== "";

/** Holds the final answer. Null: it is let through. Else who gets it back, with what. */
async function answered(scope: Scope, output: unknown): Promise<{ agent: string; letters: Letter[] } | null> {
  await scope.takeResponses();
  const answer = scope.activation.output([], { submit: true, payload: snapshot(output) });
  await scope.activation.end();
  const verdict = await answer.verdict;
  if (!verdict.givenBack) return null;
  scope.context.run.applied(verdict);
  return { agent: verdict.recipients[0] ?? scope.agent.name, letters: [letterOf(verdict)] };
}

/** Waits for the monitor where there is no answer. Null: it has nothing to say. */
async function awaited(context: Context, failed: boolean): Promise<{ agent: string; letters: Letter[] } | null> {
  const patience = failed && !context.options.healErrors ? 0 : (context.options.patienceMs ?? restMs(context.run));
  if (!(await context.inbox.arrives(patience, () => !context.run.connected))) return null;
  const all = context.inbox.take();
  const agent = all[0]?.recipients.find((name) => context.agents.has(name));
  if (agent === undefined) return null;
  return { agent, letters: all.filter((i) => i.recipients.includes(agent)).map((i) => ({ event: i.event ?? i.id, ...(i.inject === undefined ? {} : { inject: i.inject }) })) };
}

/** The conversation so far, as the next round's input; where somebody else keeps it, only what is new. */
function continued(input: any, result: AnyResult, options: any): AgentInputItem[] | string {
  const kept = options?.session || options?.conversationId || options?.previousResponseId;
  if (kept) return [user("Go on.")];
  if (result) return result.history;
  return input instanceof RunState ? input.history : input;
}

/** A stream is read while it comes: handoffs are held, the final answer can only be reported. */
async function streamed(original: RunFn, runner: Runner, scope: Scope, agent: AnyAgent, input: any, options: any): Promise<AnyResult> {
  const { context } = scope;
  const result = await scopes.run(scope, () => original.call(runner, agent, input, filtered(runner, options)));
  const watch = async (): Promise<void> => {
    try {
      await result.completed;
      await scope.takeResponses();
      const answer = scope.activation.output([], { submit: true, payload: snapshot(result.finalOutput) });
      await scope.activation.end();
      const verdict = await answer.verdict;
      if (verdict.givenBack) context.run.applied(verdict, "streamed");
      await ended(context, "success");
    } catch (error) {
      if (scope.activation.isOpen) scope.activation.fail(error);
      await ended(context, "failure");
    }
  };
  void watch();
  return result;
}

let patched = false;

/** Makes `Runner.run` look whether it runs for a watched runner, or within a watched run. Once a process. */
function patchRunner(): void {
  if (patched) return;
  patched = true;
  const original = Runner.prototype.run as unknown as RunFn;
  (Runner.prototype as any).run = function (this: Runner, agent: AnyAgent, input: any, options?: any): Promise<AnyResult> {
    const scope = scopes.getStore();
    if (scope) return requested(original, this, scope, agent, input, options);
    if (watchedRunners.has(this)) return watchedRun(original, this, agent, input, options);
    return original.call(this, agent, input, options);
  };
}

/** Watches all runs of this runner with digd; returns it. Handoffs of the agents that it runs are wrapped in place. */
export function instrument(runner: Runner, options: OpenAIAgentsOptions = {}): Runner {
  if (!(runner instanceof Runner)) throw new TypeError("instrument: expected a Runner of @openai/agents");
  patchRunner();
  watchedRunners.set(runner, { options, settings: new RunSettings(options.run) });
  return runner;
}
