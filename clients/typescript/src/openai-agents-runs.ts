// The outermost runs of the OpenAI Agents SDK: their begin, their rounds until an answer is accepted, and their end.
import { RunState, user, type AgentInputItem } from "@openai/agents";
import { lingerDefault, logUnwatched, runOptionsOf, snapshot, waitsForHealing, type RunSettings } from "./adapter.js";
import { Conversation, conversations, inputOf, reachable, WatchedRun } from "./openai-agents-conversation.js";
import type { AnyAgent, AnyResult, InputEvent, RunCall } from "./openai-agents-conversation.js";
import { filteredOptions } from "./openai-agents-handoffs.js";
import { isDeclaredEnd, StreamCancelled } from "./openai-agents-requests.js";
import type { OpenAIAgentsOptions } from "./openai-agents.js";
import type { RunOptions } from "./options.js";
import { Run } from "./run.js";
import { unchangedVerdict } from "./verdict.js";
import type { Outcome } from "./wire.js";

/** The options of an instrumented runner. */
export interface WatchedRunner {
  options: OpenAIAgentsOptions;
  settings: RunSettings<AnyAgent>;
}

/** The turn with which a run continues after an answer was given back or the monitor woke it. */
interface NextRound {
  agent: string;
  inputs: InputEvent[];
}

const maxRounds = 16; // limits the rounds of a run, whatever the daemon's limits
const defaultToolError = "An error occurred while running the tool";

/** Runs that wait for an approval, by their state. */
const pausedRuns = new WeakMap<object, { watched: WatchedRun; inputs: readonly string[] }>();

/** Ends the runs whose approval nobody can give any more: the program has dropped their state. */
const abandonedRuns = new FinalizationRegistry<WatchedRun>((watched) => {
  watched.isOver = true;
  watched.inbox.close();
  void watched.run.end("aborted");
});

// ---- begin

// An agent gets only answers to its own requests, so work meets or repeats only if the program declares it as `work`.
const declaredOnly = { kinds: ["work"] };
const ownRules = { cross_lineage_aggregation: declaredOnly, repeated_subproblem: declaredOnly };

/** Begins a run of digd. Null in the mode `off`, and if a callback of the monitoring fails: it goes on unwatched. */
function beginRun({ options, settings }: WatchedRunner, agent: AnyAgent): WatchedRun | null {
  const watched = new WatchedRun(options);
  let log: RunOptions["log"];
  try {
    const given = settings.next(agent);
    log = given.log;
    const runOptions = runOptionsOf(options, given, ownRules);
    if (runOptions.mode === "off") return null;
    const handler: RunOptions = waitsForHealing(options) ? { onIntervention: watched.inbox.handler } : {};
    const agents = reachable(agent).map(({ name }) => name);
    watched.run = new Run({ agents, ...handler, ...lingerDefault(runOptions.mode), ...runOptions });
    watched.run.adapterDefaults("openai-agents-js");
    watched.addReachable(agent);
    options.onRun?.(watched.run);
    return watched;
  } catch (error) {
    void (watched.run as Run | undefined)?.close();
    logUnwatched(error, log);
    return null;
  }
}

/** Runs an agent as a run of digd, or resumes a paused one. */
export async function runWatched(watchedRunner: WatchedRunner, call: RunCall): Promise<AnyResult> {
  const { original, runner, agent, input, options } = call;
  const resumed = input instanceof RunState ? pausedRuns.get(input) : undefined;
  if (resumed) abandonedRuns.unregister(resumed.watched);
  const watched = resumed?.watched ?? beginRun(watchedRunner, agent);
  if (!watched) return original.call(runner, agent, input, options);
  const first = input instanceof RunState ? (((input as any)._currentAgent ?? agent) as AnyAgent) : agent;
  const inputs = resumed ? resumed.inputs.map((event) => ({ event })) : [await announceTask(watched, first, input)];
  const conversation = new Conversation(watched, first, inputs);
  if (options?.stream) return runStreamed(conversation, call);
  try {
    const result = await runRounds(conversation, call);
    if (result.interruptions?.length > 0) await pause(conversation, result);
    else await endRun(conversation, "success");
    return result;
  } catch (error) {
    await endRun(conversation, outcomeOf(error, options));
    throw error;
  }
}

/** Announces the input of the run as a root event for its first agent. */
async function announceTask(watched: WatchedRun, first: AnyAgent, input: any): Promise<InputEvent> {
  const id = watched.nextRequest();
  const payload = snapshot(input instanceof RunState ? undefined : input);
  const verdict = await watched.ifHealing(watched.run.emit([first.name], { id, payload }));
  return { ...inputOf(verdict ?? unchangedVerdict(id, [first.name])), holders: new Set([first.name]) };
}

// ---- end

const outcomeOf = (error: unknown, options: any): Outcome =>
  isDeclaredEnd(error) || error instanceof StreamCancelled || options?.signal?.aborted ? "aborted" : "failure";

/** Pauses a run that waits for an approval. Its inputs wait; resuming its state continues with them. */
async function pause({ activation, watched }: Conversation, result: AnyResult): Promise<void> {
  activation.wait(...activation.inputs);
  await watched.ifHealing(activation.end());
  const state = result.state as object;
  pausedRuns.set(state, { watched, inputs: activation.inputs });
  abandonedRuns.register(state, watched, watched);
}

async function endRun(conversation: Conversation, outcome: Outcome): Promise<void> {
  conversation.reportTexts();
  const { watched } = conversation;
  watched.abandonRequests();
  watched.isOver = true;
  watched.inbox.close();
  await watched.run.end(outcome);
}

// ---- rounds

/**
 * Repeats the run until an answer is accepted. An answer that is given back costs a round, and so does a run that the
 * monitor wakes.
 */
async function runRounds(conversation: Conversation, call: RunCall): Promise<AnyResult> {
  const { original, runner, options } = call;
  const { watched } = conversation;
  let { agent, input } = call;
  for (let round = 0; ; ++round) {
    let result: AnyResult = null;
    let failure: unknown = null;
    try {
      result = await conversations.run(conversation, () =>
        original.call(runner, agent, input, filteredOptions(watched, call)),
      );
      conversation.countUsage();
    } catch (error) {
      failure = error;
      conversation.countUsage();
      conversation.settleFailed(false);
      if (conversation.activation.isOpen) conversation.activation.fail(error); // a handoff to nobody has ended it
    }
    if (result?.interruptions?.length > 0) return result;
    let next: NextRound | null = null;
    if (result && (isAnswer(result.finalOutput) || !watched.waitsForHealing)) {
      next = await submitAnswer(conversation, result);
      if (!next || round >= maxRounds) return result;
    } else {
      if (result) await watched.ifHealing(conversation.activation.end());
      next = round < maxRounds ? await awaitHealing(watched, failure !== null, options?.signal) : null;
      // The work of the failed turn is still open.
      if (next && failure !== null) next.inputs.push(...conversation.activation.inputs.map((event) => ({ event })));
      if (!next && failure !== null) throw failure;
      if (!next) return result;
    }
    agent = watched.agents.get(next.agent) ?? agent;
    input = nextInput(input, result, options);
    conversation.next(agent, next.inputs);
  }
}

const isAnswer = (output: unknown): boolean => output !== undefined && output !== null && output !== "";

/** Whether the agent answered right after it got the SDK's default text for a tool that threw. */
function ignoredError(result: AnyResult): boolean {
  const items: any[] = result.newItems ?? [];
  const last = [...items]
    .reverse()
    .find((item) => item.type !== "message_output_item" && item.type !== "reasoning_item");
  return last?.type === "tool_call_output_item" && JSON.stringify(last.rawItem ?? null).includes(defaultToolError);
}

/** Submits the final answer. Returns null if it is accepted, else the round of the agent that gets it back. */
async function submitAnswer(conversation: Conversation, result: AnyResult): Promise<NextRound | null> {
  const { watched } = conversation;
  await conversation.finish();
  conversation.settleFailed(ignoredError(result));
  conversation.activation.output([], { submit: true, payload: snapshot(result.finalOutput) });
  const [verdict] = (await watched.ifHealing(conversation.activation.end())) ?? [];
  if (!verdict?.givenBack) return null;
  const agent = verdict.recipients[0] ?? conversation.agent.name;
  watched.run.applied(verdict, watched.agents.has(agent) ? undefined : "no agent of that name can be reached");
  return watched.agents.has(agent) ? { agent, inputs: [inputOf(verdict)] } : null;
}

/**
 * Waits up to `waitForHealingMs` for the monitor to wake a run without an answer. Null: it did not, or the program has
 * aborted the run.
 */
async function awaitHealing(watched: WatchedRun, hasFailed: boolean, signal?: AbortSignal): Promise<NextRound | null> {
  const { options, inbox, run, agents } = watched;
  if (!watched.waitsForHealing || (hasFailed && !options.healErrors)) return null;
  const isOver = (): boolean => !run.connected || signal?.aborted === true;
  if (!(await inbox.waitForAny(options.waitForHealingMs ?? 0, isOver)) || signal?.aborted) return null;
  const interventions = inbox.takeAll();
  const agent = interventions[0]?.recipients.find((name) => agents.has(name));
  if (agent === undefined) return null;
  return {
    agent,
    inputs: interventions
      .filter(({ recipients }) => recipients.includes(agent))
      .map(({ event, id, inject }) => ({ event: event ?? id, ...(inject === undefined ? {} : { inject }) })),
  };
}

/** The input of the next round: the conversation so far or, where a session keeps that, only a prompt to continue. */
function nextInput(input: any, result: AnyResult, options: any): AgentInputItem[] | string {
  const isKept = options?.session || options?.conversationId || options?.previousResponseId;
  if (isKept) return [user("Go on.")];
  if (result) return result.history;
  return input instanceof RunState ? input.history : input;
}

// ---- streams

/** Runs a stream, which is read while it arrives: handoffs are held, the final answer is only reported. */
async function runStreamed(conversation: Conversation, call: RunCall): Promise<AnyResult> {
  const { original, runner, agent, input, options } = call;
  const { watched } = conversation;
  let result: AnyResult;
  const endFailed = async (error: unknown): Promise<void> => {
    if (conversation.activation.isOpen) conversation.activation.fail(error);
    await endRun(conversation, outcomeOf(error, options));
  };
  try {
    result = await conversations.run(conversation, () =>
      original.call(runner, agent, input, filteredOptions(watched, call)),
    );
  } catch (error) {
    await endFailed(error);
    throw error;
  }
  const watchEnd = async (): Promise<void> => {
    await result.completed;
    conversation.countUsage();
    if (result.interruptions?.length > 0) return pause(conversation, result);
    if (result.cancelled) throw new StreamCancelled(); // reading `finalOutput` would log a warning of the SDK
    await conversation.finish();
    conversation.settleFailed(ignoredError(result));
    const answer = conversation.activation.output([], { submit: true, payload: snapshot(result.finalOutput) });
    await conversation.activation.end();
    const verdict = await answer.verdict;
    if (verdict.givenBack) watched.run.applied(verdict, "the stream has been read");
    await endRun(conversation, "success");
  };
  watchEnd().catch(endFailed);
  return result;
}
