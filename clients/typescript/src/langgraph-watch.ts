// One invocation of an instrumented graph: its run, the events on their way to nodes, and the executions of nodes.
//
// The watch replaces `tick` of this one loop and `proc` of its tasks. It adds no node, no step and no configuration. In
// a mode that does not heal, only the end of the run waits for the daemon: for the last ack, at most `lingerMs`.
import { isGraphBubbleUp, isGraphDrained, isParentCommand } from "@langchain/langgraph";
import type { Activation, Output } from "./activation.js";
import { Inbox, snapshot } from "./adapter.js";
import type { LangGraphOptions } from "./langgraph.js";
import {
  bareGotos,
  branchPrefix,
  carrierTask,
  hasFailed,
  isNodeTask,
  isSend,
  startNode,
  targetOf,
  writesThatStartNodes,
  type Loop,
  type Task,
  type Write,
} from "./langgraph-internals.js";
import { Mailbox, payloadOf, unchanged } from "./langgraph-mail.js";
import type { EndedBranch, MailItem, NodeExecution, Plan } from "./langgraph-mail.js";
import { addTexts, notesByTask } from "./langgraph-text.js";
import { usageOf } from "./langgraph-usage.js";
import type { Run } from "./run.js";
import type { Verdict } from "./verdict.js";
import type { Outcome } from "./wire.js";

const maxAnswerInputs = 1000; // an answer names the latest ended branches only
const cannotReadReason = "the node's input has no list of messages, and the node does not call notes()";

/** The ids of the runs by task, so that a graph which a node starts finds the run around it. */
export const runByTask = new Map<string, string>();

export class Watch {
  readonly inbox = new Inbox();
  private disabled = false;
  private answered = false;
  private startsNothing = false; // START leads straight to END: the run needs no answer
  private origin: string | null = null; // an event from which every event of the run descends
  private readonly mailbox = new Mailbox();
  private readonly executions = new Map<string, NodeExecution>();
  private readonly executedTasks = new Set<string>(); // of this step
  private readonly readsTexts = new Map<string, boolean>(); // by node; unknown until it has run
  private endedBranches: string[] = []; // the events of the branches that ended last; an answer names these
  private latestBranch: EndedBranch | null = null; // the last branch that a node in `submits` ended
  private restIsFinal = false; // the graph has come to rest permanently

  constructor(
    readonly run: Run,
    private readonly options: LangGraphOptions,
    private readonly loop: Loop,
    private readonly warn: (line: string) => void,
  ) {}

  /** Replaces `tick` and `scheduleErrorHandler` of this loop. */
  attach(): void {
    const { loop } = this;
    const tick = loop.tick;
    const limit = loop.stop - loop.step;
    loop.tick = async (params) => {
      this.guarded(() => this.endStep());
      let more = await tick.call(loop, params);
      while (!more && loop.status === "done" && !this.restIsFinal) {
        const writes = await this.onRest();
        if (writes.length === 0) break;
        loop.tasks = { digd: carrierTask(writes) };
        loop.status = "pending";
        loop.stop = Math.max(loop.stop, loop.step + limit);
        this.mailbox.nextStep();
        more = await tick.call(loop, params);
      }
      if (more) for (const task of Object.values(loop.tasks)) this.watchTask(task);
      return more;
    };
    const schedule = loop.scheduleErrorHandler;
    if (!schedule) return;
    loop.scheduleErrorHandler = (failed, error) => {
      const handler = schedule.call(loop, failed, error);
      if (handler) this.guarded(() => this.handOverInputs(failed, handler));
      return handler;
    };
  }

  /** Ends the run. */
  async end(error: unknown, cancelled: boolean): Promise<void> {
    const outcome = this.outcome(error, cancelled);
    for (const { activation, task } of this.executions.values()) {
      forget(task);
      if (activation.isOpen) activation.fail("left without an end");
    }
    this.executions.clear();
    this.disabled = true;
    this.inbox.close();
    await this.run.end(outcome);
  }

  /**
   * The outcome of this invocation. Interrupts and commands to a parent graph are intended, so they count as success.
   */
  private outcome(error: unknown, cancelled: boolean): Outcome | undefined {
    if (error === undefined)
      return this.answered || this.startsNothing || this.loop.status !== "done" ? "success" : undefined;
    if (cancelled || isGraphDrained(error)) return "aborted";
    return isGraphBubbleUp(error as Error) ? "success" : "failure";
  }

  /** Stops watching after a failure of the adapter; the graph continues. */
  private disable(error: unknown): void {
    if (!this.disabled)
      this.warn(
        `digd: run ${this.run.id}: the LangGraph adapter failed (${String(error)}); the graph continues unwatched`,
      );
    this.disabled = true;
  }

  private guarded<T>(action: () => T): T | undefined {
    if (this.disabled) return undefined;
    try {
      return action();
    } catch (error) {
      this.disable(error);
      return undefined;
    }
  }

  // ---- a node runs

  private watchTask(task: Task): void {
    if (!isNodeTask(task, this.loop) || task.writes.length > 0 || Object.hasOwn(task.proc, "invoke")) return;
    const inner = task.proc;
    const invoke = (input: unknown, config: any): Promise<unknown> => this.runNode(task, inner, input, config);
    task.proc = Object.create(inner, { invoke: { value: invoke } }) as Task["proc"];
  }

  private async runNode(task: Task, inner: Task["proc"], input: unknown, config: any): Promise<unknown> {
    const started = this.guarded(() => this.beginNode(task, input));
    if (!started) return inner.invoke(input, config);
    const [execution, nodeInput] = started;
    let value: unknown;
    try {
      value = await inner.invoke(nodeInput, config);
    } catch (error) {
      const command = isParentCommand(error as Error) ? (error as { command?: { graph?: string } }).command : undefined;
      if (command === undefined || command.graph !== config?.configurable?.checkpoint_ns) {
        this.guarded(() => this.failNode(execution, error));
        throw error;
      }
      // LangGraph would do this after the task. Do it now, so that the daemon can judge the writes.
      for (const writer of task.writers) await writer.invoke(command, config);
      value = command;
    }
    try {
      if (!this.disabled) await this.finishNode(execution, value);
    } catch (error) {
      this.disable(error);
    }
    return value;
  }

  private beginNode(task: Task, input: unknown): [NodeExecution, unknown] {
    const node = task.name;
    this.executedTasks.add(task.id);
    const mail = node === startNode ? [] : this.takeMail(task);
    const texts = mail.flatMap((m) => (m.text === undefined ? [] : [m.text]));
    const activation =
      node === startNode
        ? null
        : this.run.begin(
            node,
            mail.map((m) => m.event),
          );
    const execution: NodeExecution = {
      activation: activation as Activation,
      node,
      mail,
      task,
      notes: { texts, asked: false },
      unreadVerdicts: [],
    };
    if (activation === null) return [execution, input];
    this.executions.set(task.id, execution);
    notesByTask.set(task.id, execution.notes);
    runByTask.set(task.id, this.run.id);
    if (this.run.heals) this.readsTexts.set(node, this.options.inject !== undefined || addTexts(input, [""]) !== input);
    if (texts.length === 0) return [execution, input];
    const nodeInput = this.options.inject ? this.options.inject(input, texts, node) : addTexts(input, texts);
    for (const { verdict } of mail) {
      if (verdict?.action !== "inject") continue;
      if (nodeInput === input) execution.unreadVerdicts.push(verdict);
      else this.run.applied(verdict);
    }
    return [execution, nodeInput];
  }

  private takeMail(task: Task): MailItem[] {
    return this.mailbox.take(task, () => this.announceFromStart([{ node: task.name }])[0] as string);
  }

  /** Reroutes the inputs of a failed node to the error handler that LangGraph runs. */
  private handOverInputs(failed: Task, handler: Task): void {
    const events = this.mailbox.handOver(failed, handler);
    if (events.length > 0) {
      const activation = this.run.begin(failed.name, events);
      for (const input of activation.inputs) activation.reroute(input, [handler.name]);
      void activation.end();
    }
    this.watchTask(handler);
  }

  /**
   * Announces events that no node wrote, from an activation of START. All such activations have one common ancestor.
   */
  private announceFromStart(
    events: readonly { node: string; payload?: unknown }[],
    onVerdicts?: (verdicts: Promise<Verdict[]>) => void,
  ): string[] {
    const activation = this.run.begin(startNode, this.origin === null ? [] : [this.origin]);
    this.run.agentLeft(startNode);
    const ids = events.map(({ node, payload }) => activation.output([node], { payload }).id);
    if (this.origin === null) this.origin = activation.output([], { fyi: true }).id;
    const pendingVerdicts = activation.end();
    if (onVerdicts) onVerdicts(pendingVerdicts);
    return ids;
  }

  // ---- a node ends

  /** A node has returned: announces the events that start other nodes, and applies their verdicts. */
  private async finishNode(execution: NodeExecution, value: unknown): Promise<void> {
    const startingWrites = writesThatStartNodes(execution.task);
    const payload = (part: unknown): unknown =>
      this.options.payload ? this.options.payload(part, execution.node) : snapshot(part);
    if (execution.node === startNode) {
      this.startsNothing = startingWrites.length === 0;
      let pendingVerdicts: Promise<Verdict[]> = Promise.resolve([]);
      const ids = this.announceFromStart(
        startingWrites.map((w) => ({ node: targetOf(w), payload: payload(payloadOf(w, value)) })),
        (verdicts) => (pendingVerdicts = verdicts),
      );
      const plan: Plan = {
        outputs: new Map(ids.map((id, i) => [id, startingWrites[i] as Write])),
        reroutedWrites: [],
        holders: new Set(),
      };
      return this.applyVerdicts(execution, plan, this.run.heals ? await pendingVerdicts : unchanged(plan, [], ids));
    }
    const plan = this.plan(execution, value, startingWrites, payload);
    execution.activation.addUsage(usageOf(value, execution.task.input));
    const pendingVerdicts = execution.activation.end();
    const inputs = plan.reroutedWrites.length > 0 ? execution.activation.inputs : [];
    const verdicts = this.run.heals ? await pendingVerdicts : unchanged(plan, inputs, [...plan.outputs.keys()]);
    if (execution.notes.asked) this.readsTexts.set(execution.node, true);
    this.applyVerdicts(execution, plan, verdicts);
    for (const verdict of execution.unreadVerdicts)
      this.run.applied(verdict, execution.notes.asked ? undefined : cannotReadReason);
    this.executions.delete(execution.task.id);
    forget(execution.task);
  }

  /** Turns the writes of a node into reactions and outputs of its activation. */
  private plan(
    execution: NodeExecution,
    value: unknown,
    startingWrites: readonly Write[],
    payload: (part: unknown) => unknown,
  ): Plan {
    const { activation, node, mail } = execution;
    const plan: Plan = { outputs: new Map(), reroutedWrites: [], holders: new Set() };
    const gotos = new Set((bareGotos(value) ?? []).map((target) => branchPrefix + target));
    if (
      gotos.size > 0 &&
      gotos.size === startingWrites.length &&
      startingWrites.every(([channel]) => gotos.has(channel))
    ) {
      plan.holders = new Set([...mail.flatMap((m) => [...m.holders]), node]);
      plan.reroutedWrites = startingWrites.filter(
        (w) => targetOf(w) !== node && mail.every((m) => m.holders.has(targetOf(w))),
      );
      if (plan.reroutedWrites.length > 0)
        for (const input of activation.inputs) activation.reroute(input, plan.reroutedWrites.map(targetOf));
    }
    for (const write of startingWrites) {
      if (plan.reroutedWrites.includes(write)) continue;
      const output: Output = activation.output([targetOf(write)], { payload: payload(payloadOf(write, value)) });
      plan.outputs.set(output.id, write);
    }
    if (startingWrites.length === 0) {
      const reported = payload(value);
      const { id } = activation.output([], { fyi: true, payload: reported });
      const position = `${String(this.loop.step).padStart(9, "0")} ${JSON.stringify(execution.task.path)}`;
      this.endBranch({ event: id, node, position, payload: reported });
    }
    return plan;
  }

  private endBranch(branch: EndedBranch): void {
    const { submits } = this.options;
    this.endedBranches.push(branch.event);
    if (this.endedBranches.length > maxAnswerInputs) this.endedBranches.shift();
    if (submits !== undefined && !submits.includes(branch.node)) return;
    if (this.latestBranch === null || branch.position >= this.latestBranch.position) this.latestBranch = branch;
  }

  /** Changes LangGraph's writes as the verdicts demand, and posts the events to the nodes that they start. */
  private applyVerdicts(execution: NodeExecution, plan: Plan, verdicts: readonly Verdict[]): void {
    const { task } = execution;
    const removedWrites = new Set<Write>();
    const keptChannels = new Set<string>();
    for (const verdict of verdicts) {
      const write = plan.outputs.get(verdict.event);
      const writes = write ? [write] : execution.mail.some((m) => m.event === verdict.event) ? plan.reroutedWrites : [];
      if (verdict.action === "reroute") {
        const reason = this.obstacleFor(verdict.recipients);
        this.run.applied(verdict, reason);
        if (reason === undefined) {
          for (const w of writes) removedWrites.add(w);
          task.writes.push(...this.writesForRecipients(verdict));
          continue;
        }
      }
      for (const w of writes) {
        keptChannels.add(w[0]);
        this.postMail(w, verdict, plan.holders);
      }
    }
    if (removedWrites.size === 0) return;
    const remaining = task.writes.filter((w) => !removedWrites.has(w) || (!isSend(w) && keptChannels.has(w[0])));
    task.writes.splice(0, task.writes.length, ...remaining);
  }

  private postMail(write: Write, verdict: Verdict, holders: ReadonlySet<string>): void {
    const node = targetOf(write);
    if (!(node in this.loop.nodes)) return;
    const text = verdict.action === "inject" && verdict.inject !== undefined ? { text: verdict.inject } : {};
    this.mailbox.post(write, { event: verdict.event, holders: new Set([...holders, node]), verdict, ...text });
  }

  /** The writes that start the recipients of a verdict in the next step, with its text. */
  private writesForRecipients(verdict: { event: string; recipients: readonly string[]; inject?: string }): Write[] {
    return verdict.recipients.map((node) => {
      const text = verdict.inject === undefined ? {} : { text: verdict.inject };
      const write: Write = [branchPrefix + node, null];
      this.mailbox.post(write, { event: verdict.event, holders: new Set([node]), ...text });
      return write;
    });
  }

  /** The reason why these nodes cannot get an event with a text; undefined if they can. */
  private obstacleFor(recipients: readonly string[]): string | undefined {
    for (const node of recipients) {
      if (!(node in this.loop.nodes) || node === startNode) return `this graph has no node ${JSON.stringify(node)}`;
      if (!this.readsTexts.get(node)) return cannotReadReason;
    }
    return undefined;
  }

  /** A node threw. An interrupt leaves its inputs waiting; a command to a parent graph ends this graph's part. */
  private failNode(execution: NodeExecution, error: unknown): void {
    const { activation, task } = execution;
    this.executions.delete(task.id);
    forget(task);
    if (execution.node === startNode) return;
    if (isParentCommand(error as Error)) activation.output([], { fyi: true });
    else if (isGraphBubbleUp(error as Error)) activation.wait(...activation.inputs);
    else return activation.fail(error);
    void activation.end();
  }

  /**
   * Ends a step. Nodes that LangGraph served from its cache, or from an earlier invocation, are recorded as executed.
   */
  private endStep(): void {
    for (const task of Object.values(this.loop.tasks)) {
      if (
        task.name === startNode ||
        this.executedTasks.has(task.id) ||
        task.writes.length === 0 ||
        hasFailed(task) ||
        !isNodeTask(task, this.loop)
      )
        continue;
      const mail = this.takeMail(task);
      const activation = this.run.begin(
        task.name,
        mail.map((m) => m.event),
      );
      const execution: NodeExecution = {
        activation,
        node: task.name,
        mail,
        task,
        notes: { texts: [], asked: false },
        unreadVerdicts: [],
      };
      const startingWrites = writesThatStartNodes(task);
      const value = Object.fromEntries(task.writes.filter((w) => !startingWrites.includes(w)));
      const plan = this.plan(execution, value, startingWrites, snapshot);
      void activation.end();
      this.applyVerdicts(execution, plan, unchanged(plan, [], [...plan.outputs.keys()]));
    }
    this.mailbox.nextStep();
    this.executedTasks.clear();
  }

  // ---- the graph comes to rest

  /** Submits the answer, or waits for healing. Returns the writes that make the graph continue, or none. */
  private async onRest(): Promise<Write[]> {
    if (this.disabled) return [];
    try {
      const writes = await this.submitAnswer();
      if (writes.length > 0) return writes;
      if (!this.answered && !this.startsNothing && this.run.heals) return await this.awaitHealing();
    } catch (error) {
      this.disable(error);
    }
    this.restIsFinal = true;
    return [];
  }

  /** Submits the answer: the work of all ended branches, by the node that ended last. */
  private async submitAnswer(): Promise<Write[]> {
    const latest = this.latestBranch;
    if (latest === null) return [];
    const activation = this.run.begin(latest.node, this.endedBranches);
    activation.output([], { submit: true, payload: latest.payload });
    this.answered = true;
    this.endedBranches = [];
    this.latestBranch = null;
    const pendingVerdicts = activation.end();
    if (!this.run.heals) return [];
    const [verdict] = await pendingVerdicts;
    if (!verdict?.givenBack) return [];
    const reason = this.obstacleFor(verdict.recipients);
    this.run.applied(verdict, reason);
    if (reason !== undefined) return [];
    this.answered = false;
    return this.writesForRecipients(verdict);
  }

  /** Waits up to `waitForHealingMs` for the monitor to wake a graph that stopped without an answer. */
  private async awaitHealing(): Promise<Write[]> {
    const withinMs = this.options.waitForHealingMs ?? 0;
    if (withinMs <= 0 || !(await this.inbox.waitForAny(withinMs, () => !this.run.connected))) return [];
    return this.inbox.takeAll().flatMap((intervention) => {
      const recipients = intervention.recipients.filter(
        (node) => node in this.loop.nodes && this.readsTexts.get(node) !== false,
      );
      return this.writesForRecipients({
        event: intervention.event ?? intervention.id,
        recipients,
        ...(intervention.inject === undefined ? {} : { inject: intervention.inject }),
      });
    });
  }
}

function forget(task: Task): void {
  notesByTask.delete(task.id);
  runByTask.delete(task.id);
}
