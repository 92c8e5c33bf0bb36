// A run of the OpenAI Agents SDK within another one, such as an agent used as a tool: a request and its response.
import {
  InputGuardrailTripwireTriggered,
  MaxTurnsExceededError,
  OutputGuardrailTripwireTriggered,
  RunState,
} from "@openai/agents";
import { snapshot } from "./adapter.js";
import { Conversation, conversations, inputOf, NotDelivered } from "./openai-agents-conversation.js";
import type { AnyResult, OpenRequest, RunCall } from "./openai-agents-conversation.js";
import { filteredOptions } from "./openai-agents-handoffs.js";
import { unchangedVerdict, type Verdict } from "./verdict.js";

/** Whether the error is an end that the author declared, by a guardrail or a limit on turns. */
export const isDeclaredEnd = (error: unknown): boolean =>
  error instanceof InputGuardrailTripwireTriggered ||
  error instanceof OutputGuardrailTripwireTriggered ||
  error instanceof MaxTurnsExceededError;

/** The program stopped reading a stream before its end, so there is no answer. */
export class StreamCancelled extends Error {
  constructor() {
    super("the stream was cancelled");
  }
}

/** Runs an agent on behalf of the current agent of `caller`. */
export async function runRequest(caller: Conversation, call: RunCall): Promise<AnyResult> {
  const { original, runner, agent, input, options } = call;
  const { watched } = caller;
  if (input instanceof RunState || caller.isAbandoned) return original.call(runner, agent, input, options);
  watched.addReachable(agent, true);
  caller.settleFailed(false);
  caller.requestCount += 1;
  const id = watched.nextRequest();
  const event = { id, payload: snapshot(input) };
  const request: OpenRequest = { caller, agent };
  watched.openRequests.set(id, request);
  const pending = caller.activation.isOpen
    ? caller.activation.emit([agent.name], event)
    : watched.run.emit([agent.name], event);
  const verdict = (await watched.ifHealing(pending)) ?? unchangedVerdict(id, [agent.name]);
  if (verdict.action === "reroute" && !request.conversation) {
    watched.openRequests.delete(id);
    refuse(caller, verdict);
  }
  const conversation = (request.conversation ??= new Conversation(watched, agent, [inputOf(verdict)]));
  const failed = (error: unknown): void => {
    watched.openRequests.delete(id);
    failRequest(caller, conversation, error);
  };
  const answered = async (answer: AnyResult): Promise<void> => {
    await respond(request, conversation, answer);
    watched.openRequests.delete(id);
  };
  let result: AnyResult;
  try {
    result = await conversations.run(conversation, () =>
      original.call(runner, agent, input, filteredOptions(watched, call)),
    );
  } catch (error) {
    failed(error);
    throw error;
  }
  if (!options?.stream) await answered(result);
  else {
    const settle = (): unknown => (result.cancelled ? failed(new StreamCancelled()) : answered(result));
    void Promise.resolve(result.completed).then(settle, failed);
  }
  return result;
}

/**
 * Fails the tool of a request that went back to its author or to nobody. The SDK hides a tool's error from the model,
 * so the author's next model call gets the text.
 */
function refuse(caller: Conversation, verdict: Verdict): void {
  const { recipients } = verdict;
  const goesElsewhere = recipients.length > 0 && !recipients.includes(caller.agent.name);
  caller.watched.run.applied(verdict, goesElsewhere ? "the program runs this agent itself" : undefined);
  if (goesElsewhere) return;
  const error = new NotDelivered(verdict);
  if (recipients.length > 0) caller.responses.push({ event: verdict.event, inject: error.message });
  else caller.texts.push(error.message);
  throw error;
}

function failRequest(caller: Conversation, conversation: Conversation, error: unknown): void {
  if (conversation.isUnwatched) return;
  conversation.settleFailed(false);
  conversation.reportTexts();
  caller.failedRequests.push(conversation.activation);
  if (isDeclaredEnd(error)) caller.settleFailed(false);
}

async function respond(request: OpenRequest, conversation: Conversation, result: AnyResult): Promise<void> {
  const { watched } = conversation;
  const { caller } = request;
  const recipient = caller.agent.name;
  if (conversation.isUnwatched) return;
  if (result.interruptions?.length > 0) {
    conversation.activation.wait(...conversation.activation.inputs);
    await watched.ifHealing(conversation.activation.end());
    return;
  }
  await conversation.takeResponses();
  if (conversation.isUnwatched) return;
  conversation.settleFailed(false);
  const response = conversation.activation.output([recipient], { payload: snapshot(result.finalOutput) });
  request.response = response.id;
  const verdicts = await watched.ifHealing(conversation.activation.end());
  if (conversation.isUnwatched) return; // the caller has the response already
  const [verdict] = verdicts ?? [unchangedVerdict(response.id, [recipient])];
  conversation.reportTexts();
  if (!verdict) return;
  if (verdict.action === "reroute") watched.run.applied(verdict, "the response has been given to the tool");
  caller.responses.push(inputOf(verdict));
}
