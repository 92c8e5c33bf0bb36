import {describe, expect, it} from 'vitest';
import {isWaitingAt, outcomeAt, reactionAt, stateAt} from '../../src/model/state_at';
import {lineageOf} from '../../src/model/lineage';
import {RunModel} from '../../src/model/run_model';
import type {ActivationNode, EventNode} from '../../src/model/types';
import {Script} from './frames';

const event = (model: RunModel, id: string): EventNode => model.get('event', id) as EventNode;
const activation = (model: RunModel, id: string): ActivationNode => model.get('activation', id) as ActivationNode;
const statesNow = (model: RunModel, id: string): string[] =>
  event(model, id).deliveries.map((delivery) => `${delivery.lane.name} ${stateAt(delivery, model.entries.last)}`);

describe('recording', () => {
  it('an input without a reaction is consumed', () => {
    const s = new Script(new RunModel()).event('e1', ['a', 'b']).start('v1', 'a', ['e1']).end('v1');
    expect(statesNow(s.model, 'e1')).toEqual(['a consumed', 'b pending']);
    expect(reactionAt(activation(s.model, 'v1').inputs[0]!, 1)).toBe('open');
    expect(reactionAt(activation(s.model, 'v1').inputs[0]!, 2)).toBe('consume');
  });

  it('a waiting input stays pending, a rerouted input is pending with the new recipient', () => {
    const s = new Script(new RunModel())
      .event('e1', ['a'])
      .start('v1', 'a', ['e1'])
      .end('v1', [], {e1: 'wait'})
      .start('v2', 'a', ['e1'])
      .end('v2', [], {e1: {reroute: ['b', 'b']}});
    expect(statesNow(s.model, 'e1')).toEqual(['a rerouted', 'b pending']);
    expect(event(s.model, 'e1').inputs.map((input) => input.reaction)).toEqual(['wait', 'reroute']);
  });

  it('a failed activation leaves its inputs pending', () => {
    const s = new Script(new RunModel()).event('e1', ['a']).start('v1', 'a', ['e1']).end('v1', [], {}, true);
    expect(statesNow(s.model, 'e1')).toEqual(['a pending']);
    expect(activation(s.model, 'v1').inputs[0]!.reaction).toBe('failed');
  });

  it('in a closed roster deliveries to unknown agents and to agents that left are lost', () => {
    const s = new Script(new RunModel({agents: ['a', 'b']}))
      .event('e1', ['a', 'ghost'])
      .event('e2', ['b'])
      .message({type: 'agent_left', agent: 'a'});
    expect(statesNow(s.model, 'e1')).toEqual(['a lost', 'ghost lost']);
    expect(statesNow(s.model, 'e2')).toEqual(['b pending']);
  });

  it('a gap makes every pending delivery unknown', () => {
    const s = new Script(new RunModel()).event('e1', ['a']).message({type: 'gap', dropped: 3});
    expect(statesNow(s.model, 'e1')).toEqual(['a unknown']);
    expect(s.model.marks.map((mark) => mark.text)).toEqual(['gap: 3 lost']);
  });

  it('an event that is an input first gets its fields when it is announced', () => {
    const s = new Script(new RunModel()).start('v1', 'a', ['late']).start('v0', 'b', []);
    expect(event(s.model, 'late').source).toBeNull();
    s.message({type: 'event', event: {id: 'late', source: 'v0', recipients: ['a', 'c'], kind: 'plan'}});
    expect(event(s.model, 'late').source?.id).toBe('v0');
    expect(event(s.model, 'late').kind).toBe('plan');
    expect(statesNow(s.model, 'late')).toEqual(['a pending', 'c pending']);
    expect(s.model.counts.events).toBe(1);
  });

  it('an answer that is given back is pending with its author', () => {
    const s = new Script(new RunModel())
      .start('v1', 'a', [])
      .end('v1', [{id: 'answer', recipients: ['b'], submit: true}])
      .verdicts({event: 'answer', action: 'reroute', recipients: ['a'], inject: 'not yet'});
    expect(statesNow(s.model, 'answer')).toEqual(['b withdrawn', 'a pending']);
    expect(event(s.model, 'answer').givenBackAt).toBe(1);
    s.more({type: 'delivery', seq: 9, delivery: {event: 'answer', applied: 'as_is', reason: 'timeout'}});
    expect(statesNow(s.model, 'answer')).toEqual(['b withdrawn', 'a withdrawn']);
  });

  it('reactions are looked up by own property, even for names such as __proto__', () => {
    const s = new Script(new RunModel())
      .event('__proto__', ['constructor'])
      .start('toString', 'constructor', ['__proto__'])
      .end('toString', [], JSON.parse('{"__proto__":"wait"}'));
    expect(event(s.model, '__proto__').inputs[0]!.reaction).toBe('wait');
    expect(statesNow(s.model, '__proto__')).toEqual(['constructor pending']);
  });
});

describe('actions of the monitor', () => {
  it('an event that a guard returns is not pending with its old recipients', () => {
    const s = new Script(new RunModel())
      .event('e1', ['x'])
      .start('v1', 'a', [])
      .end('v1', [{id: 'plan', recipients: ['b', 'c']}])
      .verdicts({event: 'plan', action: 'reroute', recipients: ['a'], inject: 'too many'});
    expect(statesNow(s.model, 'plan')).toEqual(['b withdrawn', 'c withdrawn', 'a pending']);
    expect(statesNow(s.model, 'e1')).toEqual(['x pending']);
    s.more({type: 'delivery', seq: 9, delivery: {event: 'plan', applied: 'as_is', reason: 'timeout'}});
    expect(statesNow(s.model, 'plan')).toEqual(['b pending', 'c pending', 'a withdrawn']);
  });

  it('a guard withdraws only the deliveries of the message that it judges', () => {
    const s = new Script(new RunModel())
      .event('e1', ['a', 'c'])
      .start('v1', 'a', ['e1'])
      .end('v1', [], {e1: {reroute: ['b']}})
      .verdicts({event: 'e1', action: 'reroute', recipients: ['a']});
    expect(statesNow(s.model, 'e1')).toEqual(['a rerouted', 'c pending', 'b withdrawn', 'a pending']);
  });

  it('an event that a person returns is not pending with its old recipients', () => {
    const end = {id: 'hold:1', event: 'plan', detections: []};
    const held = (): Script =>
      new Script(new RunModel())
        .start('v1', 'a', [])
        .end('v1', [{id: 'plan', recipients: ['b']}])
        .verdicts({event: 'plan', action: 'hold'} as never)
        .message({type: 'time'});
    const returned = held().more({type: 'intervention', intervention: {...end, action: 'reroute', recipients: ['a']}});
    expect(statesNow(returned.model, 'plan')).toEqual(['b withdrawn', 'a pending']);
    const released = held().more({type: 'intervention', intervention: {...end, action: 'release', recipients: ['b']}});
    expect(statesNow(released.model, 'plan')).toEqual(['b pending']);
  });

  it('a detection has its healing text, and its outcome once it is known', () => {
    const s = new Script(new RunModel())
      .event('e1', ['a'])
      .detection({rule: 'orphaned_event', event: 'e1', healing: 'inject'})
      .verdicts({event: 'e1', action: 'inject', inject: 'take it'});
    s.event('e2', ['a']).more({
      type: 'outcome',
      outcome: {rule: 'orphaned_event', ts: 20, event: 'e1', detected_ts: 10, outcome: 'cleared'},
    });
    const [detection] = s.model.detections;
    expect(detection!.actions.map((action) => action.inject)).toEqual(['take it']);
    expect(outcomeAt(detection!, 0)).toBeNull();
    expect(outcomeAt(detection!, 1)).toBe('cleared');
  });

  it('an intervention is an event of the monitor that is pending with each recipient', () => {
    const s = new Script(new RunModel())
      .event('e1', ['a'])
      .message({type: 'time'})
      .detection({rule: 'deadlock', healing: 'create'})
      .more({
        type: 'intervention',
        intervention: {
          id: 'sys:1',
          action: 'create',
          recipients: ['a', 'b'],
          inject: 'wake up',
          detections: [{rule: 'deadlock', event: null} as never],
        },
      });
    expect(event(s.model, 'sys:1').lane.kind).toBe('monitor');
    expect(statesNow(s.model, 'sys:1')).toEqual(['a pending', 'b pending']);
    expect(s.model.detections[0]!.actions[0]!.inject).toBe('wake up');
  });

  it('a detection is named by its entry and its place there, also after a reconnect', () => {
    const s = new Script(new RunModel())
      .event('e1', ['a'])
      .detection({rule: 'orphaned_event'})
      .detection({rule: 'orphaned_event'})
      .event('e2', ['a'])
      .detection({rule: 'orphaned_event'});
    expect(s.model.detections.map((detection) => detection.name)).toEqual(['1', '1.2', '2']);
    const interrupted = new Script(new RunModel()).event('e1', ['a']).detection({rule: 'orphaned_event'});
    interrupted.model.resume();
    for (const frame of interrupted.frames) interrupted.model.apply(frame);
    interrupted.detection({rule: 'orphaned_event'});
    expect(interrupted.model.detections.map((detection) => detection.name)).toEqual(['1', '1.2']);
  });

  it('a detection without healing has no actions', () => {
    const s = new Script(new RunModel())
      .event('e1', ['a'])
      .detection({rule: 'orphaned_event', event: 'e1', healed: false, cause: 'mode'})
      .verdicts({event: 'e1', action: 'deliver'});
    expect(s.model.detections[0]!.actions).toEqual([]);
  });
});

describe('time', () => {
  it('a step back shows the earlier state', () => {
    const s = new Script(new RunModel())
      .event('e1', ['a'])
      .start('v1', 'a', ['e1'])
      .end('v1', [{id: 'e2', recipients: ['b']}]);
    expect(isWaitingAt(event(s.model, 'e1'), 1)).toBe(true);
    expect(isWaitingAt(event(s.model, 'e1'), 2)).toBe(false);
    expect(stateAt(event(s.model, 'e2').deliveries[0]!, 1)).toBeNull();
    expect(s.model.entries.atTime(25)).toBe(1);
    expect(s.model.entries.atTime(-5)).toBe(0);
  });

  it('an entry repeated after a reconnect changes nothing', () => {
    const s = new Script(new RunModel())
      .event('e1', ['a'])
      .detection({rule: 'deadlock'})
      .event('e2', ['a'])
      .detection({rule: 'deadlock'});
    s.model.resume();
    for (const frame of s.frames) s.model.apply(frame);
    expect(s.model.detections.length).toBe(2);
    expect(s.model.nodes.length).toBe(2);
    s.event('e3', ['a']);
    expect(s.model.nodes.length).toBe(3);
  });

  it('an entry that the connection cut off is completed', () => {
    const interrupted = new Script(new RunModel()).event('e1', ['a']);
    interrupted.model.resume();
    interrupted.model.apply(interrupted.frames[0]!);
    interrupted.detection({rule: 'deadlock'});
    expect(interrupted.model.detections.length).toBe(1);
    expect(interrupted.model.nodes.length).toBe(1);
  });
});

describe('lineage', () => {
  it('follows used inputs, not inputs that only waited', () => {
    const s = new Script(new RunModel())
      .event('used', ['a'])
      .event('waited', ['a'])
      .start('v1', 'a', ['used', 'waited'])
      .end('v1', [{id: 'out', recipients: ['b']}], {waited: 'wait'})
      .start('v2', 'b', ['out'])
      .end('v2', [{id: 'end', recipients: []}]);
    const ids = (nodes: Iterable<{id: string}>): string[] => [...nodes].map((node) => node.id).sort();
    expect(ids(lineageOf(event(s.model, 'end'), 99).ancestors)).toEqual(['end', 'out', 'used', 'v1', 'v2']);
    expect(ids(lineageOf(event(s.model, 'used'), 99).descendants)).toEqual(['end', 'out', 'used', 'v1', 'v2']);
    expect(ids(lineageOf(event(s.model, 'waited'), 99).descendants)).toEqual(['waited']);
    expect(lineageOf(event(s.model, 'end'), 99, 3).truncated).toBe(true);
  });
});

describe('bounds', () => {
  it('the oldest nodes are dropped and counted', () => {
    const s = new Script(new RunModel({}, 100));
    for (let i = 0; i < 300; ++i)
      s.event(`e${i}`, ['a'])
        .start(`v${i}`, 'a', [`e${i}`])
        .end(`v${i}`);
    expect(s.model.nodes.length).toBeLessThanOrEqual(100);
    expect(s.model.forgotten + s.model.nodes.length).toBe(600);
    expect(s.model.entries.count - s.model.entries.first).toBeLessThanOrEqual(150);
    expect(s.model.get('event', 'e0')).toBeUndefined();
    expect(s.model.entries.get(s.model.entries.last)!.note).toBe('v299 ends, without output');
  });
});
