// Widths, contrast and Escape, and what the page shows first of an ended run.
import {join} from 'node:path';
import type {Page} from 'playwright-core';
import {beforeEach, describe, expect, it} from 'vitest';
import {keepScreenshot, open, useBrowser} from './browser';
import {Digd, TRACES, runPath} from './digd';
import {lowContrasts, overlaps} from './page_checks';

let daemon: Digd;

useBrowser(() => daemon.stop());
beforeEach(async () => {
  daemon = await new Digd().start();
  daemon.send(join(TRACES, 'demo.jsonl'));
});

async function openDemo(options: object = {}): Promise<{page: Page; expectClean(...expected: RegExp[]): void}> {
  const watched = await open(daemon.url(runPath('demo')), options);
  await watched.page.getByText('15 events, 15 activations').waitFor();
  await watched.page.locator('.card button[aria-expanded=true]').waitFor(); // opened on the first failure
  return watched;
}

const dialogs: [string, (page: Page) => Promise<void>][] = [
  ['Pilot', (page) => page.getByRole('button', {name: 'Pilot'}).click()],
  ['Health', (page) => page.getByRole('button', {name: 'Health'}).click()],
  ['Switch all runs to observe?', (page) => page.getByRole('radio', {name: 'observe'}).click()],
];

describe('at any width', () => {
  for (const width of [400, 600, 768, 1024, 1180, 1280, 1440, 1920]) {
    it(`${width} pixels: nothing overlaps and nothing is wider than the page`, async () => {
      const watched = await openDemo({viewport: {width, height: 800}});
      const {page} = watched;
      await page.getByText('Legend').click();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      expect(await overlaps(page)).toEqual([]);
      // The whole answer is on the first screen, above the graph or beside it.
      const answer = (await page.getByRole('region', {name: 'Answer'}).boundingBox())!;
      const graph = (await page.locator('.stage').boundingBox())!;
      expect(answer.y + answer.height).toBeLessThanOrEqual(800);
      if (width <= 1180) expect(answer.y + answer.height).toBeLessThanOrEqual(graph.y);
      await keepScreenshot(page, `width-${width}`);
      watched.expectClean();
    });
  }
});

describe('in both colour schemes', () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    it(`${colorScheme}: every text has a contrast of at least 4.5`, async () => {
      const watched = await openDemo({colorScheme});
      const {page} = watched;
      await page.getByText('Legend').click();
      await page.getByLabel('Find in the run').fill('theme-pic');
      await page.getByLabel('Next match').click();
      await page.getByRole('region', {name: 'Selected'}).waitFor();
      await page.getByText('Agents', {exact: true}).click();
      expect(await lowContrasts(page)).toEqual([]);
      await keepScreenshot(page, `contrast-${colorScheme}`);
      await page.keyboard.press('Escape'); // closes the menu of agents
      await page.locator('.card button[aria-expanded=false]').first().click();
      for (const mode of ['off', 'observe', 'shadow', 'enforce']) {
        const option = page.locator(`.switch > .${mode}`);
        if ((await option.getAttribute('aria-checked')) !== 'true') {
          await option.click();
          await page.getByRole('button', {name: `Switch to ${mode}`}).click();
          await page.locator(`.switch > .${mode}[aria-checked=true]`).waitFor();
        }
        expect(await lowContrasts(page)).toEqual([]);
      }
      for (const [name, show] of dialogs) {
        await show(page);
        await page.getByRole('dialog', {name}).waitFor();
        expect(await lowContrasts(page)).toEqual([]);
        await keepScreenshot(page, `${name.split(' ')[0]!.toLowerCase()}-${colorScheme}`);
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({state: 'detached'});
      }
      watched.expectClean();
    });
  }

  it('the check finds a text that cannot be read', async () => {
    const {page} = await openDemo();
    await page.evaluate(() => ((document.querySelector('.title h1') as HTMLElement).style.color = '#cccccc'));
    expect(await lowContrasts(page)).toEqual([expect.stringContaining('demo')]);
  });
});

describe('Escape', () => {
  it('closes every dialog and the menu of agents, also while a run is on display', async () => {
    const watched = await openDemo();
    const {page} = watched;
    for (const [name, show] of dialogs) {
      await show(page);
      await page.getByRole('dialog', {name}).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({state: 'detached'});
    }
    await page.getByText('Agents', {exact: true}).click();
    await page.locator('.agents .menu').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.agents .menu').waitFor({state: 'hidden'});
    watched.expectClean();
  });
});

describe('an ended run', () => {
  it('opens on its first failure that was not healed, with sentence, agent, event and time', async () => {
    const client = await daemon.client('failed', {agents: ['planner', 'coder'], mode: 'observe', clock: 'trace'});
    client.send('event', {ts: 5, event: {id: 'task', recipients: ['planner']}});
    for (let i = 0; i < 120; ++i) {
      client.send('activation_started', {ts: 10 + i, activation: `v${i}`, agent: 'planner', inputs: i ? [] : ['task']});
      const outputs = i === 20 || i > 100 ? [{id: `plan${i}`, recipients: ['codr']}] : [];
      client.send('activation_ended', {ts: 10 + i, activation: `v${i}`, outputs});
    }
    client.send('run_ended', {ts: 900, outcome: 'failure'});
    await client.waitFor('ack');
    client.close();
    const watched = await open(daemon.url(runPath('failed')));
    const {page} = watched;
    const card = page.locator('.card[data-rule="orphaned_event"]');
    await card.locator('button[aria-expanded=true]').waitFor();
    expect(await card.count()).toBe(1); // twenty equal ones
    const text = await card.innerText();
    expect(text).toContain('20×');
    expect(await card.locator('.sentence').innerText()).toContain('plan20');
    expect(await card.locator('.facts').innerText()).toBe('agent planner · event plan20');
    expect(await card.locator('.when').innerText()).toContain('25 ms');
    expect(await card.locator('.equal button[aria-pressed=true]').innerText()).toContain('plan20');
    // The graph shows it: its window is no longer at the end.
    await page.getByRole('button', {name: 'Follow'}).and(page.locator('[aria-pressed=false]')).waitFor();
    await keepScreenshot(page, 'first-failure');
    await card.locator('.equal button').last().click(); // the oldest comes first
    expect(await card.locator('.facts').innerText()).toBe('agent planner · event plan119');
    watched.expectClean();
  });

  it('that is open stays where its reader is when it ends', async () => {
    const client = await daemon.client('live', {agents: ['planner'], mode: 'observe'});
    client.start('v1', 'planner', []);
    client.end('v1', [{id: 'lost', recipients: ['nobody']}]);
    const watched = await open(daemon.url(runPath('live')));
    await watched.page.locator('.card').waitFor();
    client.send('run_ended', {outcome: 'failure'});
    await watched.page.locator('.title .pill', {hasText: 'failure'}).waitFor();
    expect(await watched.page.locator('.card button[aria-expanded=true]').count()).toBe(0);
    client.close();
    watched.expectClean();
  });
});
