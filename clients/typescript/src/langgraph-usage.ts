// The tokens of a node's model calls: LangChain's `usage_metadata` of the messages that the node added.
import { AIMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import type { Usage } from "./wire.js";

const maxMessages = 10_000; // the most messages that are read in one value
const maxCount = 1e9; // the most that the daemon accepts in one report

/** What the models used for the messages in `value` that are not in `before`, the node's input. */
export function usageOf(value: unknown, before: unknown): Usage {
  const known = new Set([...messagesIn(before)].map(identity));
  const used = { input_tokens: 0, output_tokens: 0, model_calls: 0, tool_calls: 0 };
  for (const message of messagesIn(value)) {
    if (!message.usage_metadata || known.has(identity(message))) continue;
    known.add(identity(message));
    used.input_tokens += count(message.usage_metadata.input_tokens);
    used.output_tokens += count(message.usage_metadata.output_tokens);
    used.model_calls += 1;
    used.tool_calls += message.tool_calls?.length ?? 0;
  }
  return used;
}

const identity = (message: AIMessage): unknown => message.id ?? message;
const count = (n: unknown): number => (typeof n === "number" && Number.isInteger(n) && n >= 0 && n <= maxCount ? n : 0);

/** The AI messages in a state, an update, a command, or lists of these, but no deeper. */
function* messagesIn(value: unknown): Generator<AIMessage> {
  let searched = 0;
  for (const part of partsOf(value)) {
    for (const message of Array.isArray(part) ? part : [part]) {
      if (++searched > maxMessages) return;
      if (AIMessage.isInstance(message)) yield message;
    }
  }
}

function* partsOf(value: unknown): Generator<unknown> {
  if (value instanceof Command) value = value.update;
  if (Array.isArray(value)) {
    for (const item of value) yield* item instanceof Command ? partsOf(item) : partsOfItem(item);
  } else yield* partsOfItem(value);
}

function* partsOfItem(item: unknown): Generator<unknown> {
  if (typeof item !== "object" || item === null || AIMessage.isInstance(item)) yield item;
  else yield* Object.values(item);
}
