// How a node reads the texts that digd injects: as a message in its input, or by asking for them with `notes`.
import { AIMessage, BaseMessage, HumanMessage } from "@langchain/core/messages";
import { taskIdOf } from "./langgraph-internals.js";

/** Returns a node's input with texts added, or the very same object if it cannot take them. */
export type Inject = (input: any, texts: readonly string[], node: string) => unknown;

/** The texts for one execution of a node, and whether the node asked for them. */
export interface Notes {
  texts: readonly string[];
  asked: boolean;
}

export const notesByTask = new Map<string, Notes>();

/**
 * Within a node: the texts that digd injects into this execution, by the node's `config`. For nodes whose input has no
 * messages. A node that calls this may be run again to read a text; other nodes without messages are left alone.
 */
export function notes(config: unknown): readonly string[] {
  const currentNotes = notesByTask.get(taskIdOf(config) ?? "");
  if (!currentNotes) return [];
  currentNotes.asked = true;
  return currentNotes.texts;
}

/** Calls of tools are answered by tools: a message between a call and its answer would make the conversation invalid. */
function takesText(messages: unknown): messages is BaseMessage[] {
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every((m) => BaseMessage.isInstance(m)))
    return false;
  const last = messages.at(-1);
  return !(AIMessage.isInstance(last) && (last.tool_calls?.length ?? 0) > 0);
}

/** The default `inject`: a copy of the input with a HumanMessage for each text at the end of its `messages`. */
export function addTexts(input: any, texts: readonly string[]): unknown {
  const added = texts.map((text) => new HumanMessage(text));
  if (Array.isArray(input)) return takesText(input) ? [...input, ...added] : input;
  if (typeof input !== "object" || input === null || !takesText(input.messages)) return input;
  const copy = Object.assign(Object.create(Object.getPrototypeOf(input) as object | null) as object, input);
  return Object.assign(copy, { messages: [...input.messages, ...added] });
}
