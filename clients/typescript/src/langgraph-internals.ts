// The undocumented parts of LangGraph.js that the adapter uses. Tested with @langchain/langgraph 1.7.
//
// - `Pregel.prototype._runLoop({ loop, config })` runs one invocation of a graph.
// - `PregelLoop`: `tick`, `tasks`, `nodes`, `status`, `step`, `stop`, `scheduleErrorHandler`.
// - A task: `id`, `name`, `path`, `input`, `triggers`, `writes`, `writers`, `proc`.
// - Channels by name: `branch:to:NODE`, `join:NAMES:NODE`, `__pregel_tasks`.
import { isCommand } from "@langchain/langgraph";

export const startNode = "__start__";
export const branchPrefix = "branch:to:";
const joinPrefix = "join:";
const sendChannel = "__pregel_tasks";
const errorChannel = "__error__";

export type Write = [channel: string, value: any];

export interface Task {
  id: string;
  name: string;
  path: unknown[];
  input: unknown;
  triggers: string[];
  writes: Write[];
  writers: { invoke(value: unknown, config: unknown): Promise<unknown> }[];
  proc: { invoke(input: unknown, config: any): Promise<unknown> };
}

export interface Loop {
  tasks: Record<string, Task>;
  nodes: Record<string, unknown>;
  status: string;
  step: number;
  stop: number;
  tick(params: unknown): Promise<boolean>;
  scheduleErrorHandler?(failed: Task, error: unknown): Task | undefined;
}

export const isSend = ([channel]: Write): boolean => channel === sendChannel;
/** Whether a write starts a node in a later step. */
export const startsNodes = (write: Write): boolean =>
  isSend(write) || write[0].startsWith(branchPrefix) || write[0].startsWith(joinPrefix);
export const hasFailed = (task: Task): boolean => task.writes.some(([channel]) => channel === errorChannel);
/** Whether LangGraph runs this task because of a `Send`. */
export const isSent = (task: Task): boolean => task.path[0] === "__pregel_push";
/** Whether a task runs a node, and not a function of the functional API that a node called. */
export const isNodeTask = (task: Task, loop: Loop): boolean => task.name in loop.nodes && task.path.at(-1) !== true;
export const taskIdOf = (config: any): string | undefined => config?.configurable?.["__pregel_task_id"];

export function targetOf([channel, value]: Write): string {
  if (channel === sendChannel) return String(value.node);
  return channel.startsWith(branchPrefix)
    ? channel.slice(branchPrefix.length)
    : channel.slice(channel.lastIndexOf(":") + 1);
}

/**
 * The writes of a task that start nodes. Several writes to the same channel start a node once, so only the first
 * counts.
 */
export function writesThatStartNodes(task: Task): Write[] {
  const channels = new Set<string>();
  return task.writes.filter((write) => {
    if (!startsNodes(write) || (!isSend(write) && channels.has(write[0]))) return false;
    channels.add(write[0]);
    return true;
  });
}

/** The targets of commands that have a `goto` and no update; null for any other value. */
export function bareGotos(value: unknown): string[] | null {
  const targets: string[] = [];
  for (const command of Array.isArray(value) ? value : [value]) {
    if (!isCommand(command)) return null;
    const { update, goto, graph } = command as { update?: object | null; goto?: unknown; graph?: string };
    if (graph !== undefined || (update != null && Object.keys(update).length > 0)) return null;
    for (const target of Array.isArray(goto) ? goto : [goto]) {
      if (typeof target !== "string") return null;
      if (target !== "__end__") targets.push(target);
    }
  }
  return targets.length > 0 ? targets : null;
}

/** A task that only carries writes. With it the adapter starts nodes in a graph that has come to rest. */
export function carrierTask(writes: Write[]): Task {
  const carrier = {
    id: "digd",
    name: startNode,
    path: ["__pregel_pull", startNode],
    input: null,
    triggers: [],
    writes,
    writers: [],
    proc: null,
  };
  return { ...carrier, config: { tags: ["langsmith:hidden"] } } as unknown as Task;
}
