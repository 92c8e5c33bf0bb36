import {afterEach, beforeEach, expect, it, vi} from 'vitest';
import {getReport} from '../../src/net/api';

const busy = (): Response =>
  new Response(JSON.stringify({error: {code: 'busy', message: 'too many reports are being written'}}), {status: 503});

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('sessionStorage', {getItem: () => null});
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('a report is asked for again while digd is busy with others', async () => {
  const fetch = vi
    .fn()
    .mockResolvedValueOnce(busy())
    .mockResolvedValueOnce(busy())
    .mockResolvedValue(Response.json({verdict: []}));
  vi.stubGlobal('fetch', fetch);
  const report = getReport('r 1');
  await vi.runAllTimersAsync();
  expect(await report).toEqual({verdict: []});
  expect(fetch).toHaveBeenCalledTimes(3);
  expect(fetch.mock.calls[2]?.[0]).toBe('/v1/runs/r%201/report');
});

it('a daemon that stays busy, or refuses, is not asked without limit', async () => {
  const fetch = vi.fn().mockImplementation(() => Promise.resolve(busy()));
  vi.stubGlobal('fetch', fetch);
  const refused = expect(getReport('r')).rejects.toThrow('too many reports are being written');
  await vi.runAllTimersAsync();
  await refused;
  expect(fetch).toHaveBeenCalledTimes(10);

  const unknown = {error: {code: 'unknown_run', message: 'no such run'}};
  fetch.mockReset().mockResolvedValue(Response.json(unknown, {status: 404}));
  await expect(getReport('r')).rejects.toThrow('no such run');
  expect(fetch).toHaveBeenCalledTimes(1);
});
