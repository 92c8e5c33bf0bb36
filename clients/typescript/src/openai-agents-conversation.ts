// The state of a watched run of the OpenAI Agents SDK: the run of digd, its agents, and the conversations within it.
import { AsyncLocalStorage } from "node:async_hooks";
import { Handoff, type Agent, type Runner } from "@openai/agents";
import type { Activation } from "./activation.js";
import { Inbox, waitsForHealing } from "./adapter.js";
import type { OpenAIAgentsOptions } from "./openai-agents.js";
import type { Run } from "./run.js";
import type { Verdict } from "./verdict.js";

export type AnyAgent = Agent<any, any>;
export type AnyResult = any;
export type RunFunction = (this: Runner, agent: AnyAgent, input: any, options?: any) => Promise<AnyResult>;

/** A call of `Runner.run`: the SDK's own function and its arguments. */
export interface RunCall {
  original: RunFunction;
  runner: Runner;
  agent: AnyAgent;
  input: any;
  options: any;
}

/** An event that an activation takes up. */
export interface InputEvent {
  event: string;
  inject?: string;
  verdict?: Verdict;
  /** The agents that have had this work unchanged. */
  holders?: ReadonlySet<string>;
}

const maxFinishRounds = 8; // a run in the background may go on making requests

/** A request to another agent that its caller has not got back. */
export interface OpenRequest {
  caller: Conversation;
  agent: AnyAgent;
  /** Undefined while digd judges the request. */
  conversation?: Conversation;
  /** The event of the response while digd judges it. */
  response?: string;
}

/** The run of digd for one outermost `Runner.run`, and for the resumption of its state. */
export class WatchedRun {
  readonly inbox = new Inbox();
  readonly agents = new Map<string, AnyAgent>();
  readonly openRequests = new Map<string, OpenRequest>(); // by event
  run!: Run;
  isOver = false;
  private readonly roster = new Set<string>();
  private requestCount = 0;
  constructor(readonly options: OpenAIAgentsOptions) {}

  /** An id for an event that is announced while its activation continues. */
  nextRequest(): string {
    return `r${++this.requestCount}`;
  }

  /** Remembers the agents that are reachable from this one. Agents used as tools become known when they are called. */
  addReachable(first: AnyAgent, join = false): void {
    for (const agent of reachable(first)) {
      if (join && !this.roster.has(agent.name)) this.run.agentJoined(agent.name);
      this.roster.add(agent.name);
      this.agents.set(agent.name, agent);
    }
  }

  /** Whether a run without an answer waits for healing. */
  get waitsForHealing(): boolean {
    return this.run.heals && waitsForHealing(this.options);
  }

  /**
   * Before the answer or the end: drops requests that run in the background. No agent waits for their responses. A
   * response that digd still judges goes to its caller.
   */
  abandonRequests(): void {
    const requests = [...this.openRequests];
    this.openRequests.clear();
    for (const [, { caller, response }] of requests)
      if (response !== undefined) caller.responses.push({ event: response });
    for (const [event, request] of requests) {
      request.conversation ??= new Conversation(this, request.agent, [{ event }]);
      request.conversation.abandon();
    }
  }

  /** Waits for verdicts only if they can change something. */
  async ifHealing<T>(pending: Promise<T>): Promise<T | undefined> {
    return this.run.heals ? await pending : undefined;
  }
}

/** The agent, and the agents to which it and they can hand off. */
export function reachable(first: AnyAgent): AnyAgent[] {
  const found = new Set<AnyAgent>([first]);
  for (const agent of found) {
    for (const target of agent.handoffs) found.add(target instanceof Handoff ? target.agent : (target as AnyAgent));
  }
  return [...found];
}

/** The SDK's counts of a run so far. */
interface SdkUsage {
  requests: number;
  inputTokens: number;
  outputTokens: number;
}

/** One run of the SDK within a watched run: the agent whose turn it is, and its activation. */
export class Conversation {
  activation: Activation;
  inputs: readonly InputEvent[] = [];
  texts: string[] = []; // the monitor's texts for the current agent
  textsShown = false; // a model was given the texts
  modelCallsBefore = -1; // model calls of the run when this turn began; -1: unknown
  requestCount = 0; // requests to other agents in this activation
  failedRequests: Activation[] = []; // runs of other agents that threw; the current agent has not reacted yet
  responses: InputEvent[] = [];
  runContext: any; // the SDK's context; undefined: no model was called yet
  isAbandoned = false; // it continues in the background; no agent waits for it
  private countedUsage: SdkUsage = { requests: 0, inputTokens: 0, outputTokens: 0 };
  private readonly unresolved: Activation[] = [];

  constructor(
    readonly watched: WatchedRun,
    public agent: AnyAgent,
    inputs: readonly InputEvent[],
  ) {
    this.activation = this.begin(agent, inputs);
  }

  /** Begins the next agent's turn. */
  next(agent: AnyAgent, inputs: readonly InputEvent[]): void {
    this.agent = agent;
    this.modelCallsBefore = -1;
    this.activation = this.begin(agent, inputs);
  }

  /** If there are responses, the agent takes them up in a new activation. */
  async takeResponses(): Promise<void> {
    if (this.responses.length === 0) return;
    const texts = this.texts;
    this.countUsage();
    await this.watched.ifHealing(this.activation.end());
    if (this.isUnwatched) return; // the responses have been dropped meanwhile
    this.activation = this.begin(this.agent, this.responses.splice(0));
    this.texts = [...texts, ...this.texts];
  }

  /** Adds to the open activation what the SDK has counted since the last call. */
  countUsage(): void {
    const { requests = 0, inputTokens = 0, outputTokens = 0 } = (this.runContext?.usage ?? {}) as Partial<SdkUsage>;
    const isNewRun = requests < this.countedUsage.requests;
    const before = isNewRun ? { requests: 0, inputTokens: 0, outputTokens: 0 } : this.countedUsage;
    this.countedUsage = { requests, inputTokens, outputTokens };
    if (requests === before.requests) return;
    this.activation.addUsage({
      input_tokens: Math.max(0, inputTokens - before.inputTokens),
      output_tokens: Math.max(0, outputTokens - before.outputTokens),
      model_calls: requests - before.requests,
    });
  }

  /** Settles the requests whose runs threw. `unresolved`: whether the agent ignored the error, or handled it. */
  settleFailed(unresolved: boolean): void {
    for (const { agent, inputs } of this.unresolved.splice(0)) this.discard(this.watched.run.begin(agent, inputs));
    for (const activation of this.failedRequests.splice(0)) {
      if (!unresolved) this.discard(activation);
      else {
        activation.fail("the run raised");
        this.unresolved.push(activation); // until the agent, which reads the error, acts again
      }
    }
  }

  /** Whether this run continues after the answer. The adapter then reports and changes nothing of it. */
  get isUnwatched(): boolean {
    return this.isAbandoned || this.watched.isOver;
  }

  /** Drops the work of a run that continues in the background. */
  abandon(): void {
    this.settleFailed(false);
    this.reportTexts();
    this.texts = [];
    if (this.activation.isOpen) this.discard(this.activation);
    const responses = this.responses.splice(0).map(({ event }) => event);
    if (responses.length > 0) this.discard(this.watched.run.begin(this.agent.name, responses));
    this.isAbandoned = true;
  }

  /** The agent is about to answer: takes up what arrived, and drops what continues in the background. */
  async finish(): Promise<void> {
    for (let round = 0; round < maxFinishRounds; ++round) {
      this.watched.abandonRequests();
      await this.takeResponses();
      if (this.responses.length === 0 && this.watched.openRequests.size === 0) return; // nothing new came
    }
  }

  /** Reports whether a model was given the texts of this turn. */
  reportTexts(): void {
    for (const { verdict } of this.inputs) {
      if (verdict?.action === "inject")
        this.watched.run.applied(verdict, this.textsShown ? undefined : "no model was given the text");
    }
    this.inputs = [];
  }

  private discard(activation: Activation): void {
    activation.discard(...activation.inputs);
    void activation.end();
  }

  private begin(agent: AnyAgent, inputs: readonly InputEvent[]): Activation {
    this.reportTexts();
    this.inputs = inputs;
    this.textsShown = false;
    this.texts = inputs.flatMap(({ inject }) => (inject === undefined ? [] : [inject]));
    this.requestCount = 0;
    return this.watched.run.begin(
      agent.name,
      inputs.map(({ event }) => event),
    );
  }
}

/** The conversation of the running code. */
export const conversations = new AsyncLocalStorage<Conversation>();

/** Thrown where an agent's request or handoff was not delivered, with the monitor's text for its author. */
export class NotDelivered extends Error {
  constructor(verdict: Verdict) {
    super(verdict.inject ?? "Your message was not delivered. Do this part yourself, or finish with what you have.");
    this.name = "NotDelivered";
  }
}

export const inputOf = (verdict: Verdict): InputEvent => ({
  event: verdict.event,
  verdict,
  ...(verdict.inject === undefined ? {} : { inject: verdict.inject }),
});

export const modelCalls = (runContext: any): number => Number(runContext?.usage?.requests ?? 0);
