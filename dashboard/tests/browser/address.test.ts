// The address keeps what the reader sees, and an ended run shows the answer of its report.
import {join} from 'node:path';
import {expect, it} from 'vitest';
import {keepScreenshot, open, useBrowser} from './browser';
import {Digd, TRACES, runPath} from './digd';

let daemon: Digd;

useBrowser(() => daemon.stop());

it('A shared address opens the run with the same filters and at the same position', async () => {
  daemon = await new Digd().start();
  daemon.send(join(TRACES, 'demo.jsonl'));
  const first = await open(daemon.url(runPath('demo')));
  await first.page.getByText('15 events, 15 activations').waitFor();
  await first.page.getByRole('radio', {name: 'Flagged'}).click();
  await first.page.getByRole('radio', {name: 'Time'}).click();
  await first.page.getByLabel('Find in the run').fill('plan');
  await first.page.locator('.agents summary').click();
  await first.page.locator('.agents input').first().uncheck();
  await first.page.locator('.agents summary').click();
  await first.page.locator('h1').click(); // out of the field, for the keys
  await first.page.keyboard.press('Home');
  await first.page.waitForURL(/find=plan/);
  await first.page.waitForURL(/state=flagged.*axis=time.*hide=.*at=\d+/);
  const shared = first.page.url();

  const second = await open(shared);
  await second.page.getByText('15 events, 15 activations').waitFor();
  await second.page.getByText('(1 hidden)').waitFor();
  expect(await second.page.getByLabel('Find in the run').inputValue()).toBe('plan');
  expect(await second.page.getByRole('radio', {name: 'Flagged'}).getAttribute('aria-checked')).toBe('true');
  expect(await second.page.getByRole('radio', {name: 'Time'}).getAttribute('aria-checked')).toBe('true');
  expect(await second.page.locator('.transport').innerText()).toBe(await first.page.locator('.transport').innerText());
  await keepScreenshot(second.page, 'address');
  expect(second.page.url()).toBe(shared);

  // Another run, and the same run by its plain address, begin with the whole run.
  await second.page.goto(daemon.url(runPath('demo')));
  await second.page.getByRole('radio', {name: 'All'}).waitFor();
  await second.page.waitForFunction(() => !location.hash.includes('state='));
  expect(await second.page.getByRole('radio', {name: 'All'}).getAttribute('aria-checked')).toBe('true');
  first.expectClean();
  second.expectClean();
});

it('An ended run shows the answer of its report, and offers to rank suspects', async () => {
  daemon = await new Digd().start();
  const client = await daemon.client('failed run', {agents: ['a'], mode: 'observe'});
  client.event('e1', ['nobody']);
  client.send('run_ended', {outcome: 'failure'});
  const watched = await open(daemon.url(runPath('failed run')));
  const answer = watched.page.getByRole('region', {name: 'Answer'});
  await answer.getByText('What now?').waitFor();
  const text = await answer.innerText();
  for (const part of ['The run failed', 'No attribution method ran', 'Who caused this?']) expect(text).toContain(part);
  const report = (await (await fetch(daemon.url('/v1/runs/failed%20run/report'))).json()) as {verdict: string[]};
  for (const sentence of report.verdict) expect(text).toContain(sentence.replaceAll('`', ''));
  await keepScreenshot(watched.page, 'answer');
  watched.expectClean();
});

it('An open run has no answer yet', async () => {
  daemon = await new Digd().start();
  const client = await daemon.client('open', {agents: ['a']});
  client.event('e1', ['a']);
  const watched = await open(daemon.url(runPath('open')));
  await watched.page.getByText('1 event, 0 activations').waitFor();
  expect(await watched.page.getByRole('region', {name: 'Answer'}).count()).toBe(0);
  client.close();
  watched.expectClean();
});
