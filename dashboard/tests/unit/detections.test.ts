import {describe, expect, it} from 'vitest';
import {RunModel} from '../../src/model/run_model';
import {groupDetections, type Order} from '../../src/scene/detection_groups';
import {Script} from './frames';

function rulesInOrder(order: Order): string[][] {
  const s = new Script(new RunModel())
    .event('e1', ['a'])
    .detection({rule: 'orphaned_event'})
    .event('e2', ['a'])
    .detection({rule: 'deadlock'})
    .event('e3', ['a'])
    .detection({rule: 'orphaned_event'});
  return groupDetections(s.model.detections, s.model.entries.last, '', order).map((group) =>
    group.members.map((member) => `${member.rule} ${member.ts}`),
  );
}

describe('the list of detections', () => {
  it('has the newest first while a run goes on', () => {
    expect(rulesInOrder('newest')).toEqual([['orphaned_event 30', 'orphaned_event 10'], ['deadlock 20']]);
  });
  it('has the oldest first of a run that had ended', () => {
    expect(rulesInOrder('oldest')).toEqual([['orphaned_event 10', 'orphaned_event 30'], ['deadlock 20']]);
  });
});

describe('the clock of a run', () => {
  it('counts from its first message, also when the page has dropped it', () => {
    const s = new Script(new RunModel({}, 8));
    for (let i = 0; i < 40; ++i) s.event(`e${i}`, ['a']);
    expect(s.model.forgotten).toBeGreaterThan(0);
    expect(s.model.entries.startTs).toBe(10);
    expect(s.model.entries.get(s.model.entries.first)!.ts).toBeGreaterThan(10);
  });
});
