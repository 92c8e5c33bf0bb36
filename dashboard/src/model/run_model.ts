// A run, from the frames of its feed: nodes, deliveries, detections, and when each came to be. Frames in, model out; no
// clock, no network, no page.
//
// Bounds: `most` nodes, entries and detections each. Beyond, the oldest quarter is forgotten and counted in `forgotten`;
// edges from and to what was forgotten are not drawn.
import {Entries} from './entries';
import type {Frame, RunSettings, WireDetection, WireEvent, WireMessage, WireReaction} from './frames';
import {PendingTable} from './pending';
import {
  NEVER, type ActivationNode, type Delivery, type Detection, type Ended, type EventNode, type Input, type Lane,
  type LaneKind, type Mark, type Node, type Reaction, type Said,
} from './types';

export const MOST_NODES = 400_000;

const reactions: ReadonlySet<string> = new Set(['consume', 'wait', 'discard']);

export class RunModel {
  readonly lanes: Lane[] = [];
  readonly nodes: Node[] = [];          // by column
  readonly detections: Detection[] = [];
  readonly marks: Mark[] = [];
  readonly entries = new Entries();
  readonly counts = {events: 0, activations: 0, deliveries: 0};
  ended: Ended | null = null;
  forgotten = 0;
  columns = 0;

  private readonly events = new Map<string, EventNode>();
  private readonly activations = new Map<string, ActivationNode>();
  private readonly laneOf = new Map<string, Lane>();
  private readonly outside: Lane;
  private monitor: Lane | null = null;
  private readonly pending = new PendingTable();
  private readonly roster: Set<string> | null;  // null: whoever is named can receive
  private detectionCount = 0;
  private detectionsInEntry = 0;
  private entrySeq = -1;
  private inEntry = 0;    // frames of the entry in hand
  private repeated = -1;  // frames of it that a new connection has told again; -1: none is expected
  private column = -1;    // of the entry in hand; -1: it has none yet
  private note = '';

  constructor(settings: RunSettings = {}, private readonly most = MOST_NODES) {
    this.outside = this.addLane('outside', 'outside');
    this.roster = Array.isArray(settings.agents) ? new Set(settings.agents) : null;
    for (const agent of settings.agents ?? []) this.lane(agent);
  }

  // The feed is read anew after the last whole entry, or within one that was cut off.
  resume(): void { this.repeated = 0; }

  get(what: 'event' | 'activation', id: string): Node | undefined {
    return what === 'event' ? this.events.get(id) : this.activations.get(id);
  }
  agentLane(agent: string): Lane | undefined { return this.laneOf.get(agent); }

  apply(frame: Frame): void {
    if (frame.seq < this.entrySeq) return;
    if (frame.seq === this.entrySeq && this.repeated >= 0 && this.repeated < this.inEntry) {
      this.repeated += 1;
      return;
    }
    if (frame.seq !== this.entrySeq) this.begin(frame);
    this.inEntry += 1;
    this.dispatch(frame);
    const entry = this.entries.get(this.at)!;
    entry.column = this.columns - 1;
    entry.note = this.note;
    if (this.nodes.length > this.most || this.entries.count - this.entries.first > this.most) this.forgetOldest();
  }

  private get at(): number { return this.entries.last; }

  private begin(frame: Frame): void {
    this.entrySeq = frame.seq;
    this.inEntry = 0;
    this.detectionsInEntry = 0;
    this.repeated = -1;
    this.column = -1;
    this.note = '';
    this.entries.push({seq: frame.seq, ts: frame.ts, column: this.columns - 1, note: ''});
  }

  private dispatch(frame: Frame): void {
    if (frame.message) this.message(frame.message);
    else if (frame.detection) this.detection(frame.detection);
    else if (frame.verdicts) for (const one of frame.verdicts) this.verdict(one.event, {...one, inject: one.inject ?? null});
    else if (frame.intervention) this.intervention(frame);
    else if (frame.outcome) this.outcome(frame.outcome);
    else if (frame.delivery) this.report(frame.delivery);
    else if (frame.operator_mode) this.mark('mode', `operator: ${frame.operator_mode.mode}`);
  }

  // ---- messages

  private message(m: WireMessage): void {
    this.note = describe(m);
    switch (m.type) {
      case 'event': return void (m.event && this.announce(m.event, m.event.source ?? null, m.as_is === true, 0, 1));
      case 'activation_started': return this.start(m);
      case 'activation_ended': return this.end(m);
      case 'agent_joined': this.roster?.add(m.agent!); this.lane(m.agent!).left = NEVER; return;
      case 'agent_left': return this.leave(m.agent!);
      case 'gap': return this.gap(m.dropped ?? 0);
      case 'run_ended':
        this.ended = {at: this.at, outcome: m.outcome ?? 'ended'};
        return this.mark('ended', `ended: ${this.ended.outcome}`);
    }
  }

  private announce(wire: WireEvent, source: string | null, asIs: boolean, row: number, rows: number): void {
    const from = source === null ? null : this.activations.get(source) ?? null;
    let event = this.events.get(wire.id);
    const late = event !== undefined;
    if (!event) {
      event = this.newEvent(wire.id, from?.lane ?? this.outside, row, rows);
      event.root = source === null;
    }
    event.announced = this.at;
    event.kind = wire.kind ?? null;
    event.submit = wire.submit === true;
    event.fyi = wire.fyi === true;
    event.asIs = asIs;
    event.source = from;
    if (from) {
      from.used ??= from.inputs.filter((i) => from.ended === NEVER || i.reaction === 'consume').map((i) => i.event);
      from.outputs.push(event);
      if (!late) event.derivedFrom = from.used;
    }
    for (const agent of new Set(wire.recipients ?? [])) {
      if (!late || !event.deliveries.some((d) => d.lane.name === agent)) this.give(event, agent);
    }
  }

  private start(m: WireMessage): void {
    this.roster?.add(m.agent!);
    const lane = this.lane(m.agent!);
    lane.left = NEVER;
    const node: ActivationNode = {
      what: 'activation', id: m.activation!, lane, column: this.columnHere(), row: 0, rows: 1, born: this.at,
      ts: this.entries.get(this.at)!.ts, forgotten: false, ended: NEVER, endedTs: NEVER, failed: false, error: null,
      inputs: [], outputs: [], used: null,
    };
    this.activations.set(node.id, node);
    this.nodes.push(node);
    this.counts.activations += 1;
    for (const id of new Set(m.inputs ?? [])) {
      const event = this.events.get(id) ?? this.placeholder(id);
      if (!this.pending.find(event, lane) && !this.isSettled(event)) this.give(event, lane.name);
      const input: Input = {event, activation: node, reaction: 'open'};
      event.inputs.push(input);
      node.inputs.push(input);
    }
  }

  private end(m: WireMessage): void {
    const node = this.activations.get(m.activation!);
    if (!node) return;  // it began before what is kept
    node.ended = this.at;
    node.endedTs = this.entries.get(this.at)!.ts;
    node.failed = m.failed === true;
    node.error = m.error ?? null;
    for (const input of node.inputs) this.react(input, node, m.reactions ?? {});
    const outputs = m.outputs ?? [];
    outputs.forEach((one, i) => this.announce(one, node.id, m.as_is === true, i, outputs.length));
  }

  private react(input: Input, node: ActivationNode, said: Record<string, WireReaction>): void {
    const given = Object.hasOwn(said, input.event.id) ? said[input.event.id] : 'consume';
    input.reaction = node.failed ? 'failed' : typeof given === 'object' ? 'reroute' : reactionOf(given!);
    if (input.reaction === 'failed' || input.reaction === 'wait') return;
    const delivery = this.pending.find(input.event, node.lane);
    const state = {consume: 'consumed', discard: 'discarded', reroute: 'rerouted'} as const;
    if (delivery && input.reaction !== 'open') this.change(delivery, state[input.reaction]);
    if (typeof given === 'object' && !node.failed) for (const to of new Set(given.reroute)) this.give(input.event, to);
  }

  private leave(agent: string): void {
    this.roster?.delete(agent);
    const lane = this.lane(agent);
    lane.left = this.at;
    for (const one of this.pending.all()) if (one.lane === lane) this.change(one, 'lost');
  }

  private gap(dropped: number): void {
    for (const one of this.pending.all()) this.change(one, 'unknown');
    this.mark('gap', `gap: ${dropped} lost`);
  }

  // ---- what the monitor said

  private detection(wire: WireDetection): void {
    const event = wire.event === null ? null : this.events.get(wire.event) ?? null;
    const one: Detection = {
      key: this.detectionCount++, name: this.nextDetectionName(), at: this.at, column: this.columnHere(), ts: wire.ts, rule: wire.rule,
      severity: wire.severity, healed: wire.healed, healing: wire.healing, cause: wire.cause, reason: wire.reason, event,
      agent: wire.agent, evidence: wire.evidence, evidenceTotal: wire.evidence_total ?? wire.evidence.length,
      witness: wire.witness ?? null, said: [], outcome: null,
    };
    event?.detections.push(one);
    this.detections.push(one);
    if (this.detections.length > this.most) this.detections.splice(0, this.most >> 2);
  }

  private nextDetectionName(): string {
    this.detectionsInEntry += 1;
    return this.detectionsInEntry === 1 ? String(this.entrySeq) : `${this.entrySeq}.${this.detectionsInEntry}`;
  }

  private verdict(id: string, one: {action: string; recipients?: string[]; inject: string | null}): void {
    const event = this.events.get(id);
    if (!event) return;
    const said = this.say(event, one.action, one.recipients ?? [], one.inject);
    for (const found of this.detectionsHere()) if (found.event === event && found.healed) found.said.push(said);
    if (one.action === 'reroute') this.giveBack(event, one.recipients ?? []);
  }

  private intervention(frame: Frame): void {
    const one = frame.intervention!;
    let event = this.events.get(one.event ?? one.id);
    if (one.action === 'create' && !event) {
      event = this.newEvent(one.id, this.monitorLane(), 0, 1);
      event.system = true;
    }
    if (!event) return;
    const said = this.say(event, one.action, one.recipients, one.inject ?? null);
    const rules = new Set((one.detections ?? []).map((d) => `${d.rule} ${d.event ?? ''}`));
    for (const found of this.detectionsHere()) {
      if (rules.has(`${found.rule} ${found.event?.id ?? ''}`)) found.said.push(said);
    }
    for (const agent of one.recipients) this.give(event, agent);
  }

  private giveBack(event: EventNode, recipients: string[]): void {
    if (event.submit && event.givenBack === NEVER) {
      event.givenBack = this.at;
      for (const one of this.pending.allOf(event)) this.change(one, 'withdrawn');
    }
    for (const agent of recipients) this.give(event, agent);
  }

  private say(event: EventNode, action: string, recipients: string[], inject: string | null): Said {
    const said: Said = {at: this.at, action, recipients, inject};
    event.said.push(said);
    return said;
  }

  private outcome(one: NonNullable<Frame['outcome']>): void {
    for (let i = this.detections.length - 1; i >= 0; --i) {
      const found = this.detections[i]!;
      if (found.ts < one.detected_ts) return;
      const same = found.event === null || found.event.id === one.event;
      if (found.rule === one.rule && found.ts === one.detected_ts && same && !found.outcome) {
        found.outcome = {at: this.at, outcome: one.outcome};
        return;
      }
    }
  }

  private report(one: NonNullable<Frame['delivery']>): void {
    const event = this.events.get(one.event ?? one.of ?? '');
    this.note = `the client says of ${one.event ?? one.of}: ${one.applied}`;
    if (!event) return;
    event.reports.push({at: this.at, applied: one.applied, reason: one.reason ?? null});
    if (one.applied !== 'as_is' || event.givenBack === NEVER) return;
    const back = event.source && this.pending.find(event, event.source.lane);
    if (back) this.change(back, 'withdrawn');
  }

  private detectionsHere(): Detection[] {
    const here: Detection[] = [];
    for (let i = this.detections.length - 1; i >= 0 && this.detections[i]!.at === this.at; --i) here.push(this.detections[i]!);
    return here;
  }

  // ---- nodes, lanes, deliveries

  private newEvent(id: string, lane: Lane, row: number, rows: number): EventNode {
    const event: EventNode = {
      what: 'event', id, lane, column: this.columnHere(), row, rows, born: this.at, ts: this.entries.get(this.at)!.ts,
      forgotten: false, kind: null, submit: false, givenBack: NEVER, fyi: false, root: false, system: false,
      announced: this.at, source: null, derivedFrom: [], asIs: false, deliveries: [], inputs: [], said: [], reports: [],
      detections: [],
    };
    this.events.set(id, event);
    this.nodes.push(event);
    this.counts.events += 1;
    return event;
  }

  private placeholder(id: string): EventNode {
    const event = this.newEvent(id, this.outside, 0, 1);
    event.announced = NEVER;
    return event;
  }

  private give(event: EventNode, agent: string): void {
    const lane = this.lane(agent);
    if (this.pending.find(event, lane)) return;
    const lost = this.roster !== null && !this.roster.has(agent);
    const one: Delivery = {event, lane, changes: [{at: this.at, state: lost ? 'lost' : 'pending'}]};
    event.deliveries.push(one);
    if (lost) lane.left = Math.min(lane.left, this.at);
    this.counts.deliveries += 1;
    if (!lost) this.pending.add(one);
  }

  private change(delivery: Delivery, state: Delivery['changes'][number]['state']): void {
    delivery.changes.push({at: this.at, state});
    if (state !== 'pending') this.pending.remove(delivery);
  }

  // As far as the feed tells it: an event that nobody took is still somebody's to find.
  private isSettled(event: EventNode): boolean {
    if (this.pending.anyOf(event)) return false;
    if (event.inputs.some((input) => input.activation.ended === NEVER)) return false;
    return event.system || event.fyi || event.submit || event.inputs.some((input) => input.reaction === 'consume');
  }

  private lane(agent: string): Lane {
    return this.laneOf.get(agent) ?? this.addLane(agent, 'agent');
  }

  private monitorLane(): Lane {
    this.monitor ??= this.addLane('digd', 'monitor');
    return this.monitor;
  }

  private addLane(name: string, kind: LaneKind): Lane {
    const lane: Lane = {index: this.lanes.length, name, kind, left: NEVER};
    this.lanes.push(lane);
    if (kind === 'agent') this.laneOf.set(name, lane);
    return lane;
  }

  private columnHere(): number {
    if (this.column < 0) this.column = this.columns++;
    return this.column;
  }

  private mark(kind: Mark['kind'], text: string): void {
    this.note = text;
    this.marks.push({at: this.at, column: this.columnHere(), kind, text});
    if (this.marks.length > this.most) this.marks.splice(0, this.most >> 2);
  }

  // ---- bounds

  private forgetOldest(): void {
    const gone = this.nodes.splice(0, this.nodes.length >> 2);
    for (const node of gone) this.forgetNode(node);
    this.forgotten += gone.length;
    const first = this.nodes[0]?.born ?? this.at;
    this.entries.forgetBefore(Math.max(first, this.at - ((this.most * 3) >> 2)));
  }

  // It is cut off from what is kept, so that nothing holds the whole past in memory.
  private forgetNode(node: Node): void {
    node.forgotten = true;
    if (node.what === 'activation') {
      if (this.activations.get(node.id) === node) this.activations.delete(node.id);
      Object.assign(node, {inputs: [], outputs: [], used: []});
      return;
    }
    if (this.events.get(node.id) === node) this.events.delete(node.id);
    this.pending.forget(node);
    Object.assign(node, {inputs: [], deliveries: [], derivedFrom: [], source: null, detections: []});
  }
}

const reactionOf = (said: string): Reaction => (reactions.has(said) ? (said as Reaction) : 'consume');

const outputs = (n: number): string => (n === 0 ? 'without output' : n === 1 ? 'one output' : `${n} outputs`);

function describe(m: WireMessage): string {
  switch (m.type) {
    case 'event': return m.event?.source ? `${m.event.source} says ${m.event.id}` : `${m.event?.id} comes from outside`;
    case 'activation_started': return `${m.agent} starts ${m.activation}`;
    case 'activation_ended': return `${m.activation} ${m.failed ? 'fails' : 'ends'}, ${outputs(m.outputs?.length ?? 0)}`;
    case 'agent_joined': return `${m.agent} joins`;
    case 'agent_left': return `${m.agent} leaves`;
    case 'time': return 'time passes';
    default: return m.type;
  }
}
