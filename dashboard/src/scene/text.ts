// Text for display. Agents choose ids, names and messages, so invisible and bidirectional characters are escaped.
import {rules} from '../rules.generated';

const invisible = new RegExp(
  '[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b-\\u200f' +
    '\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb]' +
    '|[\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}]',
  'gu',
);

// A character beyond U+FFFF as a pair of surrogates, as in JSON.
const escapeCharacter = (c: string): string =>
  c.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

// One line of at most `maxLength` UTF-16 units; longer text ends in an ellipsis.
export function displayLine(text: string, maxLength = 80): string {
  const cut = text.length > maxLength ? text.slice(0, maxLength - 1) + '…' : text;
  return cut.replace(invisible, escapeCharacter).replace(/[\ud800-\udbff](?![\udc00-\udfff])/g, '\ufffd');
}

// As much of a text as fits in `width`, on one line; at least one character. `measure` returns the width of a text.
export function fittingLine(text: string, width: number, measure: (line: string) => number): string {
  let length = Math.min(text.length, 80);
  while (length > 1 && measure(displayLine(text, length)) > width) --length;
  return displayLine(text, length);
}

// The whole text, with its line breaks and tabs.
export function displayText(text: string): string {
  return text.replace(invisible, (c) => (c === '\n' || c === '\t' ? c : escapeCharacter(c)));
}

const FIRST_DATE_MS = 1e12; // as in report/picture/labels.cpp: a larger stamp counts as a date

const codes = new Map(rules.map(({name, code}) => [name, code]));

// A rule that this page does not know, from a newer daemon, is abbreviated.
export const ruleCode = (rule: string): string => codes.get(rule) ?? displayLine(rule, 8);
export const ruleName = (rule: string): string => displayLine(rule).replaceAll('_', ' ');
export const ruleNames = rules.map(({name}) => name);

export const plural = (n: number, singular: string, pluralForm = singular + 's'): string =>
  `${n.toLocaleString('en')} ${n === 1 ? singular : pluralForm}`;

// A stamp of the run's clock: the time since the run's first message. Reports write times in the same way
// (report/picture/labels.cpp).
export function stampText(ts: number, start: number): string {
  const ms = ts - start;
  if (Math.abs(ms) < 1000) return `${Math.round(ms)} ms`;
  if (Math.abs(ms) < 100_000) return `${(Math.round(ms / 100) / 10).toFixed(1)} s`;
  const twoDigits = (n: number): string => String(Math.floor(n)).padStart(2, '0');
  const minutes = ms / 60_000;
  const seconds = twoDigits((ms % 60_000) / 1000);
  return minutes < 60
    ? `${Math.floor(minutes)}:${seconds}`
    : `${Math.floor(minutes / 60)}:${twoDigits(minutes % 60)}:${seconds}`;
}

// A stamp as a date; null if the run's clock does not count from 1970.
export const dateText = (ts: number): string | null =>
  ts < FIRST_DATE_MS ? null : new Date(ts).toISOString().replace('T', ' ').replace('Z', ' UTC');

export function agoText(ms: number): string {
  if (ms < 1500) return 'now';
  if (ms < 60_000) return `${Math.round(ms / 1000)} s ago`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min ago`;
  if (ms < 86_400_000) return `${Math.round(ms / 3_600_000)} h ago`;
  return `${Math.round(ms / 86_400_000)} d ago`;
}

export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let n = bytes;
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i += 1;
  }
  return `${n < 10 && i > 0 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}
