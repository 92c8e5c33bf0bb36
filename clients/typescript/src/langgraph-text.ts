// The two ways in which a node reads the texts that digd injects: a message in its input, or a call of `notes`.
import { AIMessage, BaseMessage, HumanMessage } from "@langchain/core/messages";
import { taskIdOf } from "./langgraph-internals.js";

/** Returns a node's input with the texts added, or the same object if it has no place for them. */
export type Inject = (input: any, texts: readonly string[], node: string) => unknown;

/** The texts for one execution of a node, and whether the node asked for them. */
export interface Notes {
  texts: readonly string[];
  asked: boolean;
}

export const notesByTask = new Map<string, Notes>();

/**
 * Call this within a node whose input has no messages: it returns the texts that digd injects into this execution,
 * found by the node's `config`. Healing may run such a node again to let it read a text. It never runs other nodes
 * without messages again.
 */
export function notes(config: unknown): readonly string[] {
  const currentNotes = notesByTask.get(taskIdOf(config) ?? "");
  if (!currentNotes) return [];
  currentNotes.asked = true;
  return currentNotes.texts;
}

/** A text between a tool call and the tool's answer would make the conversation invalid. */
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
