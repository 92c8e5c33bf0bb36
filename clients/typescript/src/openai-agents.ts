/**
 * The OpenAI Agents SDK for JavaScript: `instrument(new Runner())`. Each `run` of that runner is then a run of digd.
 * The turns of an agent until it hands off or answers are an activation. A handoff is an event. An agent used as a tool
 * is a request and a response.
 *
 * The adapter patches `Runner.prototype.run` and `Agent.prototype.getEnabledHandoffs`. They look up in an
 * AsyncLocalStorage whether they are called within a watched run. No agent, handoff or runner is changed. In a mode
 * that does not heal, the SDK gets no filter of model inputs, and only the end of the run waits for the daemon: for the
 * last ack, at most `lingerMs`.
 *
 * @module openai-agents
 */
import { Agent, Runner, type Handoff } from "@openai/agents";
import { checkedMode, RunSettings, type AdapterOptions } from "./adapter.js";
import { conversations, modelCalls, NotDelivered } from "./openai-agents-conversation.js";
import type { AnyAgent, AnyResult, RunCall, RunFunction } from "./openai-agents-conversation.js";
import { watchedHandoff } from "./openai-agents-handoffs.js";
import { runRequest } from "./openai-agents-requests.js";
import { runWatched, type WatchedRunner } from "./openai-agents-runs.js";

export { NotDelivered };

/** Options of `instrument`. A function `run` gets the first agent; `agents` are the reachable ones. */
export interface OpenAIAgentsOptions extends AdapterOptions<Agent<any, any>> {
  /** Wait for healing also after an error, such as too many turns or a failed model. Needs `waitForHealingMs`. */
  healErrors?: boolean;
}

const watchedRunners = new WeakMap<Runner, WatchedRunner>();
let patched = false;

/** Makes the SDK look up whether it works for a watched run. Patches once for each process. */
function patch(): void {
  if (patched) return;
  patched = true;
  const original = Runner.prototype.run as unknown as RunFunction;
  const run = function (this: Runner, agent: AnyAgent, input: any, options?: any): Promise<AnyResult> {
    const call: RunCall = { original, runner: this, agent, input, options };
    const caller = conversations.getStore();
    // A run that a tool has left behind may begin only after the answer. Then it is an outermost run.
    if (caller && (caller.isAbandoned || !caller.watched.isOver)) return runRequest(caller, call);
    const watchedRunner = watchedRunners.get(this);
    return watchedRunner ? runWatched(watchedRunner, call) : original.call(this, agent, input, options);
  };
  replace(Runner.prototype, "run", run);
  const originalHandoffs = Agent.prototype.getEnabledHandoffs;
  const getEnabledHandoffs = async function (this: AnyAgent, runContext: any): Promise<Handoff<any, any>[]> {
    const handoffs = await originalHandoffs.call(this, runContext);
    const conversation = conversations.getStore();
    if (conversation?.agent.name !== this.name || conversation.isUnwatched) return handoffs;
    conversation.runContext = runContext;
    if (conversation.modelCallsBefore < 0) conversation.modelCallsBefore = modelCalls(runContext);
    await conversation.takeResponses();
    return handoffs.map((handoff: Handoff<any, any>) => watchedHandoff(handoff, this));
  };
  replace(Agent.prototype, "getEnabledHandoffs", getEnabledHandoffs);
}

function replace(prototype: object, name: string, value: unknown): void {
  Object.defineProperty(prototype, name, { value, configurable: true, writable: true, enumerable: false });
}

/**
 * Lets digd watch all runs of this runner. Returns it, unchanged. A second call replaces the options; `off` undoes it.
 */
export function instrument(runner: Runner, options: OpenAIAgentsOptions = {}): Runner {
  if (!(runner instanceof Runner)) throw new TypeError("instrument: expected a Runner of @openai/agents");
  if (checkedMode(options) === "off") {
    watchedRunners.delete(runner);
    return runner;
  }
  patch();
  watchedRunners.set(runner, { options, settings: new RunSettings(options.run) });
  return runner;
}
