// Runs of every length, and pages without a run.
import {spawnSync} from 'node:child_process';
import {join} from 'node:path';
import type {Page} from 'playwright-core';
import {beforeEach, describe, expect, it} from 'vitest';
import {colour, keepScreenshot, open, pixelsOf, useBrowser} from './browser';
import {Digd, longRun, root, runPath} from './digd';

let daemon: Digd;

useBrowser(() => daemon.stop());
beforeEach(async () => {
  daemon = await new Digd().start();
});

const count = (n: number): string => n.toLocaleString('en');
const stageSays = (page: Page, text: string): Promise<unknown> =>
  page.waitForFunction(
    (wanted) => document.querySelector('.stage')!.getAttribute('aria-label')!.includes(wanted),
    text,
  );

describe('a run', () => {
  for (const n of [10, 100, 6_000, 20_000, 100_000]) {
    it(`of ${n} events shows its last event while following, on both axes`, async () => {
      daemon.send(daemon.trace('long.jsonl', longRun('long', n)));
      const watched = await open(daemon.url(runPath('long')));
      const {page} = watched;
      await page.getByText(`${count(n)} events, ${count(n - 1)} activations`).waitFor({timeout: 150_000});
      await page.locator('.reading').waitFor({state: 'detached'});
      // Only the last event waits, so only it has this colour.
      const waiting = await colour(page, '--waiting');
      expect(await pixelsOf(page, waiting)).toBeGreaterThan(20);
      await keepScreenshot(page, `follow-${n}`);
      await page.getByRole('radio', {name: 'Time', exact: true}).click();
      await expect.poll(() => pixelsOf(page, waiting), {timeout: 30_000}).toBeGreaterThan(20);
      await page.getByRole('radio', {name: 'Order', exact: true}).click();
      await page.getByLabel('Whole run').click();
      const nodes = 2 * n - 1;
      await stageSays(page, `${count(nodes)} nodes in view`);
      if (nodes > 10_000) {
        await page.getByText(`${count(nodes)} nodes in view: summed by agent and time`).waitFor();
        expect(await pixelsOf(page, await colour(page, '--cell'))).toBeGreaterThan(500);
      } else expect(await page.locator('.summed').count()).toBe(0);
      await keepScreenshot(page, `whole-${n}`);
      await page.getByRole('button', {name: 'Follow'}).click();
      await page.locator('.summed').waitFor({state: 'detached'});
      await expect.poll(() => pixelsOf(page, waiting), {timeout: 30_000}).toBeGreaterThan(20);
      watched.expectClean();
    }, 240_000);
  }

  it('shows how much of it is read', async () => {
    daemon.send(daemon.trace('long.jsonl', longRun('long', 20_000)));
    const watched = await open(daemon.url());
    const {page} = watched;
    // Collects every text of the progress line, however short it shows.
    await page.evaluate(() => {
      const seen = new Set<string>();
      Object.assign(window, {seen});
      new MutationObserver(() => {
        const line = document.querySelector('.reading');
        if (line) seen.add((line as HTMLElement).innerText.trim());
      }).observe(document.body, {subtree: true, childList: true, characterData: true});
    });
    await page.getByRole('link', {name: /long/}).click();
    await page.getByText('20,000 events, 19,999 activations').waitFor({timeout: 60_000});
    await page.locator('.reading').waitFor({state: 'detached'});
    const seen = await page.evaluate(() => [...(window as unknown as {seen: Set<string>}).seen]);
    expect(seen.length).toBeGreaterThan(0);
    for (const line of seen) expect(line).toMatch(/^Read [\d,]+ of 39,999 messages$/);
    watched.expectClean();
  }, 120_000);

  it('that digd does not know is called unknown, and appears when a client connects', async () => {
    const watched = await open(daemon.url(runPath('misspelt')));
    const {page} = watched;
    await page.getByRole('heading', {name: 'There is no such run yet'}).waitFor();
    expect(await page.locator('.asked').innerText()).toBe('misspelt');
    expect(await page.locator('.stage').count()).toBe(0);
    await keepScreenshot(page, 'unknown-run');
    const client = await daemon.client('misspelt', {agents: ['a']});
    client.event('e1', ['a']);
    await page.getByText('1 event, 0 activations').waitFor();
    client.close();
    watched.expectClean(/404/);
  });
});

describe('a daemon without runs', () => {
  it('shows three lines that attach a system; those for Python work as they are', async () => {
    const watched = await open(daemon.url());
    const {page} = watched;
    await page.getByRole('heading', {name: 'Attach a system'}).waitFor();
    for (const name of ['LangGraph', 'OpenAI Agents', 'AutoGen', 'TypeScript', 'Claude Code', 'Python']) {
      await page.getByRole('radio', {name, exact: true}).click();
      expect((await page.locator('.lines').innerText()).split('\n')).toHaveLength(3);
    }
    await keepScreenshot(page, 'no-runs');
    const lines = (await page.locator('.lines').innerText()).split('\n');
    const address = /DIGD_URL=(\S+)/.exec(await page.locator('.empty').innerText())![1]!;
    const body = `async def main():\n    ${lines[1]}\n    ${lines[2]}\n`;
    const program = `import asyncio\n${lines[0]}\n${body}asyncio.run(main())\n`;
    const ran = spawnSync(join(root, 'build/venv/bin/python'), ['-c', program], {
      env: {...process.env, DIGD_URL: address},
      encoding: 'utf8',
    });
    expect(ran.stderr).toBe('');
    await page.locator('.runs a').first().click();
    await page.getByText('1 event, 0 activations').waitFor();
    watched.expectClean();
  });
});
