// One invocation of an instrumented graph: its run, the events on their way to nodes, and who acts.
//
// Everything happens within LangGraph's own loop: the watch replaces `tick` of this one loop and `proc` of its tasks. It adds
// no node, no step and no configuration. In a mode that does not heal, nothing here waits.
import { isGraphBubbleUp, isGraphDrained, isParentCommand } from "@langchain/langgraph";
import type { Activation, Output } from "./activation.js";
import { Inbox, snapshot } from "./adapter.js";
import type { LangGraphOptions } from "./langgraph.js";
import {
  bareGotos,
  branchTo,
  carrierTask,
  hasFailed,
  isNodeTask,
  isSend,
  isSent,
  leadingWrites,
  startNode,
  targetOf,
  type Loop,
  type Task,
  type Write,
} from "./langgraph-internals.js";
import { addTexts, notesByTask, type Notes } from "./langgraph-text.js";
import type { Run } from "./run.js";
import type { Verdict } from "./verdict.js";
import type { Outcome } from "./wire.js";

const maxAnswerInputs = 1000; // ended branches that an answer names, the latest ones
const cannotRead = "the node's input has no list of messages, and the node does not ask for notes()";

/** An event on its way to a node. */
interface Mail {
  event: string;
  /** The nodes that have had this work, unchanged. */
  holders: ReadonlySet<string>;
  /** The step in which it was written; nodes that run in the same step do not see it. */
  step: number;
  verdict?: Verdict;
  text?: string;
}

/** An activation from its node's start to its last write. */
interface Acting {
  activation: Activation;
  node: string;
  mails: readonly Mail[];
  task: Task;
  notes: Notes;
  unread: Verdict[]; // injections that the input could not take
}

interface EndedBranch {
  event: string;
  node: string;
  place: string;
  payload: unknown;
}

/** The writes of a task that start nodes, as events: new ones, and inputs that are rerouted. */
interface Plan {
  outputs: Map<string, Write>;
  returned: Write[];
  holders: ReadonlySet<string>;
}

/** Ids of the runs around a task, for graphs that a node starts. */
export const runByTask = new Map<string, string>();

export class Watch {
  readonly inbox = new Inbox();
  private disabled = false;
  private answered = false;
  private idle = false; // START led to END at once: there is nothing to answer
  private origin: string | null = null; // an event that everything in the run descends from
  private step = 0;
  private readonly mail = new Map<string, Mail[]>(); // by channel
  private readonly sent = new Map<string, { packet: unknown; mail: Mail }[]>(); // by node
  private readonly taken = new Map<string, Mail[]>(); // by task of this step: a retry has the same inputs
  private readonly acting = new Map<string, Acting>();
  private readonly seen = new Set<string>(); // tasks of this step that ran
  private readonly reads = new Map<string, boolean>();
  private ended: EndedBranch[] = [];
  private concluded = false; // the answer of this rest was submitted

  constructor(
    readonly run: Run,
    private readonly options: LangGraphOptions,
    private readonly loop: Loop,
    private readonly warn: (line: string) => void,
  ) {}

  /** Replaces `tick` of this loop, and error handlers. */
  attach(): void {
    const { loop } = this;
    const tick = loop.tick;
    const limit = loop.stop - loop.step;
    loop.tick = async (params) => {
      this.guarded(() => this.stepEnded());
      let more = await tick.call(loop, params);
      while (!more && loop.status === "done" && !this.concluded) {
        const writes = await this.comeToRest();
        if (writes.length === 0) break;
        loop.tasks = { digd: carrierTask(writes) };
        loop.status = "pending";
        loop.stop = Math.max(loop.stop, loop.step + limit);
        this.step += 1;
        more = await tick.call(loop, params);
      }
      if (more) for (const task of Object.values(loop.tasks)) this.watchTask(task);
      return more;
    };
    const schedule = loop.scheduleErrorHandler;
    if (!schedule) return;
    loop.scheduleErrorHandler = (failed, error) => {
      const handler = schedule.call(loop, failed, error);
      if (handler) this.guarded(() => this.handOver(failed, handler));
      return handler;
    };
  }

  /** Ends the run. */
  async end(error: unknown, cancelled: boolean): Promise<void> {
    const outcome = this.outcome(error, cancelled);
    for (const { activation, task } of this.acting.values()) {
      forget(task);
      if (activation.isOpen) activation.fail("left without an end");
    }
    this.acting.clear();
    this.disabled = true;
    this.inbox.close();
    await this.run.end(outcome);
  }

  /** How this invocation ended. Pausing for a person and handing over to a parent graph are the author's intention. */
  private outcome(error: unknown, cancelled: boolean): Outcome | undefined {
    if (error === undefined) return this.answered || this.idle || this.loop.status !== "done" ? "success" : undefined;
    if (cancelled || isGraphDrained(error)) return "aborted";
    return isGraphBubbleUp(error as Error) ? "success" : "failure";
  }

  /** The adapter failed: the graph goes on unwatched. */
  private giveUp(error: unknown): void {
    if (!this.disabled)
      this.warn(
        `digd: run ${this.run.id}: the LangGraph adapter failed (${String(error)}); the graph goes on unwatched`,
      );
    this.disabled = true;
  }

  private guarded<T>(action: () => T): T | undefined {
    if (this.disabled) return undefined;
    try {
      return action();
    } catch (error) {
      this.giveUp(error);
      return undefined;
    }
  }

  // ---- a node runs

  private watchTask(task: Task): void {
    if (!isNodeTask(task, this.loop) || task.writes.length > 0 || Object.hasOwn(task.proc, "invoke")) return;
    const inner = task.proc;
    const invoke = (input: unknown, config: any): Promise<unknown> => this.turn(task, inner, input, config);
    task.proc = Object.create(inner, { invoke: { value: invoke } }) as Task["proc"];
  }

  private async turn(task: Task, inner: Task["proc"], input: unknown, config: any): Promise<unknown> {
    const begun = this.guarded(() => this.begin(task, input));
    if (!begun) return inner.invoke(input, config);
    const [acting, given] = begun;
    let value: unknown;
    try {
      value = await inner.invoke(given, config);
    } catch (error) {
      const command = isParentCommand(error as Error) ? (error as { command?: { graph?: string } }).command : undefined;
      if (command === undefined || command.graph !== config?.configurable?.checkpoint_ns) {
        this.guarded(() => this.fail(acting, error));
        throw error;
      }
      for (const writer of task.writers) await writer.invoke(command, config); // as LangGraph does, but to be judged
      value = command;
    }
    try {
      if (!this.disabled) await this.finish(acting, value);
    } catch (error) {
      this.giveUp(error);
    }
    return value;
  }

  private begin(task: Task, input: unknown): [Acting, unknown] {
    const node = task.name;
    this.seen.add(task.id);
    const mails = node === startNode ? [] : this.collect(task);
    const texts = mails.flatMap((m) => (m.text === undefined ? [] : [m.text]));
    const activation =
      node === startNode
        ? null
        : this.run.begin(
            node,
            mails.map((m) => m.event),
          );
    const acting: Acting = {
      activation: activation as Activation,
      node,
      mails,
      task,
      notes: { texts, asked: false },
      unread: [],
    };
    if (activation === null) return [acting, input];
    this.acting.set(task.id, acting);
    notesByTask.set(task.id, acting.notes);
    runByTask.set(task.id, this.run.id);
    if (this.run.heals) this.reads.set(node, this.options.inject !== undefined || addTexts(input, [""]) !== input);
    if (texts.length === 0) return [acting, input];
    const given = this.options.inject ? this.options.inject(input, texts, node) : addTexts(input, texts);
    for (const { verdict } of mails) {
      if (verdict?.action !== "inject") continue;
      if (given === input) acting.unread.push(verdict);
      else this.run.applied(verdict);
    }
    return [acting, given];
  }

  /** The events that a task takes up. A task that LangGraph started for reasons unknown here gets an event of its own. */
  private collect(task: Task): Mail[] {
    let mails =
      this.taken.get(task.id) ??
      (isSent(task) ? this.collectSend(task) : task.triggers.flatMap((channel) => this.collectFrom(channel)));
    if (mails.length === 0)
      mails = [
        { event: this.fromOrigin([{ node: task.name }])[0] as string, holders: new Set([task.name]), step: this.step },
      ];
    this.taken.set(task.id, mails);
    return mails;
  }

  private collectFrom(channel: string): Mail[] {
    const waiting = this.mail.get(channel) ?? [];
    this.mail.set(
      channel,
      waiting.filter((m) => m.step >= this.step),
    );
    return waiting.filter((m) => m.step < this.step);
  }

  private collectSend(task: Task): Mail[] {
    const waiting = this.sent.get(task.name) ?? [];
    const same = waiting.findIndex(({ packet, mail }) => packet === task.input && mail.step < this.step);
    const at = same >= 0 ? same : waiting.findIndex(({ mail }) => mail.step < this.step);
    return at < 0 ? [] : waiting.splice(at, 1).map(({ mail }) => mail);
  }

  /** A node failed and LangGraph runs its error handler: the handler takes up the node's inputs. */
  private handOver(failed: Task, handler: Task): void {
    const mails = this.taken.get(failed.id) ?? [];
    if (mails.length > 0) {
      const activation = this.run.begin(
        failed.name,
        mails.map((m) => m.event),
      );
      for (const input of activation.inputs) activation.reroute(input, [handler.name]);
      void activation.end();
      this.taken.set(
        handler.id,
        mails.map(({ event, holders }) => ({ event, holders: new Set([...holders, handler.name]), step: this.step })),
      );
    }
    this.watchTask(handler);
  }

  /** Events that no node wrote, from an activation of START. All such activations have one common ancestor. */
  private fromOrigin(
    events: readonly { node: string; payload?: unknown }[],
    verdicts?: (all: Promise<Verdict[]>) => void,
  ): string[] {
    const activation = this.run.begin(startNode, this.origin === null ? [] : [this.origin]);
    this.run.agentLeft(startNode);
    const ids = events.map(({ node, payload }) => activation.output([node], { payload }).id);
    if (this.origin === null) this.origin = activation.output([], { fyi: true }).id;
    const judged = activation.end();
    if (verdicts) verdicts(judged);
    return ids;
  }

  // ---- a node ends

  /** A node is done: announces what it starts, and lets it go as the verdicts say. */
  private async finish(acting: Acting, value: unknown): Promise<void> {
    const leading = leadingWrites(acting.task);
    const payload = (of: unknown): unknown =>
      this.options.payload ? this.options.payload(of, acting.node) : snapshot(of);
    if (acting.node === startNode) {
      this.idle = leading.length === 0;
      let judged: Promise<Verdict[]> = Promise.resolve([]);
      const ids = this.fromOrigin(
        leading.map((w) => ({ node: targetOf(w), payload: payload(payloadOf(w, value)) })),
        (all) => (judged = all),
      );
      const plan: Plan = {
        outputs: new Map(ids.map((id, i) => [id, leading[i] as Write])),
        returned: [],
        holders: new Set(),
      };
      return this.carryOut(acting, plan, this.run.heals ? await judged : unchanged(plan, [], ids));
    }
    const plan = this.plan(acting, value, leading, payload);
    const judged = acting.activation.end();
    const inputs = plan.returned.length > 0 ? acting.activation.inputs : [];
    const verdicts = this.run.heals ? await judged : unchanged(plan, inputs, [...plan.outputs.keys()]);
    if (acting.notes.asked) this.reads.set(acting.node, true);
    this.carryOut(acting, plan, verdicts);
    for (const verdict of acting.unread) this.run.applied(verdict, acting.notes.asked ? undefined : cannotRead);
    this.acting.delete(acting.task.id);
    forget(acting.task);
  }

  /** Adds reactions and outputs to the activation of a node. */
  private plan(acting: Acting, value: unknown, leading: readonly Write[], payload: (of: unknown) => unknown): Plan {
    const { activation, node, mails } = acting;
    const plan: Plan = { outputs: new Map(), returned: [], holders: new Set() };
    const gotos = new Set((bareGotos(value) ?? []).map((target) => branchTo + target));
    if (gotos.size > 0 && gotos.size === leading.length && leading.every(([channel]) => gotos.has(channel))) {
      plan.holders = new Set([...mails.flatMap((m) => [...m.holders]), node]);
      plan.returned = leading.filter((w) => targetOf(w) !== node && mails.every((m) => m.holders.has(targetOf(w))));
      if (plan.returned.length > 0)
        for (const input of activation.inputs) activation.reroute(input, plan.returned.map(targetOf));
    }
    for (const write of leading) {
      if (plan.returned.includes(write)) continue;
      const output: Output = activation.output([targetOf(write)], { payload: payload(payloadOf(write, value)) });
      plan.outputs.set(output.id, write);
    }
    if (leading.length === 0) {
      const told = payload(value);
      const { id } = activation.output([], { fyi: true, payload: told });
      const place = `${String(this.loop.step).padStart(9, "0")} ${JSON.stringify(acting.task.path)}`;
      this.ended.push({ event: id, node, place, payload: told });
    }
    return plan;
  }

  /** Makes LangGraph's writes agree with the verdicts, and addresses the events to the nodes that they start. */
  private carryOut(acting: Acting, plan: Plan, verdicts: readonly Verdict[]): void {
    const { task } = acting;
    const dropped = new Set<Write>();
    const kept = new Set<string>();
    for (const verdict of verdicts) {
      const write = plan.outputs.get(verdict.event);
      const writes = write ? [write] : acting.mails.some((m) => m.event === verdict.event) ? plan.returned : [];
      if (verdict.action === "reroute") {
        const reason = this.whyNot(verdict.recipients);
        this.run.applied(verdict, reason);
        if (reason === undefined) {
          for (const w of writes) dropped.add(w);
          task.writes.push(...this.wake(verdict));
          continue;
        }
      }
      for (const w of writes) {
        kept.add(w[0]);
        this.post(w, verdict, plan.holders);
      }
    }
    if (dropped.size === 0) return;
    const remaining = task.writes.filter((w) => !dropped.has(w) || (!isSend(w) && kept.has(w[0])));
    task.writes.splice(0, task.writes.length, ...remaining);
  }

  private post(write: Write, verdict: Verdict, holders: ReadonlySet<string>): void {
    const node = targetOf(write);
    if (!(node in this.loop.nodes)) return;
    const text = verdict.action === "inject" && verdict.inject !== undefined ? { text: verdict.inject } : {};
    const mail: Mail = {
      event: verdict.event,
      holders: new Set([...holders, node]),
      step: this.step,
      verdict,
      ...text,
    };
    if (isSend(write)) listOf(this.sent, node).push({ packet: write[1].args, mail });
    else listOf(this.mail, write[0]).push(mail);
  }

  /** The writes that start the recipients of a verdict in the next step, with its text. */
  private wake(verdict: { event: string; recipients: readonly string[]; inject?: string }): Write[] {
    return verdict.recipients.map((node) => {
      const text = verdict.inject === undefined ? {} : { text: verdict.inject };
      listOf(this.mail, branchTo + node).push({
        event: verdict.event,
        holders: new Set([node]),
        step: this.step,
        ...text,
      });
      return [branchTo + node, null];
    });
  }

  /** Why an event cannot be given to these nodes together with a text; undefined if it can. */
  private whyNot(recipients: readonly string[]): string | undefined {
    for (const node of recipients) {
      if (!(node in this.loop.nodes) || node === startNode) return `this graph has no node ${JSON.stringify(node)}`;
      if (!this.reads.get(node)) return cannotRead;
    }
    return undefined;
  }

  /** A node raised. An interrupt leaves its inputs waiting; a command to a parent graph ends this graph's part. */
  private fail(acting: Acting, error: unknown): void {
    const { activation, task } = acting;
    this.acting.delete(task.id);
    forget(task);
    if (acting.node === startNode) return;
    if (isParentCommand(error as Error)) activation.output([], { fyi: true });
    else if (isGraphBubbleUp(error as Error)) activation.wait(...activation.inputs);
    else return activation.fail(error);
    void activation.end();
  }

  /** Nodes that LangGraph served from its cache, or from an earlier invocation, count as having run. */
  private stepEnded(): void {
    for (const task of Object.values(this.loop.tasks)) {
      if (
        task.name === startNode ||
        this.seen.has(task.id) ||
        task.writes.length === 0 ||
        hasFailed(task) ||
        !isNodeTask(task, this.loop)
      )
        continue;
      const mails = this.collect(task);
      const activation = this.run.begin(
        task.name,
        mails.map((m) => m.event),
      );
      const acting: Acting = {
        activation,
        node: task.name,
        mails,
        task,
        notes: { texts: [], asked: false },
        unread: [],
      };
      const leading = leadingWrites(task);
      const value = Object.fromEntries(task.writes.filter((w) => !leading.includes(w)));
      const plan = this.plan(acting, value, leading, snapshot);
      void activation.end();
      this.carryOut(acting, plan, unchanged(plan, [], [...plan.outputs.keys()]));
    }
    this.step += 1;
    this.seen.clear();
    this.taken.clear();
  }

  // ---- the graph comes to rest

  /** Submits the answer, or waits to be woken; returns the writes that make the graph go on. */
  private async comeToRest(): Promise<Write[]> {
    if (this.disabled) return [];
    try {
      const writes = await this.answer();
      if (writes.length > 0) return writes;
      if (!this.answered && !this.idle && this.run.heals) return await this.healed();
    } catch (error) {
      this.giveUp(error);
    }
    this.concluded = true;
    return [];
  }

  /** The answer is the work of all branches that ended, by the node that ended last. */
  private async answer(): Promise<Write[]> {
    const { submits } = this.options;
    const branches = this.ended.filter((b) => submits === undefined || submits.includes(b.node));
    if (branches.length === 0) return [];
    const latest = branches.reduce((a, b) => (b.place >= a.place ? b : a));
    const activation = this.run.begin(
      latest.node,
      this.ended.slice(-maxAnswerInputs).map((b) => b.event),
    );
    activation.output([], { submit: true, payload: latest.payload });
    this.answered = true;
    this.ended = [];
    const judged = activation.end();
    if (!this.run.heals) return [];
    const [verdict] = await judged;
    if (!verdict?.givenBack) return [];
    const reason = this.whyNot(verdict.recipients);
    this.run.applied(verdict, reason);
    if (reason !== undefined) return [];
    this.answered = false;
    return this.wake(verdict);
  }

  /** Waits as long as the user allows for the monitor to wake a graph that stopped without an answer. */
  private async healed(): Promise<Write[]> {
    const withinMs = this.options.waitForHealingMs ?? 0;
    if (withinMs <= 0 || !(await this.inbox.arrives(withinMs, () => !this.run.connected))) return [];
    return this.inbox.take().flatMap((what) => {
      const recipients = what.recipients.filter((node) => node in this.loop.nodes && this.reads.get(node) !== false);
      return this.wake({
        event: what.event ?? what.id,
        recipients,
        ...(what.inject === undefined ? {} : { inject: what.inject }),
      });
    });
  }
}

const payloadOf = (write: Write, value: unknown): unknown => (isSend(write) ? write[1].args : value);

function forget(task: Task): void {
  notesByTask.delete(task.id);
  runByTask.delete(task.id);
}

/** Verdicts to deliver everything unchanged: of rerouted inputs, then of outputs. */
function unchanged(plan: Plan, inputs: readonly string[], outputs: readonly string[]): Verdict[] {
  const to = plan.returned.map(targetOf);
  const verdict = (event: string, recipients: readonly string[]): Verdict => ({
    event,
    action: "deliver",
    recipients,
    detections: [],
    givenBack: false,
  });
  return [...inputs.map((event) => verdict(event, to)), ...outputs.map((event) => verdict(event, []))];
}

function listOf<K, V>(lists: Map<K, V[]>, key: K): V[] {
  let list = lists.get(key);
  if (!list) lists.set(key, (list = []));
  return list;
}
