// Which events wait for which node of a LangGraph graph: what an execution of it takes as its inputs.
import type { RunnableConfig } from "@langchain/core/runnables";

export interface Letter {
  event: string;
  /** What the monitor adds for its reader. */
  inject?: string;
  /** The channel that wakes the reader. */
  channel: string;
  /** The superstep that wrote it; read in a later one. */
  step: number;
  /** What a `Send` hands over. */
  packet?: unknown;
}

const tasksChannel = "__pregel_tasks";

/** Bounded by the graph itself: a letter for each write that a node was allowed, until its reader runs. */
export class Mail {
  /** The latest superstep that wrote. */
  step = -1;
  private readonly boxes = new Map<string, Letter[]>();

  put(node: string, letter: Letter): void {
    const box = this.boxes.get(node);
    if (box) box.push(letter);
    else this.boxes.set(node, [letter]);
  }

  /** Whether something that was written in `step` or later makes a node run by itself: a join waits for others. */
  isUnderWay(step: number): boolean {
    return [...this.boxes.values()].flat().some((l) => l.step >= step && !l.channel.startsWith("join:"));
  }

  /** The events that wait for a node at one channel. */
  waiting(node: string, channel: string): string[] {
    return (this.boxes.get(node) ?? []).filter((l) => l.channel === channel).map((l) => l.event);
  }

  /** The letters that made this execution of `node` happen; they are gone then. */
  take(node: string, input: unknown, config: RunnableConfig | undefined): Letter[] {
    const box = this.boxes.get(node) ?? [];
    const triggers = config?.metadata?.["langgraph_triggers"] as string[] | undefined;
    const step = Number(config?.metadata?.["langgraph_step"] ?? Infinity);
    const pushed = triggers?.some((t) => t.startsWith("__pregel_push")) ?? false;
    const mine = pushed ? this.sent(box, input) : box.filter((l) => l.step < step && l.channel !== tasksChannel && (!triggers || triggers.includes(l.channel)));
    this.boxes.set(node, box.filter((l) => !mine.includes(l)));
    return mine;
  }

  /** Of several `Send`s the one with this very packet; the first, if packets were copied on the way (by a checkpoint). */
  private sent(box: Letter[], input: unknown): Letter[] {
    const all = box.filter((l) => l.channel === tasksChannel);
    const one = all.find((l) => l.packet === input) ?? all[0];
    return one ? [one] : [];
  }
}
