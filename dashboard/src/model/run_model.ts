// The model of a run, built from the frames of its feed: nodes, deliveries, detections, and the position of each
// change. It uses no clock, no network and no DOM.
//
// Bounds: at most `maxItems` nodes, entries and detections each. Beyond that the model drops the oldest quarter and
// counts dropped nodes in `forgotten`. Edges to dropped nodes are not drawn.
import {Entries} from './entries';
import type {Frame, RunSettings, WireDetection, WireEvent, WireMessage, WireReaction} from './frames';
import {PendingTable} from './pending';
import {
  NEVER,
  type ActivationNode,
  type Delivery,
  type Detection,
  type Ended,
  type EventNode,
  type Input,
  type Lane,
  type LaneKind,
  type Mark,
  type Node,
  type Reaction,
  type MonitorAction,
} from './types';

export const MAX_NODES = 400_000;

const knownReactions: ReadonlySet<string> = new Set(['consume', 'wait', 'discard']);

export class RunModel {
  readonly lanes: Lane[] = [];
  readonly nodes: Node[] = []; // by column
  readonly detections: Detection[] = [];
  readonly marks: Mark[] = [];
  readonly entries = new Entries();
  // Counted as in reports. `events`: announced, or created by digd; no placeholders. `lost`: messages that clients
  // dropped.
  readonly counts = {events: 0, activations: 0, detections: 0, lost: 0};
  ended: Ended | null = null;
  forgotten = 0;
  columns = 0;

  private readonly events = new Map<string, EventNode>();
  private readonly activations = new Map<string, ActivationNode>();
  private readonly laneByAgent = new Map<string, Lane>();
  private readonly outside: Lane;
  private monitor: Lane | null = null;
  private readonly pending = new PendingTable();
  private readonly roster: Set<string> | null; // null: open, any named agent can receive
  private detectionsInEntry = 0;
  private entrySeq = -1;
  private framesInEntry = 0; // frames of the current entry
  private repeatedFrames = -1; // frames of the current entry that a new connection sent again; -1: none expected
  private column = -1; // of the current entry; -1: none assigned yet
  private note = '';

  constructor(
    settings: RunSettings = {},
    private readonly maxItems = MAX_NODES,
  ) {
    this.outside = this.addLane('outside', 'outside');
    this.roster = Array.isArray(settings.agents) ? new Set(settings.agents) : null;
    for (const agent of settings.agents ?? []) this.lane(agent);
  }

  // Call after a reconnect: the feed repeats the frames of the last entry if the connection broke within it.
  resume(): void {
    this.repeatedFrames = 0;
  }

  get(type: 'event' | 'activation', id: string): Node | undefined {
    return type === 'event' ? this.events.get(id) : this.activations.get(id);
  }
  agentLane(agent: string): Lane | undefined {
    return this.laneByAgent.get(agent);
  }

  apply(frame: Frame): void {
    if (frame.seq < this.entrySeq) return;
    if (frame.seq === this.entrySeq && this.repeatedFrames >= 0 && this.repeatedFrames < this.framesInEntry) {
      this.repeatedFrames += 1;
      return;
    }
    if (frame.seq !== this.entrySeq) this.beginEntry(frame);
    this.framesInEntry += 1;
    this.dispatch(frame);
    const entry = this.entries.get(this.at)!;
    entry.column = this.columns - 1;
    entry.note = this.note;
    if (this.nodes.length > this.maxItems || this.entries.count - this.entries.first > this.maxItems)
      this.forgetOldest();
  }

  private get at(): number {
    return this.entries.last;
  }

  private beginEntry(frame: Frame): void {
    this.entrySeq = frame.seq;
    this.framesInEntry = 0;
    this.detectionsInEntry = 0;
    this.repeatedFrames = -1;
    this.column = -1;
    this.note = '';
    this.entries.push({seq: frame.seq, ts: frame.ts, column: this.columns - 1, note: ''});
  }

  private dispatch(frame: Frame): void {
    if (frame.message) this.message(frame.message);
    else if (frame.detection) this.detection(frame.detection);
    else if (frame.verdicts)
      for (const verdict of frame.verdicts) this.verdict(verdict.event, {...verdict, inject: verdict.inject ?? null});
    else if (frame.intervention) this.intervention(frame);
    else if (frame.outcome) this.outcome(frame.outcome);
    else if (frame.delivery) this.report(frame.delivery);
    else if (frame.operator_mode) this.addMark('mode', `operator: ${frame.operator_mode.mode}`);
  }

  // ---- messages

  private message(m: WireMessage): void {
    this.note = describe(m);
    switch (m.type) {
      case 'event':
        return void (m.event && this.announce(m.event, m.event.source ?? null, m.as_is === true, 0, 1));
      case 'activation_started':
        return this.start(m);
      case 'activation_ended':
        return this.end(m);
      case 'agent_joined':
        this.roster?.add(m.agent!);
        this.lane(m.agent!).leftAt = NEVER;
        return;
      case 'agent_left':
        return this.leave(m.agent!);
      case 'gap':
        return this.gap(m.dropped ?? 0);
      case 'run_ended':
        this.ended = {at: this.at, outcome: m.outcome ?? 'ended'};
        return this.addMark('ended', `ended: ${this.ended.outcome}`);
    }
  }

  private announce(wire: WireEvent, source: string | null, asIs: boolean, row: number, rows: number): void {
    const from = source === null ? null : (this.activations.get(source) ?? null);
    let event = this.events.get(wire.id);
    const late = event !== undefined;
    if (!event) {
      event = this.newEvent(wire.id, from?.lane ?? this.outside, row, rows);
      event.root = source === null;
    }
    if (event.announcedAt === NEVER || !late) this.counts.events += 1;
    event.announcedAt = this.at;
    event.kind = wire.kind ?? null;
    event.submit = wire.submit === true;
    event.fyi = wire.fyi === true;
    event.asIs = asIs;
    event.source = from;
    if (from) {
      from.used ??= from.inputs.filter((i) => from.endedAt === NEVER || i.reaction === 'consume').map((i) => i.event);
      from.outputs.push(event);
      if (!late) event.derivedFrom = from.used;
    }
    for (const agent of new Set(wire.recipients ?? [])) {
      if (!late || !event.deliveries.some((d) => d.lane.name === agent)) this.addDelivery(event, agent);
    }
  }

  private start(m: WireMessage): void {
    this.roster?.add(m.agent!);
    const lane = this.lane(m.agent!);
    lane.leftAt = NEVER;
    const node: ActivationNode = {
      type: 'activation',
      id: m.activation!,
      lane,
      column: this.currentColumn(),
      row: 0,
      rows: 1,
      createdAt: this.at,
      ts: this.entries.get(this.at)!.ts,
      forgotten: false,
      endedAt: NEVER,
      endedTs: NEVER,
      failed: false,
      error: null,
      inputs: [],
      outputs: [],
      used: null,
    };
    this.activations.set(node.id, node);
    this.nodes.push(node);
    this.counts.activations += 1;
    for (const id of new Set(m.inputs ?? [])) {
      const event = this.events.get(id) ?? this.placeholder(id);
      if (!this.pending.find(event, lane) && !this.isSettled(event)) this.addDelivery(event, lane.name);
      const input: Input = {event, activation: node, reaction: 'open'};
      event.inputs.push(input);
      node.inputs.push(input);
    }
  }

  private end(m: WireMessage): void {
    const node = this.activations.get(m.activation!);
    if (!node) return; // its start was dropped already
    node.endedAt = this.at;
    node.endedTs = this.entries.get(this.at)!.ts;
    node.failed = m.failed === true;
    node.error = m.error ?? null;
    for (const input of node.inputs) this.react(input, node, m.reactions ?? {});
    const outputs = m.outputs ?? [];
    outputs.forEach((output, i) => this.announce(output, node.id, m.as_is === true, i, outputs.length));
  }

  private react(input: Input, node: ActivationNode, reactions: Record<string, WireReaction>): void {
    const reaction = Object.hasOwn(reactions, input.event.id) ? reactions[input.event.id] : 'consume';
    input.reaction = node.failed ? 'failed' : typeof reaction === 'object' ? 'reroute' : reactionOf(reaction!);
    if (input.reaction === 'failed' || input.reaction === 'wait') return;
    const delivery = this.pending.find(input.event, node.lane);
    const state = {consume: 'consumed', discard: 'discarded', reroute: 'rerouted'} as const;
    if (delivery && input.reaction !== 'open') this.setState(delivery, state[input.reaction]);
    if (typeof reaction === 'object' && !node.failed)
      for (const agent of new Set(reaction.reroute)) this.addDelivery(input.event, agent);
  }

  private leave(agent: string): void {
    this.roster?.delete(agent);
    const lane = this.lane(agent);
    lane.leftAt = this.at;
    for (const delivery of this.pending.deliveries()) if (delivery.lane === lane) this.setState(delivery, 'lost');
  }

  private gap(dropped: number): void {
    this.counts.lost += dropped;
    for (const delivery of this.pending.deliveries()) this.setState(delivery, 'unknown');
    this.addMark('gap', `gap: ${dropped} lost`);
  }

  // ---- actions of the monitor

  private detection(wire: WireDetection): void {
    const event = wire.event === null ? null : (this.events.get(wire.event) ?? null);
    const detection: Detection = {
      key: this.counts.detections++,
      name: this.nextDetectionName(),
      at: this.at,
      column: this.currentColumn(),
      ts: wire.ts,
      rule: wire.rule,
      severity: wire.severity,
      healed: wire.healed,
      healing: wire.healing,
      cause: wire.cause,
      reason: wire.reason,
      event,
      agent: wire.agent,
      evidence: wire.evidence,
      evidenceTotal: wire.evidence_total ?? wire.evidence.length,
      witness: wire.witness ?? null,
      actions: [],
      outcome: null,
    };
    event?.detections.push(detection);
    this.detections.push(detection);
    if (this.detections.length > this.maxItems) this.detections.splice(0, this.maxItems >> 2);
  }

  private nextDetectionName(): string {
    this.detectionsInEntry += 1;
    return this.detectionsInEntry === 1 ? String(this.entrySeq) : `${this.entrySeq}.${this.detectionsInEntry}`;
  }

  private verdict(id: string, verdict: {action: string; recipients?: string[]; inject: string | null}): void {
    const event = this.events.get(id);
    if (!event) return;
    const action = this.recordAction(event, verdict.action, verdict.recipients ?? [], verdict.inject);
    for (const detection of this.detectionsOfEntry())
      if (detection.event === event && detection.healed) detection.actions.push(action);
    if (verdict.action !== 'reroute') return;
    if (event.submit && event.givenBackAt === NEVER) this.giveBack(event, verdict.recipients ?? []);
    else this.intercept(event, [this.at], verdict.recipients ?? []);
  }

  private intervention(frame: Frame): void {
    const intervention = frame.intervention!;
    let event = this.events.get(intervention.event ?? intervention.id);
    if (intervention.action === 'create' && !event) {
      event = this.newEvent(intervention.id, this.monitorLane(), 0, 1);
      event.system = true;
      this.counts.events += 1;
    }
    if (!event) return;
    const action = this.recordAction(event, intervention.action, intervention.recipients, intervention.inject ?? null);
    const rules = new Set((intervention.detections ?? []).map((d) => `${d.rule} ${d.event ?? ''}`));
    for (const detection of this.detectionsOfEntry()) {
      if (rules.has(`${detection.rule} ${detection.event?.id ?? ''}`)) detection.actions.push(action);
    }
    if (intervention.action === 'reroute' && intervention.id.startsWith('hold:')) {
      const heldAt = event.actions.filter((earlier) => earlier.action === 'hold').map((earlier) => earlier.at);
      return this.intercept(event, heldAt, intervention.recipients);
    }
    for (const agent of intervention.recipients) this.addDelivery(event, agent);
  }

  private giveBack(event: EventNode, recipients: string[]): void {
    event.givenBackAt = this.at;
    for (const delivery of this.pending.deliveriesOf(event)) this.setState(delivery, 'withdrawn');
    for (const agent of recipients) this.addDelivery(event, agent);
  }

  // A guard or a person returns the deliveries that these entries created. An `fyi` event goes back to nobody.
  private intercept(event: EventNode, entries: readonly number[], recipients: string[]): void {
    for (const delivery of this.pending.deliveriesOf(event))
      if (entries.includes(delivery.changes.at(-1)!.at)) this.setState(delivery, 'withdrawn');
    if (event.fyi) return;
    for (const agent of recipients) this.addDelivery(event, agent);
  }

  // The client delivered the event nevertheless.
  private undoInterception(event: EventNode): void {
    const returned = event.actions.findLast((action) => action.action === 'reroute');
    if (!returned) return;
    const withdrawn = event.deliveries.filter(({changes}) => {
      const {at, state} = changes.at(-1)!;
      return state === 'withdrawn' && at === returned.at;
    });
    if (withdrawn.length === 0) return; // nothing was intercepted
    const author = event.source && this.pending.find(event, event.source.lane);
    if (author) this.setState(author, 'withdrawn');
    for (const delivery of withdrawn) {
      this.setState(delivery, 'pending');
      this.pending.add(delivery);
    }
  }

  private recordAction(event: EventNode, action: string, recipients: string[], inject: string | null): MonitorAction {
    const recorded: MonitorAction = {at: this.at, action, recipients, inject};
    event.actions.push(recorded);
    return recorded;
  }

  private outcome(outcome: NonNullable<Frame['outcome']>): void {
    for (let i = this.detections.length - 1; i >= 0; --i) {
      const detection = this.detections[i]!;
      if (detection.ts < outcome.detected_ts) return;
      const same = detection.event === null || detection.event.id === outcome.event;
      if (detection.rule === outcome.rule && detection.ts === outcome.detected_ts && same && !detection.outcome) {
        detection.outcome = {at: this.at, outcome: outcome.outcome};
        return;
      }
    }
  }

  private report(report: NonNullable<Frame['delivery']>): void {
    const event = this.events.get(report.event ?? report.of ?? '');
    this.note = `the client reports ${report.event ?? report.of}: ${report.applied}`;
    if (!event) return;
    event.reports.push({at: this.at, applied: report.applied, reason: report.reason ?? null});
    if (report.applied !== 'as_is') return;
    if (event.givenBackAt === NEVER) return this.undoInterception(event);
    const returned = event.source && this.pending.find(event, event.source.lane);
    if (returned) this.setState(returned, 'withdrawn');
  }

  private detectionsOfEntry(): Detection[] {
    const current: Detection[] = [];
    for (let i = this.detections.length - 1; i >= 0 && this.detections[i]!.at === this.at; --i)
      current.push(this.detections[i]!);
    return current;
  }

  // ---- nodes, lanes, deliveries

  private newEvent(id: string, lane: Lane, row: number, rows: number): EventNode {
    const event: EventNode = {
      type: 'event',
      id,
      lane,
      column: this.currentColumn(),
      row,
      rows,
      createdAt: this.at,
      ts: this.entries.get(this.at)!.ts,
      forgotten: false,
      kind: null,
      submit: false,
      givenBackAt: NEVER,
      fyi: false,
      root: false,
      system: false,
      announcedAt: this.at,
      source: null,
      derivedFrom: [],
      asIs: false,
      deliveries: [],
      inputs: [],
      actions: [],
      reports: [],
      detections: [],
    };
    this.events.set(id, event);
    this.nodes.push(event);
    return event;
  }

  private placeholder(id: string): EventNode {
    const event = this.newEvent(id, this.outside, 0, 1);
    event.announcedAt = NEVER;
    return event;
  }

  private addDelivery(event: EventNode, agent: string): void {
    const lane = this.lane(agent);
    if (this.pending.find(event, lane)) return;
    const lost = this.roster !== null && !this.roster.has(agent);
    const delivery: Delivery = {event, lane, changes: [{at: this.at, state: lost ? 'lost' : 'pending'}]};
    event.deliveries.push(delivery);
    if (lost) lane.leftAt = Math.min(lane.leftAt, this.at);
    if (!lost) this.pending.add(delivery);
  }

  private setState(delivery: Delivery, state: Delivery['changes'][number]['state']): void {
    delivery.changes.push({at: this.at, state});
    if (state !== 'pending') this.pending.remove(delivery);
  }

  // Whether the event has settled, as far as the feed shows. If no agent consumed it, an agent may still take it up.
  private isSettled(event: EventNode): boolean {
    if (this.pending.hasPending(event)) return false;
    if (event.inputs.some((input) => input.activation.endedAt === NEVER)) return false;
    return event.system || event.fyi || event.submit || event.inputs.some((input) => input.reaction === 'consume');
  }

  private lane(agent: string): Lane {
    return this.laneByAgent.get(agent) ?? this.addLane(agent, 'agent');
  }

  private monitorLane(): Lane {
    this.monitor ??= this.addLane('digd', 'monitor');
    return this.monitor;
  }

  private addLane(name: string, kind: LaneKind): Lane {
    const lane: Lane = {index: this.lanes.length, name, kind, leftAt: NEVER};
    this.lanes.push(lane);
    if (kind === 'agent') this.laneByAgent.set(name, lane);
    return lane;
  }

  private currentColumn(): number {
    if (this.column < 0) this.column = this.columns++;
    return this.column;
  }

  private addMark(kind: Mark['kind'], text: string): void {
    this.note = text;
    this.marks.push({at: this.at, column: this.currentColumn(), kind, text});
    if (this.marks.length > this.maxItems) this.marks.splice(0, this.maxItems >> 2);
  }

  // ---- bounds

  private forgetOldest(): void {
    const removed = this.nodes.splice(0, this.nodes.length >> 2);
    for (const node of removed) this.forgetNode(node);
    this.forgotten += removed.length;
    const first = this.nodes[0]?.createdAt ?? this.at;
    this.entries.forgetBefore(Math.max(first, this.at - ((this.maxItems * 3) >> 2)));
  }

  // Clears the references of a dropped node; otherwise kept nodes would hold the whole past in memory.
  private forgetNode(node: Node): void {
    node.forgotten = true;
    if (node.type === 'activation') {
      if (this.activations.get(node.id) === node) this.activations.delete(node.id);
      Object.assign(node, {inputs: [], outputs: [], used: []});
      return;
    }
    if (this.events.get(node.id) === node) this.events.delete(node.id);
    this.pending.forget(node);
    Object.assign(node, {inputs: [], deliveries: [], derivedFrom: [], source: null, detections: []});
  }
}

const reactionOf = (name: string): Reaction => (knownReactions.has(name) ? (name as Reaction) : 'consume');

const outputCount = (n: number): string => (n === 0 ? 'without output' : n === 1 ? 'one output' : `${n} outputs`);

function describe(m: WireMessage): string {
  switch (m.type) {
    case 'event':
      return m.event?.source ? `${m.event.source} sends ${m.event.id}` : `${m.event?.id} comes from outside`;
    case 'activation_started':
      return `${m.agent} starts ${m.activation}`;
    case 'activation_ended':
      return `${m.activation} ${m.failed ? 'fails' : 'ends'}, ${outputCount(m.outputs?.length ?? 0)}`;
    case 'agent_joined':
      return `${m.agent} joins`;
    case 'agent_left':
      return `${m.agent} leaves`;
    case 'time':
      return 'time passes';
    default:
      return m.type;
  }
}
