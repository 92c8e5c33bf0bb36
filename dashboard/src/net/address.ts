// The address of the page: #/run/ID?find=…&state=…&axis=…&hide=…&at=…, or #/compare/ID/ID. It holds what the reader
// sees, so it can be shared. Wrong values are ignored: the address comes from anybody. Pure, but for `readAddress` and
// `writeAddress`.
import type {StateFilter} from '../scene/focus';
import type {Axis} from '../scene/scene';

export interface View {
  search: string;
  state: StateFilter;
  axis: Axis;
  hidden: readonly string[]; // keys of lanes (`laneKey`)
  at: number | null; // the position; null: live
}

export interface Address {
  run: string | null;
  view: View;
}

export const wholeRun: View = {search: '', state: 'all', axis: 'order', hidden: [], at: null};

const MAX_SEARCH = 200;
const MAX_HIDDEN = 200;
const states: readonly StateFilter[] = ['all', 'flagged', 'waiting', 'open'];

export const laneKey = (lane: {kind: string; name: string}): string => `${lane.kind}:${lane.name}`;

export function parseAddress(hash: string): Address {
  const found = /^#\/run\/([^?]+)(?:\?(.*))?$/.exec(hash);
  const run = found === null ? null : decoded(found[1]!);
  if (run === null) return {run, view: wholeRun};
  const given = new URLSearchParams(found![2] ?? '');
  const at = /^\d{1,15}$/.exec(given.get('at') ?? '');
  return {
    run,
    view: {
      search: (given.get('find') ?? '').slice(0, MAX_SEARCH),
      state: states.find((state) => state === given.get('state')) ?? 'all',
      axis: given.get('axis') === 'time' ? 'time' : 'order',
      hidden: given.getAll('hide').slice(0, MAX_HIDDEN),
      at: at ? Number(at[0]) : null,
    },
  };
}

// The two runs to compare, or null.
export function parseComparison(hash: string): {left: string; right: string} | null {
  const found = /^#\/compare\/([^/?]+)\/([^/?]+)$/.exec(hash);
  const left = found === null ? null : decoded(found[1]!);
  const right = found === null ? null : decoded(found[2]!);
  return left === null || right === null ? null : {left, right};
}

export function formatAddress({run, view}: Address): string {
  if (run === null) return '#/';
  const given = new URLSearchParams();
  if (view.search !== '') given.set('find', view.search.slice(0, MAX_SEARCH));
  if (view.state !== 'all') given.set('state', view.state);
  if (view.axis !== 'order') given.set('axis', view.axis);
  for (const lane of view.hidden.slice(0, MAX_HIDDEN)) given.append('hide', lane);
  if (view.at !== null) given.set('at', String(view.at));
  const query = given.toString();
  return `#/run/${encodeURIComponent(run)}${query === '' ? '' : `?${query}`}`;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export const readAddress = (): Address => parseAddress(location.hash);

// Replaces the address without a new entry in the history. No effect if the page has gone to another run meanwhile.
export function writeAddress(run: string, view: View): void {
  const to = formatAddress({run, view});
  if (readAddress().run === run && location.hash !== to) history.replaceState(history.state, '', to);
}
