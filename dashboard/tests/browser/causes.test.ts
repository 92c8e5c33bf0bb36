// Who caused it, what agents said, and where two runs part.
import type {Page} from 'playwright-core';
import {expect, it} from 'vitest';
import {keepScreenshot, open, useBrowser} from './browser';
import {Digd, TIMEOUT_MS, runPath} from './digd';

let daemon: Digd;

useBrowser(() => daemon.stop());

const SEARCH = '[payloads]\nsearch_bytes = 100000000\n';

interface Turn {
  agent: string;
  to: string;
  text: string;
}

const plan: Turn[] = [
  {agent: 'planner', to: 'coder', text: 'Please multiply 6 by 7 and print the product.'},
  {agent: 'coder', to: 'tester', text: 'Here is the program. It prints 42.'},
  {agent: 'tester', to: 'planner', text: 'The test passes.'},
  {agent: 'planner', to: 'writer', text: 'Write the release note.'},
];

// A run of these turns: each agent takes the event before its own.
async function play(run: string, turns: readonly Turn[], outcome: string): Promise<void> {
  const client = await daemon.client(run, {agents: ['planner', 'coder', 'tester', 'writer'], mode: 'observe'});
  client.event('task', ['planner'], {payload: {text: 'Compute six times seven.'}});
  turns.forEach(({agent, to, text}, i) => {
    client.start(`v${i}`, agent, [i === 0 ? 'task' : `e${i - 1}`]);
    client.end(`v${i}`, [{id: `e${i}`, recipients: [to], payload: {text}}]);
  });
  client.send('run_ended', {outcome});
}

const bad: Turn[] = [
  plan[0]!,
  plan[1]!,
  {agent: 'tester', to: 'coder', text: 'Error: an exception in line 3, the result is 41.'},
  {agent: 'coder', to: 'planner', text: 'I give up.'},
];

async function settled(page: Page): Promise<void> {
  await page.getByRole('region', {name: 'Answer'}).getByText('What now?').waitFor();
}

it('Who caused this? ranks the suspects in a process of digd and shows them in the graph', async () => {
  daemon = await new Digd().start();
  await play('failed', bad, 'failure');
  const {page, expectClean} = await watch(runPath('failed'));
  await settled(page);
  await page.getByRole('button', {name: 'Who caused this?'}).click();
  await page.locator('.attribution .words').waitFor();
  type Listed = {agent: string; event: string; chain: {says: string; accuses: boolean}[]};
  type Answer = {answer: {verdict: {kind: string; words: string}; ranking: Listed[]}};
  const state = (await (await fetch(daemon.url('/v1/runs/failed/attribution'))).json()) as Answer;
  expect(await page.locator('.attribution .words').innerText()).toBe(state.answer.verdict.words);
  const listed = await page.locator('.attribution li').count();
  expect(listed).toBe(state.answer.verdict.kind === 'suspect' ? Math.min(5, state.answer.ranking.length) : 0);
  // A circumstance, such as "brings in new values", is not a reason to suspect anybody.
  const reasons = state.answer.ranking.slice(0, listed).map(({chain}) => chain.find((e) => e.accuses)?.says);
  const hints = (await page.locator('.attribution li .hint').allInnerTexts()).sort();
  expect(hints).toEqual(reasons.map((says) => says ?? 'no evidence against it').sort());
  expect(listed > 0).toBe(true);
  if (listed > 0) {
    await page.getByRole('region', {name: 'Selected'}).getByText(state.answer.ranking[0]!.event).first().waitFor();
    await page.locator('.attribution li button').last().click();
  }
  await keepScreenshot(page, 'attribution');
  // The answer is there again when the page is opened again.
  await page.reload();
  await page.locator('.attribution .words').waitFor();
  expectClean();
});

it('A token without the right to operate cannot start it, and the page names the right', async () => {
  daemon = await Digd.guarded({
    all: ['a'.repeat(64), ['ingest', 'watch', 'read', 'operate']],
    reader: ['r'.repeat(64), ['watch', 'read']],
  }).start();
  const client = await daemon.client('failed', {agents: ['a'], mode: 'observe'}, 'a'.repeat(64));
  client.event('e1', ['a'], {payload: 'hello'});
  client.send('run_ended', {outcome: 'failure'});
  const {page, expectClean} = await watch(runPath('failed'));
  await page.getByLabel('Token').fill('r'.repeat(64));
  await page.keyboard.press('Enter');
  await settled(page);
  await page.getByRole('button', {name: 'Who caused this?'}).click();
  await page.getByText('it needs the right operate').waitFor();
  expectClean(/401|403/);
});

it('What an agent said is shown when its node is selected or hovered', async () => {
  daemon = await new Digd().start();
  const evil = '<img src=x onerror="alert(1)">\u202e secret';
  await play('node-text', [...plan.slice(0, 2), {agent: 'tester', to: 'planner', text: evil}], 'success');
  const {page, expectClean} = await watch(runPath('node-text'));
  await settled(page);
  const find = page.getByLabel('Find in the run');
  await find.fill('e1');
  await find.press('Enter');
  await page.locator('.inspector .node-text').getByText('Here is the program. It prints 42.').waitFor();
  await find.fill('e2');
  await find.press('Enter');
  await page.locator('.inspector .node-text').getByText('<img src=x onerror="alert(1)">\\u202e secret').waitFor();
  await keepScreenshot(page, 'node-text');
  const stage = (await page.locator('.stage').boundingBox())!;
  const tip = page.locator('.tip .node-text');
  const deadline = Date.now() + TIMEOUT_MS;
  for (let x = 0.05; !(await tip.isVisible()) && Date.now() < deadline; x = x > 0.95 ? 0.05 : x + 0.01)
    for (const y of [0.12, 0.3, 0.5, 0.7]) {
      await page.mouse.move(stage.x + stage.width * x, stage.y + stage.height * y);
      if (!(await page.locator('.tip').isVisible())) continue;
      await page.waitForTimeout(250); // the tip asks for the text only if the pointer rests
      if (await tip.isVisible()) break;
    }
  expect(await tip.isVisible()).toBe(true);
  await keepScreenshot(page, 'node-text-on-hover');
  expectClean();
});

it('Searching finds what agents said, in a run and over runs', async () => {
  daemon = await new Digd(SEARCH).start();
  await play('first', plan, 'success');
  await play('second', bad, 'failure');
  const {page, expectClean} = await watch(runPath('second'));
  await settled(page);
  await page.getByLabel('Find in the run').fill('exception');
  await page.getByText('1 found').waitFor();
  await page.getByRole('button', {name: 'Next match'}).click();
  await page.locator('.inspector .node-text').getByText('an exception in line 3').waitFor();
  await page.getByLabel('Find in the run').fill('');
  await page.getByLabel('Find a run').fill('release note');
  const hits = page.getByRole('region', {name: 'What agents said'});
  await hits.getByText('Write the release note.').waitFor();
  await keepScreenshot(page, 'search-over-runs');
  await hits.getByRole('link').first().click();
  await page.waitForURL(/run\/first\?find=release/);
  await page.getByText('1 found').waitFor();
  expectClean();
});

it('Without an index the page says how to search texts', async () => {
  daemon = await new Digd().start();
  await play('first', plan, 'success');
  const {page, expectClean} = await watch('/');
  await page.getByLabel('Find a run').fill('release note');
  await page.getByText('payloads.search_bytes').waitFor();
  expectClean();
});

it('Two runs of a task side by side show where they part', async () => {
  daemon = await new Digd().start();
  await play('good', plan, 'success');
  await play('bad', bad, 'failure');
  const {page, expectClean} = await watch(runPath('bad'));
  await settled(page);
  await page.getByLabel('Compare with another run').selectOption({value: 'good'});
  await page.waitForURL(/#\/compare\/bad\/good/);
  await page.getByRole('heading', {name: 'The runs part after 3 equal steps'}).waitFor();
  const side = (run: string) => page.getByRole('region', {name: `Run ${run}`});
  await side('bad').getByText('step 4: tester to coder').waitFor();
  await side('good').getByText('step 4: tester to planner').waitFor();
  await side('bad').getByText('an exception in line 3').waitFor();
  await side('good').getByText('The test passes.').waitFor();
  await keepScreenshot(page, 'compare');
  for (const width of [400, 768, 1920]) {
    await page.setViewportSize({width, height: 900});
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    await keepScreenshot(page, `compare-${width}`);
  }
  await page.setViewportSize({width: 1440, height: 900});
  await page.locator('tr[aria-current] a').first().click();
  await page.waitForURL(/#\/run\/bad\?find=e2/);
  expectClean();
});

it('Runs that take the same steps are called equal, and an unknown run is named until it appears', async () => {
  daemon = await new Digd().start();
  await play('one', plan, 'success');
  await play('two', plan, 'success');
  const {page, expectClean} = await watch('/#/compare/one/two');
  await page.getByRole('heading', {name: 'The runs take the same steps'}).waitFor();
  await page.goto(daemon.url('/#/compare/one/nobody'));
  await page.getByText('digd does not know the run nobody').waitFor();
  await play('nobody', plan, 'success');
  await page.getByRole('heading', {name: /^The runs (take the same steps|part)/}).waitFor();
  expectClean(/404/);
});

async function watch(path: string) {
  const watched = await open(daemon.url(path));
  return {page: watched.page, expectClean: (...expected: RegExp[]) => watched.expectClean(...expected)};
}
