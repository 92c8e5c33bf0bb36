// The address of the fleet page: #/fleet?span=…&by=…&value=…&state=…&rule=…&find=…. Wrong values are ignored. Pure, but
// for `readFleetView` and `writeFleetView`.
export const SPANS = [
  ['1h', 'the last hour', 3_600_000],
  ['24h', 'the last day', 86_400_000],
  ['7d', 'the last 7 days', 7 * 86_400_000],
  ['4w', 'the last 4 weeks', 28 * 86_400_000],
  ['all', 'all time', null],
] as const;
export const STATES = ['', 'open', 'success', 'failure', 'unknown', 'aborted', 'detected'] as const;
const MAX_TEXT = 200; // as digd.fleet allows

export interface FleetView {
  span: (typeof SPANS)[number][0];
  by: string; // tenant, host or label:NAME
  value: string | null; // of `by`; null: all
  none: boolean; // the runs without that label
  state: (typeof STATES)[number];
  rule: string;
  find: string;
}

export const wholeFleet: FleetView = {
  span: '7d',
  by: 'tenant',
  value: null,
  none: false,
  state: '',
  rule: '',
  find: '',
};

export function parseFleetView(hash: string): FleetView {
  const found = /^#\/fleet(?:\?(.*))?$/.exec(hash);
  if (found === null) return wholeFleet;
  const given = new URLSearchParams(found[1] ?? '');
  const text = (name: string): string => (given.get(name) ?? '').slice(0, MAX_TEXT);
  const by = text('by');
  return {
    span: SPANS.find(([name]) => name === given.get('span'))?.[0] ?? wholeFleet.span,
    by: by === 'host' || /^label:./.test(by) ? by : 'tenant',
    value: given.has('value') ? text('value') : null,
    none: given.has('none'),
    state: STATES.find((state) => state === given.get('state')) ?? '',
    rule: text('rule'),
    find: text('find'),
  };
}

export function formatFleetView(view: FleetView): string {
  const given = new URLSearchParams();
  if (view.span !== wholeFleet.span) given.set('span', view.span);
  if (view.by !== wholeFleet.by) given.set('by', view.by);
  if (view.value !== null) given.set('value', view.value.slice(0, MAX_TEXT));
  if (view.none) given.set('none', '1');
  if (view.state !== '') given.set('state', view.state);
  if (view.rule !== '') given.set('rule', view.rule);
  if (view.find !== '') given.set('find', view.find.slice(0, MAX_TEXT));
  const query = given.toString();
  return `#/fleet${query === '' ? '' : `?${query}`}`;
}

// The query of requests about this view. The end of the span is left open, so that new runs appear.
export function fleetQuery(view: FleetView, nowMs: number, withFilter: boolean): string {
  const given = new URLSearchParams();
  const length = SPANS.find(([name]) => name === view.span)![2];
  // Rounded to a minute, so that the beginning of the span usually stays the same while the reader turns pages.
  if (length !== null) given.set('since', String(Math.floor((nowMs - length) / 60_000) * 60_000));
  given.set('by', view.by);
  if (!withFilter) return given.toString();
  if (view.value !== null) given.set('value', view.value);
  if (view.none) given.set('none', '1');
  if (view.state !== '') given.set('state', view.state);
  if (view.rule !== '') given.set('rule', view.rule);
  if (view.find !== '') given.set('find', view.find);
  return given.toString();
}

export const readFleetView = (): FleetView => parseFleetView(location.hash);

// Replaces the address without a new entry in the history. No effect if the page shows something else meanwhile.
export function writeFleetView(view: FleetView): void {
  if (!/^(#\/?|#\/fleet(\?.*)?|)$/.test(location.hash)) return;
  const to = formatFleetView(view);
  if (location.hash !== to) history.replaceState(history.state, '', to);
}
