// What a run used, on its page: over time, by agent, against its limits, and where it fanned out.
import {expect, it} from 'vitest';
import {keepScreenshot, open, useBrowser} from './browser';
import {Digd, runPath, type Client} from './digd';
import {lowContrasts, overlaps} from './page_checks';

let daemon: Digd;

useBrowser(() => daemon.stop());

async function spend(run: string, budget: object, rest: object = {}): Promise<Client> {
  const client = await daemon.client(run, {
    agents: ['planner', 'coder'],
    mode: 'observe',
    clock: 'trace',
    guards: {budget, ...rest},
  });
  client.send('event', {ts: 0, event: {id: 'task', recipients: ['planner']}});
  client.send('activation_started', {ts: 1_000, activation: 'plan', agent: 'planner', inputs: ['task']});
  client.send('activation_ended', {
    ts: 20_000,
    activation: 'plan',
    usage: {input_tokens: 900, output_tokens: 100, cost: 3, model_calls: 2, tool_calls: 1},
    outputs: [1, 2, 3, 4].map((i) => ({id: `part${i}`, recipients: ['coder']})),
  });
  client.send('activation_started', {ts: 21_000, activation: 'code', agent: 'coder', inputs: ['part1']});
  client.send('usage', {ts: 40_000, activation: 'code', usage: {input_tokens: 500, cost: 1.5, model_calls: 1}});
  return client;
}

it('Spend over time, by agent, against the limits of the run, and where it fanned out', async () => {
  daemon = await new Digd().start();
  const client = await spend('r1', {max_cost: 4, max_tokens: 5_000}, {fan_out: {max_outputs: 3}});
  const watched = await open(daemon.url(runPath('r1')));
  const {page} = watched;
  const panel = page.getByRole('region', {name: 'Spending'});
  await panel.waitFor();
  await panel.getByText('cost 4.5 (limit 4), 1,500 tokens').waitFor();
  await panel.getByRole('img', {name: 'Cost over time: planner 3, coder 1.5; limit 4'}).waitFor();
  const row = (name: string | RegExp): Promise<string> =>
    panel
      .getByRole('row', {name})
      .innerText()
      .then((text) => text.replace(/\s+/g, ' ').trim());
  expect(await row(/^planner 3 /)).toBe('planner 3 1,000 3');
  expect(await row(/^coder 1.5 /)).toBe('coder 1.5 500 1');
  expect(await row(/^cost/)).toBe('cost 4.5 4.5 4');
  expect(await row(/^tokens/)).toBe('tokens 1,500 1,500 5,000');
  expect(await row(/^planner plan /)).toBe('planner plan 4 / 3 1');
  const overs = await panel.locator('.over').allInnerTexts();
  expect(overs.map((text) => text.split(/\s/)[0])).toEqual(['cost', '4']);
  await keepScreenshot(page, 'spending');
  expect(await lowContrasts(page)).toEqual([]);
  expect(await overlaps(page)).toEqual([]);
  await panel.getByRole('button', {name: 'plan'}).click();
  await page.getByRole('region', {name: 'Selected'}).getByText('plan', {exact: true}).first().waitFor();

  // The run goes on, and the panel follows.
  client.send('usage', {ts: 41_000, activation: 'code', usage: {cost: 2.25}});
  await panel.getByText('cost 6.75 (limit 4)').waitFor();
  client.close();
  watched.expectClean();
});

it('Limits for each agent stand beside each agent', async () => {
  daemon = await new Digd().start();
  const client = await spend('r2', {max_cost: 2, per: 'agent'});
  const watched = await open(daemon.url(runPath('r2')));
  const panel = watched.page.getByRole('region', {name: 'Spending'});
  await panel.getByRole('img', {name: 'Cost over time of each agent: planner 3, coder 1.5; limit 2'}).waitFor();
  const cells = await panel.getByRole('row', {name: /^(planner|coder) .* \/ 2/}).allInnerTexts();
  expect(cells.map((text) => text.replace(/\s+/g, ' ').trim())).toEqual([
    'planner 3 / 2 1,000 3',
    'coder 1.5 / 2 500 1',
  ]);
  expect(await panel.locator('.over').allInnerTexts()).toEqual(['3 / 2']);
  client.close();
  watched.expectClean();
});

it('A run that used nothing and has no limits has no such panel', async () => {
  daemon = await new Digd().start();
  const client = await daemon.client('r3', {agents: ['planner']});
  client.event('task', ['planner']);
  await client.waitFor('ack'); // the archive has the run
  const watched = await open(daemon.url('/'));
  const answered = watched.page.waitForResponse((response) => response.url().endsWith('/v1/runs/r3/usage'));
  await watched.page.goto(daemon.url(runPath('r3')));
  await answered;
  await watched.page.getByText('1 event, 0 activations').waitFor();
  expect(await watched.page.getByRole('region', {name: 'Spending'}).count()).toBe(0);
  client.close();
  watched.expectClean();
});
