import {h, type VNode} from 'preact';
import {describe, expect, it} from 'vitest';
import {mix} from '../../src/graph/theme';
import {RunModel} from '../../src/model/run_model';
import type {EventNode} from '../../src/model/types';
import {payloadText} from '../../src/ui/holds';
import {isListCut} from '../../src/ui/inspector';
import {addressOf} from '../../src/ui/start_page';
import {TableHead} from '../../src/ui/table_head';
import {Script} from './frames';

describe('a mixed colour', () => {
  it('takes one of 65 values, so that the cache of colours is bounded', () => {
    const colors = new Set(Array.from({length: 10_000}, (_, i) => mix('#ffffff', '#000000', i / 9_999)));
    expect(colors.size).toBe(65);
    expect([mix('#ffffff', '#000000', 0), mix('#ffffff', '#000000', 1)]).toEqual(['#000000', '#ffffff']);
  });
});

describe('the payload of a hold', () => {
  it('has no character that hides or reorders others', () =>
    expect(payloadText('pay \u202eno\u200bbody')).toBe('"pay \\u202eno\\u200bbody"'));
  it('says how much of it is not shown', () => {
    const text = payloadText('x'.repeat(3_000));
    expect(text).toMatch(/x…\n\(1,002 more characters not shown\)$/);
    expect(payloadText('x'.repeat(100))).toBe(`"${'x'.repeat(100)}"`);
    expect(payloadText(null)).toBe('');
  });
});

describe('the address for clients', () => {
  it('has the scheme of the page and always a port', () => {
    const at = (protocol: string, port: string): string => addressOf({protocol, hostname: 'digd.example', port});
    expect(at('https:', '')).toBe('wss://digd.example:443');
    expect(at('http:', '')).toBe('ws://digd.example:80');
    expect(at('https:', '8443')).toBe('wss://digd.example:8443');
  });
});

describe('the inspector', () => {
  it('says that a list is cut if either list is', () => {
    const agents = (count: number): string[] => Array.from({length: count}, (_, i) => `a${i}`);
    const isCut = (count: number): boolean => {
      const {model} = new Script(new RunModel()).event('e1', agents(count));
      return isListCut(model.get('event', 'e1') as EventNode, model.entries.last);
    };
    expect([isCut(50), isCut(51)]).toEqual([false, true]);
  });
});

describe('the head of a table', () => {
  it('has a cell for each column, and none for one that is left out', () => {
    const own = h('th', {scope: 'col', class: 'text'}, 'state');
    const head = TableHead({columns: ['host', false, own, 'lag']}) as VNode<any>;
    const cells = (head.props.children.props.children as (VNode<any> | false)[]).filter((cell) => cell !== false);
    expect(cells.map(({type, props}) => [type, props.scope, props.children])).toEqual([
      ['th', 'col', 'host'],
      ['th', 'col', 'state'],
      ['th', 'col', 'lag'],
    ]);
  });
});
