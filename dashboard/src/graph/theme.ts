// The colours for canvases, read from the custom properties of the style sheet, so that page and graph share one
// palette. It is based on the palette of Okabe and Ito, which colour-blind people can tell apart.
import type {EdgeKind, Flag} from '../scene/scene';

export interface Theme {
  background: string;
  lane: string;
  line: string;
  text: string;
  quiet: string;
  accent: string;
  event: string;
  activation: string;
  open: string;
  openText: string;
  waiting: string;
  submit: string;
  system: string;
  cell: string;
  flags: Record<Flag, string>;
  edges: Record<EdgeKind, string>;
}

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string): string => style.getPropertyValue(name).trim() || '#888888';
  const failure = get('--failure');
  return {
    background: get('--panel'),
    lane: get('--lane'),
    line: get('--line'),
    text: get('--text'),
    quiet: get('--quiet'),
    accent: get('--accent'),
    event: get('--event'),
    activation: get('--activation'),
    open: get('--open'),
    openText: get('--open-text'),
    waiting: get('--waiting'),
    submit: get('--submit'),
    system: get('--system'),
    cell: get('--cell'),
    flags: {
      none: get('--panel'),
      healed: get('--healed'),
      failure,
      warning: get('--warning'),
      shadow: get('--shadow-mode'),
      failed: failure,
    },
    edges: {
      generated: get('--edge'),
      consume: get('--edge-strong'),
      wait: get('--waiting'),
      discard: get('--discard'),
      reroute: get('--reroute'),
      failed: failure,
      open: get('--open'),
      pending: get('--waiting'),
      sum: get('--edge-strong'),
    },
  };
}

function channels(color: string): [number, number, number] {
  const n = parseInt(color.slice(1), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

const MIX_STEPS = 64; // bounds the cache of mixed colours; nobody would see finer steps
const mixCache = new Map<string, string>();

// `color` with the opacity `opacity` on `ground`, as an opaque colour. All colours are #rrggbb.
export function mix(color: string, ground: string, opacity: number): string {
  const share = Math.round(opacity * MIX_STEPS) / MIX_STEPS;
  const key = `${color}${ground}${share}`;
  const cached = mixCache.get(key);
  if (cached) return cached;
  const a = channels(color);
  const b = channels(ground);
  const result =
    '#' +
    a
      .map((v, i) =>
        Math.round(v * share + b[i]! * (1 - share))
          .toString(16)
          .padStart(2, '0'),
      )
      .join('');
  mixCache.set(key, result);
  return result;
}
