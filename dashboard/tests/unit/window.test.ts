import {describe, expect, it} from 'vitest';
import {RunModel} from '../../src/model/run_model';
import {xOf, type Axis} from '../../src/scene/scene';
import {boundsOf, followed} from '../../src/scene/window';
import {Script} from './frames';

describe('the window that follows', () => {
  for (const n of [1, 2_300, 6_000, 20_000]) {
    for (const axis of ['order', 'time'] as Axis[]) {
      it(`shows the last of ${n} events by ${axis}, near its right end`, () => {
        const s = new Script(new RunModel());
        const {model} = s;
        for (let i = 0; i < n; ++i) s.event(`e${i}`, ['a']).start(`v${i}`, 'a', [`e${i}`]);
        const window = followed(boundsOf(model, axis, model.entries.last), axis, model.columns);
        const last = xOf(model.nodes.at(-1)!, axis);
        expect(last).toBeGreaterThanOrEqual(window.from);
        expect(last).toBeLessThanOrEqual(window.to);
        const columnsRightOfIt = ((window.to - last) / (window.to - window.from)) * 46;
        if (n > 100) expect(columnsRightOfIt).toBeLessThan(3);
      });
    }
  }
});
