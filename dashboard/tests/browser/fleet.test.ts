// The page of a fleet: totals, filters, search, and opening a run. The files come from a real daemon and a collector.
import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, it} from 'vitest';
import {keepScreenshot, open, useBrowser} from './browser';
import {Digd, root, runPath} from './digd';
import {lowContrasts, overlaps} from './page_checks';

const venv = join(root, 'build/venv/bin/python');
const PYTHON = process.env.DIGD_PYTHON ?? (existsSync(venv) ? venv : 'python3');
process.env.DIGD_PYTHON = PYTHON;

let viewer: Digd;
let lake: string;

// Runs a program of tests/fleet, which fills the folder with the files of a small fleet.
function fill(folder: string, runs: number): void {
  const made = spawnSync(PYTHON, [join(root, 'tests/fleet/small_fleet.py'), folder, String(runs)], {encoding: 'utf8'});
  if (made.status !== 0) throw new Error(`small_fleet.py: ${made.stderr}`);
}

const view = (folder: string): Digd => new Digd(`[fleet]\nview = [${JSON.stringify(folder)}]\n`);

useBrowser();
beforeAll(async () => {
  const made = new Digd();
  lake = join(made.folder, 'lake');
  fill(lake, 120);
  viewer = await view(lake).start();
}, 120_000);
afterAll(() => viewer.stop());

describe('The fleet page', () => {
  it('shows totals, hosts, groups and rules, and a choice filters the runs', async () => {
    const watched = await open(viewer.url('/'));
    const {page} = watched;
    await page.getByRole('heading', {name: 'Hosts 4'}).waitFor();
    await page.locator('.tile', {hasText: /Runs\s*120/}).waitFor();
    expect(new URL(page.url()).hash).toBe('#/fleet');
    expect(await page.getByRole('button', {name: 'Pilot'}).count()).toBe(0);
    await page.getByLabel('Group by').selectOption('label:team');
    const groups = page.getByRole('region', {name: 'Groups'});
    await groups.getByRole('button', {name: 'billing'}).click();
    const runs = page.getByRole('region', {name: 'Runs of the fleet'});
    await runs.getByRole('button', {name: 'team billing ✕'}).waitFor();
    const count = Number(
      await groups
        .getByRole('row', {name: /^billing/})
        .locator('td')
        .first()
        .innerText(),
    );
    await page.waitForFunction((n) => document.querySelectorAll('.fleet-runs tbody tr').length === n, count);
    for (const text of await runs.locator('td.labels').allInnerTexts()) expect(text).toContain('team billing');
    await page.locator('.fleet-head select').nth(2).selectOption('failure');
    await page.waitForFunction((n) => {
      const found = document.querySelectorAll('.fleet-runs tbody tr').length;
      return found > 0 && found < n;
    }, count);
    expect(new URL(page.url()).hash).toContain('state=failure');
    expect(await lowContrasts(page)).toEqual([]);
    expect(await overlaps(page)).toEqual([]);
    await keepScreenshot(page, 'fleet');
    watched.expectClean();
  });

  it('finds runs and what agents said, and opens a run with its graph', async () => {
    const watched = await open(viewer.url('/#/fleet?find=wool'));
    const {page} = watched;
    const hits = page.getByRole('region', {name: 'What agents said'});
    await hits.getByRole('link').first().waitFor();
    expect(await hits.getByRole('link').first().innerText()).toContain('wool');
    await hits.getByRole('button', {name: 'Search further back'}).click();
    await page.waitForFunction(() => document.querySelectorAll('.fleet-hits li').length > 20);
    await hits.getByRole('link').first().click();
    await page.getByText(/\d+ events?, \d+ activations?/).waitFor();
    await page.locator('.stage canvas').first().waitFor();
    await page.getByRole('region', {name: 'Detections'}).waitFor();
    await page.getByRole('link', {name: 'Fleet'}).click();
    await page.getByRole('heading', {name: 'Hosts 4'}).waitFor();
    watched.expectClean();
  });

  it('pages through all runs, and a run of another page opens too', async () => {
    const watched = await open(viewer.url('/#/fleet?span=all'));
    const {page} = watched;
    const rows = page.locator('.fleet-runs tbody tr');
    for (const n of [50, 100, 120]) {
      await page.waitForFunction((wanted) => document.querySelectorAll('.fleet-runs tbody tr').length === wanted, n);
      if (n < 120) await page.getByRole('region', {name: 'Runs of the fleet'}).getByText('Older runs').click();
    }
    const names = await rows.evaluateAll((found) => found.map((row) => (row as HTMLElement).dataset.run));
    expect(new Set(names).size).toBe(120);
    await page.goto(viewer.url(runPath(names[119]!)));
    await page.getByText(/\d+ events?, \d+ activations?/).waitFor();
    watched.expectClean();
  });

  it('fits a narrow dark screen', async () => {
    const options = {viewport: {width: 420, height: 900}, colorScheme: 'dark'} as const;
    const watched = await open(viewer.url('/#/fleet?by=label%3Ateam'), options);
    const {page} = watched;
    await page.locator('.fleet-runs tbody tr').first().waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(420);
    expect(await lowContrasts(page)).toEqual([]);
    expect(await overlaps(page)).toEqual([]);
    await keepScreenshot(page, 'fleet-narrow');
    watched.expectClean();
  });

  it('says what to do while there are no files', async () => {
    const empty = await view(join(viewer.folder, 'nothing')).start();
    const watched = await open(empty.url('/'));
    await watched.page.getByText('python -m digd.fleet collect').waitFor();
    await keepScreenshot(watched.page, 'fleet-empty');
    watched.expectClean(/503/); // while digd.fleet starts
    await empty.stop();
  });
});
