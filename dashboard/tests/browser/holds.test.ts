// Holds on the page: what waits for a person, and both decisions.
import {expect, it} from 'vitest';
import {open, keepScreenshot, useBrowser} from './browser';
import {Digd, until, type Client} from './digd';

let daemon: Digd;

useBrowser(() => daemon.stop());

async function clientWithHold(run: string): Promise<Client> {
  const client = await daemon.client(run, {
    agents: ['planner', 'coder'],
    guards: {budget: {max_cost: 1, action: 'hold'}},
    capabilities: {hold: true},
  });
  client.event('task', ['planner'], {payload: {text: 'Write a parser.'}});
  client.start('v1', 'planner', ['task']);
  client.send('activation_ended', {
    activation: 'v1',
    usage: {input_tokens: 900, output_tokens: 50, cost: 5.25},
    outputs: [{id: 'plan', recipients: ['coder'], payload: {text: 'Write the <b>lexer</b>.'}}],
  });
  return client;
}

interface Ended {
  id?: string;
  action?: string;
  recipients?: string[];
  inject?: string;
}

it.each(['Release', 'Return'])('%s decides about an event that waits', async (name) => {
  daemon = await new Digd().start();
  const client = await clientWithHold('r1');
  const watched = await open(daemon.url('/#/run/r1'));
  const queue = watched.page.getByRole('region', {name: 'Waits for a person'});
  await queue.waitFor();
  const text = await queue.innerText();
  for (const part of ['planner', 'coder', 'plan', 'max_cost', '5.25', 'left']) expect(text).toContain(part);
  await keepScreenshot(watched.page, `holds-${name.toLowerCase()}`);
  if (name === 'Return') await queue.getByLabel('Text for the sender').fill('Use the old lexer.');
  await queue.getByRole('button', {name}).click();
  const end = await until('the end of the hold', () =>
    (client.received as Ended[]).find((frame) => frame.id === 'hold:1' && frame.action !== undefined),
  );
  if (name === 'Release') expect([end.action, end.recipients]).toEqual(['release', ['coder']]);
  else {
    expect([end.action, end.recipients]).toEqual(['reroute', ['planner']]);
    expect(end.inject).toContain('Use the old lexer.');
  }
  await queue.waitFor({state: 'detached'});
  watched.expectClean();
});

it('A decision that comes too late is called that', async () => {
  daemon = await new Digd().start();
  const client = await clientWithHold('late');
  const watched = await open(daemon.url('/#/run/late'));
  const queue = watched.page.getByRole('region', {name: 'Waits for a person'});
  await queue.waitFor();
  const path = daemon.url('/v1/runs/late/holds/hold:1');
  const listed = await (await fetch(daemon.url('/v1/runs/late/holds'))).text();
  await watched.page.route('**/holds', (route) => route.fulfill({contentType: 'application/json', body: listed}));
  expect((await fetch(path, {method: 'POST', body: '{"decision":"release"}'})).status).toBe(200);
  await queue.getByRole('button', {name: 'Release'}).click();
  await watched.page.getByText('has ended already').waitFor();
  client.close();
});

it('A queue lists the events of all runs that wait, and takes decisions', async () => {
  daemon = await new Digd().start();
  const first = await clientWithHold('first');
  const second = await clientWithHold('second/<b>');
  const watched = await open(daemon.url('/'));
  const rows = watched.page.getByRole('navigation', {name: 'Runs'}).getByRole('listitem');
  await rows.filter({hasText: '1 event held'}).nth(1).waitFor();
  expect(await rows.filter({hasText: 'healed'}).count()).toBe(0);
  await watched.page.getByRole('button', {name: '2 events held'}).click();
  const queue = watched.page.getByRole('dialog', {name: 'Events that wait for a person'});
  const ofFirst = queue.getByRole('region', {name: 'hold:1 of run first'});
  await ofFirst.waitFor();
  expect(await queue.innerText()).toContain('Run second/<b>');
  await keepScreenshot(watched.page, 'hold-queue');
  await ofFirst.getByRole('button', {name: 'Release'}).click();
  await ofFirst.waitFor({state: 'detached'});
  await until('the release', () =>
    (first.received as Ended[]).some((frame) => frame.id === 'hold:1' && frame.action === 'release'),
  );
  expect((second.received as Ended[]).some((frame) => frame.action === 'release')).toBe(false);
  await rows.filter({hasText: 'first'}).getByText('healed').waitFor();
  await queue.getByRole('link', {name: 'Run second/<b>'}).click();
  await watched.page.getByRole('region', {name: 'Waits for a person'}).waitFor();
  watched.expectClean();
});
