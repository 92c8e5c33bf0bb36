// The address of the page keeps what the reader sees, and ignores what is wrong.
import {describe, expect, it} from 'vitest';
import {formatAddress, parseAddress, wholeRun, type View} from '../../src/net/address';

const view: View = {
  search: 'a&b=c?d',
  state: 'flagged',
  axis: 'time',
  hidden: ['agent:planner', 'agent:ä & b', 'outside:outside'],
  at: 17,
};

describe('the address', () => {
  it.each(['demo', 'a/b?c#d&e=f', 'ä 100 %'])('of run %s holds the view', (run) => {
    expect(parseAddress(formatAddress({run, view}))).toEqual({run, view});
    expect(parseAddress(formatAddress({run, view: wholeRun}))).toEqual({run, view: wholeRun});
  });

  it('of a whole run is the short one', () => {
    expect(formatAddress({run: 'a/b', view: wholeRun})).toBe('#/run/a%2Fb');
    expect(formatAddress({run: null, view})).toBe('#/');
  });

  it.each(['', '#/', '#/runs/x', '#/run/', '#/run/%E0%A4%A'])('%s names no run', (hash) => {
    expect(parseAddress(hash)).toEqual({run: null, view: wholeRun});
  });

  it('ignores unknown names and wrong values, and cuts long ones', () => {
    expect(parseAddress('#/run/r?state=evil&axis=up&at=-1&x=y').view).toEqual(wholeRun);
    expect(parseAddress('#/run/r?at=1e9').view.at).toBeNull();
    expect(parseAddress(`#/run/r?at=${'9'.repeat(30)}`).view.at).toBeNull();
    expect(parseAddress(`#/run/r?find=${'x'.repeat(5000)}`).view.search.length).toBe(200);
    expect(parseAddress(`#/run/r?${'hide=a&'.repeat(5000)}`).view.hidden.length).toBe(200);
  });
});
