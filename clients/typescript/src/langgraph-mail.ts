// The events on their way to nodes, and the records of one execution of a node.
import type { Activation } from "./activation.js";
import { isSend, isSent, targetOf, type Task, type Write } from "./langgraph-internals.js";
import type { Notes } from "./langgraph-text.js";
import { unchangedVerdict, type Verdict } from "./verdict.js";

/** An event on its way to a node. */
export interface MailItem {
  event: string;
  /** The nodes that have had this work unchanged. */
  holders: ReadonlySet<string>;
  verdict?: Verdict;
  text?: string;
}

interface PostedItem {
  item: MailItem;
  /** The step that posted it. Nodes that run in the same step do not see it. */
  step: number;
}

/** An activation, from the start of its node to its last write. */
export interface NodeExecution {
  activation: Activation;
  node: string;
  mail: readonly MailItem[];
  task: Task;
  notes: Notes;
  unreadVerdicts: Verdict[]; // injections for which the input had no place
}

export interface EndedBranch {
  event: string;
  node: string;
  position: string; // step and path of the task; branches sorted by it are in the order in which they ended
  payload: unknown;
}

/** The writes of a task that start nodes, as events: `outputs` are new, `reroutedWrites` stand for rerouted inputs. */
export interface Plan {
  outputs: Map<string, Write>;
  reroutedWrites: Write[];
  holders: ReadonlySet<string>;
}

/** The events that wait for nodes. */
export class Mailbox {
  private step = 0;
  private readonly byChannel = new Map<string, PostedItem[]>();
  private readonly bySend = new Map<string, (PostedItem & { packet: unknown })[]>(); // by node
  private readonly taken = new Map<string, MailItem[]>(); // by task of this step; a retry takes the same mail

  /** Posts an event to the node that a write starts. */
  post(write: Write, item: MailItem): void {
    const posted = { item, step: this.step };
    if (isSend(write)) listOf(this.bySend, targetOf(write)).push({ ...posted, packet: write[1].args });
    else listOf(this.byChannel, write[0]).push(posted);
  }

  /** Takes the mail of a task. If there is none, its start has an unknown reason; `announce` then gives an event. */
  take(task: Task, announce: () => string): MailItem[] {
    let mail =
      this.taken.get(task.id) ??
      (isSent(task) ? this.takeSent(task) : task.triggers.flatMap((channel) => this.takeFromChannel(channel)));
    if (mail.length === 0) mail = [{ event: announce(), holders: new Set([task.name]) }];
    this.taken.set(task.id, mail);
    return mail;
  }

  /** Gives the mail of a failed task to its error handler. Returns the events. */
  handOver(failed: Task, handler: Task): string[] {
    const mail = this.taken.get(failed.id) ?? [];
    if (mail.length > 0)
      this.taken.set(
        handler.id,
        mail.map(({ event, holders }) => ({ event, holders: new Set([...holders, handler.name]) })),
      );
    return mail.map(({ event }) => event);
  }

  nextStep(): void {
    this.step += 1;
    this.taken.clear();
  }

  private takeFromChannel(channel: string): MailItem[] {
    const posted = this.byChannel.get(channel) ?? [];
    this.byChannel.set(
      channel,
      posted.filter(({ step }) => step >= this.step),
    );
    return posted.filter(({ step }) => step < this.step).map(({ item }) => item);
  }

  private takeSent(task: Task): MailItem[] {
    const posted = this.bySend.get(task.name) ?? [];
    const matching = posted.findIndex(({ packet, step }) => packet === task.input && step < this.step);
    const index = matching >= 0 ? matching : posted.findIndex(({ step }) => step < this.step);
    return index < 0 ? [] : posted.splice(index, 1).map(({ item }) => item);
  }
}

/** The value that a write gives to the node it starts, for a task that returned `value`. */
export const payloadOf = (write: Write, value: unknown): unknown => (isSend(write) ? write[1].args : value);

/** Verdicts that deliver everything unchanged: first rerouted inputs, then outputs. */
export function unchanged(plan: Plan, inputs: readonly string[], outputs: readonly string[]): Verdict[] {
  const recipients = plan.reroutedWrites.map(targetOf);
  return [
    ...inputs.map((event) => unchangedVerdict(event, recipients)),
    ...outputs.map((event) => unchangedVerdict(event, [])),
  ];
}

function listOf<K, V>(lists: Map<K, V[]>, key: K): V[] {
  let list = lists.get(key);
  if (!list) lists.set(key, (list = []));
  return list;
}
