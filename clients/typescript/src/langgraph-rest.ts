// The hidden node of an instrumented graph: it runs when nothing else is left to do.
import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import type { Instrument } from "./langgraph.js";

export const restNode = "__digd_rest__";

/** Waits for the monitor if the graph has come to rest without an answer, and does what it asks for. */
export class Idle extends Runnable {
  lc_namespace = ["digd"];
  constructor(private readonly owner: Instrument) {
    super();
  }

  override async invoke(_input: unknown, config?: RunnableConfig): Promise<null> {
    const context = this.owner.contextOf(config);
    if (!context) return null;
    const step = Number(config?.metadata?.["langgraph_step"] ?? 0);
    const send = config?.configurable?.["__pregel_send"] as (writes: unknown[]) => void;
    const again = [`branch:to:${restNode}`, null];
    // LangGraph runs deferred nodes beside the tasks of `Send`s: that is no rest yet.
    if (context.open.size > 0 || context.mail.isUnderWay(step - 1)) {
      send([again]);
      return null;
    }
    const came = await context.inbox.arrives(this.owner.patience(context), () => !context.run.connected);
    context.mail.step = Math.max(context.mail.step, step);
    const writes = came ? context.intervene() : [];
    context.over = writes.length === 0;
    if (!context.over) send([...writes, again]);
    return null;
  }
}
