import {request} from 'node:http';
import {join} from 'node:path';
import type {Browser} from 'playwright-core';
import {afterAll, afterEach, beforeAll, describe, expect, it} from 'vitest';
import {colour, launch, open, pixelsOf} from './browser';
import {Digd, TRACES, longRun} from './digd';

let browser: Browser;
let daemons: Digd[] = [];

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());
afterEach(async () => {
  await Promise.all(browser.contexts().map((one) => one.close()));
  await Promise.all(daemons.map((one) => one.stop()));
  daemons = [];
});

async function started(daemon = new Digd()): Promise<Digd> {
  daemons.push(daemon);
  return daemon.start();
}

const runPath = (run: string): string => `/#/run/${encodeURIComponent(run)}`;

describe('the files', () => {
  const ask = (url: string, headers = {}, method = 'GET'): Promise<{status: number; headers: Record<string, unknown>; body: string}> =>
    new Promise((done, failed) => {
      const asked = request(url, {method, headers}, (answer) => {
        const body: Buffer[] = [];
        answer.on('data', (piece) => body.push(piece as Buffer));
        answer.on('end', () => done({status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(body).toString('latin1')}));
      });
      asked.on('error', failed).end();
    });

  it('are served with a strict policy, compressed if wanted, and once', async () => {
    const daemon = await started();
    const page = await ask(daemon.url());
    expect(page.status).toBe(200);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
    expect(page.headers['cache-control']).toBe('no-cache');
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(page.body)![1]!;
    const plain = await ask(daemon.url(script));
    const zipped = await ask(daemon.url(script), {'Accept-Encoding': 'br, gzip'});
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(zipped.body.length).toBeLessThan(plain.body.length / 2);
    expect(zipped.headers.etag).not.toBe(plain.headers.etag);
    const again = await ask(daemon.url(script), {'If-None-Match': plain.headers.etag});
    expect([again.status, again.body]).toEqual([304, '']);
    const head = await ask(daemon.url(script), {}, 'HEAD');
    expect([head.status, head.body, Number(head.headers['content-length'])]).toEqual([200, '', plain.body.length]);
  });

  it('are a table: no other name leads anywhere', async () => {
    const daemon = await started();
    for (const path of ['/assets/', '/assets/x.js', '/assets/..%2Findex.html', '/assets/%2e%2e%2findex.html', '/index.html', '/favicon.ico',
      '/assets/..%2F..%2F..%2Fetc%2Fpasswd']) {
      expect((await ask(daemon.url(path))).status, path).toBe(404);
    }
    expect((await ask(daemon.url('/'), {}, 'POST')).status).toBe(405);
    expect((await ask(daemon.url('/'), {Host: 'evil.example'})).status).toBe(403);
  });
});

describe('a run', () => {
  it('appears, grows, and is drawn', async () => {
    const daemon = await started();
    const seen = await open(browser, daemon.url());
    const {page} = seen;
    await page.getByText('No runs yet').waitFor();
    const client = await daemon.client('first run', {agents: ['planner', 'coder']});
    client.event('task', ['planner']);
    await page.getByRole('link', {name: /first run/}).click();
    await page.getByText('1 event, 0 activations').waitFor();
    expect(new URL(page.url()).hash).toBe('#/run/first%20run');
    const waiting = await colour(page, '--waiting');
    await page.waitForFunction(() => document.querySelector('.stage')!.getAttribute('aria-label')!.includes('1 node in view'));
    expect(await pixelsOf(page, waiting)).toBeGreaterThan(20);
    client.start('v1', 'planner', ['task']);
    client.end('v1', [{id: 'plan', recipients: ['coder']}, {id: 'notes', recipients: ['coder']}]);
    await page.getByText('3 events, 1 activation').waitFor();
    expect(await pixelsOf(page, await colour(page, '--activation'))).toBeGreaterThan(40);
    client.tell('run_ended', {outcome: 'success'});
    await page.locator('.title .pill', {hasText: 'success'}).waitFor();
    client.close();
    seen.expectClean();
  });

  it('is found by name, and its things by search; lineage on hover', async () => {
    const daemon = await started();
    daemon.send(join(TRACES, 'demo.jsonl'));
    const seen = await open(browser, daemon.url(runPath('demo')));
    const {page} = seen;
    await page.getByText('15 events, 15 activations').waitFor();
    await page.getByLabel('Find in the run').fill('theme-pic');
    await page.getByLabel('Next that was found').click();
    const facts = page.getByRole('region', {name: 'Selected'});
    await facts.getByRole('heading', {name: /theme-picture/}).waitFor();
    expect(await facts.locator('table').first().innerText()).toContain('consumed');
    await facts.getByRole('button', {name: 'writer-1'}).click();
    await facts.getByRole('heading', {name: /Activation writer-1/}).waitFor();
    await page.keyboard.press('Escape');
    const stage = (await page.locator('.stage').boundingBox())!;
    for (let x = stage.x + 110; x < stage.x + stage.width; x += 9) {
      await page.mouse.move(x, stage.y + 60 + 60);
      if (await page.locator('.tip').isVisible()) break;
    }
    expect(await page.locator('.tip').innerText()).toMatch(/event|activation/);
    await page.getByLabel('Find a run').fill('nothing like it');
    await page.getByText('No run is called that').waitFor();
    seen.expectClean();
  });

  it('goes on after digd was killed and started again', async () => {
    const daemon = await started();
    const seen = await open(browser, daemon.url());
    const {page} = seen;
    const client = await daemon.client('r', {agents: ['a']});
    client.event('e1', ['a']);
    await page.getByRole('link', {name: /^open r/}).click();
    await page.getByText('1 event,').waitFor();
    await client.get('ack');
    await daemon.kill();
    await page.getByText(/feed lost/).waitFor();
    await daemon.start();
    const again = await daemon.client('r', {agents: ['a']});
    again.tell('event', {event: {id: 'e1', recipients: ['a']}});  // seq 1, durable already
    again.event('e2', ['a']);
    await page.getByText('2 events,').waitFor();
    await page.getByText(/feed lost/).waitFor({state: 'detached'});
    again.close();
    seen.expectClean(/ERR_CONNECTION|WebSocket connection/);
  });
});

describe('detections', () => {
  it('a deadlock is seen, healed with words shown in full, and cleared', async () => {
    const daemon = await started();
    const seen = await open(browser, daemon.url(runPath('stuck')));
    const {page} = seen;
    await page.getByText('There is no such run yet').waitFor();
    const client = await daemon.client('stuck', {agents: ['coder', 'tester'], clock: 'trace', rules: {deadlock: {window_ms: 300}}});
    client.event('build', ['tester']);
    client.start('v1', 'tester', ['build']);
    client.end('v1', [], {build: 'wait'});
    client.tell('time', {ts: 400});
    const {id} = await client.get('intervention');
    const card = page.locator('.card[data-rule="deadlock"]');
    await card.getByText('healed: sent a message').waitFor();
    await card.getByRole('button').first().click();
    expect(await card.locator('blockquote').innerText()).toContain('Nobody is working, but 1 event is unresolved: "build"');
    expect(await card.innerText()).toContain('Said to coder, tester');
    client.start('v2', 'tester', ['build', id!]);
    client.end('v2');
    await card.getByText('cleared').waitFor();
    client.close();
    seen.expectClean(/404/);
  });

  it('in shadow say what would have been done', async () => {
    const daemon = await started();
    const client = await daemon.client('careful', {agents: ['a'], mode: 'shadow'});
    client.start('v1', 'a', []);
    client.end('v1', [{id: 'lost', recipients: ['nobody']}]);
    const seen = await open(browser, daemon.url(runPath('careful')));
    await seen.page.getByText('not healed (mode); would give it back').waitFor();
    await seen.page.getByRole('region', {name: 'Would have done'}).getByText('orphaned event').waitFor();
    client.close();
    seen.expectClean();
  });
});

describe('the pilot', () => {
  it('says what digd would have done over all runs, what silences it, and what people thought of it', async () => {
    const daemon = await started(new Digd('enforce_share = 0.5\n'));
    for (let i = 0; i < 8; ++i) {
      const client = await daemon.client(`run-${i}`, {agents: ['critic'], mode: i === 7 ? 'observe' : 'shadow'});
      client.start('v1', 'critic', []);
      client.end('v1', [{id: 'lost', recipients: ['nobody']}]);
      client.tell('run_ended', {outcome: i % 2 ? 'success' : 'failure', metrics: {cost: 0.01 * i}});
      await client.get('ack');
      client.close();
    }
    const seen = await open(browser, daemon.url(runPath('run-1')));
    const {page} = seen;
    await page.locator('.card').getByRole('button').first().click();
    await page.getByRole('button', {name: 'wrong', exact: true}).click();
    await page.locator('.card').getByText('judged wrong').waitFor();
    await page.reload();  // it is stored
    await page.locator('.card').getByText('judged wrong').waitFor();
    await page.getByRole('button', {name: 'Pilot'}).click();
    const dialog = page.getByRole('dialog', {name: 'Pilot'});
    await dialog.getByText(/of 8 runs and did intervene/).waitFor();
    const place = dialog.locator('.card[data-rule="orphaned_event"]');
    await place.getByText('critic → nobody').waitFor();
    await place.getByText('rules.orphaned_event.except = ["critic"]').waitFor();
    expect(await place.innerText()).toContain('judged 0 right, 1 wrong');
    const canary = dialog.getByRole('region', {name: 'Canary'});
    expect(await canary.getByRole('row', {name: /^success/}).innerText()).toContain('%');
    expect(await canary.getByRole('row', {name: /^cost/}).count()).toBe(1);
    expect(await dialog.getByRole('region', {name: 'Precision'}).innerText()).toContain('0.0 %');
    if (process.env.DIGD_SCREENSHOTS) await page.screenshot({path: join(process.env.DIGD_SCREENSHOTS, 'pilot.png')});
    await place.getByRole('link').first().click();
    await dialog.waitFor({state: 'detached'});
    await page.getByRole('heading', {name: /^run-/}).waitFor();
    if (process.env.DIGD_SCREENSHOTS) {
      await page.locator('.card').getByRole('button').first().click();
      await page.screenshot({path: join(process.env.DIGD_SCREENSHOTS, 'judged.png')});
    }
    seen.expectClean();
  });

  it('judges nothing without the right to operate', async () => {
    const right = 'r'.repeat(64);
    const reader = 'o'.repeat(64);
    const daemon = await started(Digd.guarded({all: [right, ['ingest', 'watch', 'read', 'operate']], reader: [reader, ['watch', 'read']]}));
    const client = await daemon.client('guarded', {agents: ['a'], mode: 'shadow'}, right);
    client.start('v1', 'a', []);
    client.end('v1', [{id: 'lost', recipients: ['nobody']}]);
    const seen = await open(browser, daemon.url(runPath('guarded')));
    const {page} = seen;
    await page.getByLabel('Token').fill(reader);
    await page.getByRole('button', {name: 'Open'}).click();
    await page.locator('.card').getByRole('button').first().click();
    await page.getByRole('button', {name: 'right', exact: true}).click();
    await page.getByText(/has no right to operate/).waitFor();
    expect(await page.locator('.card').getByText('judged').count()).toBe(0);
    client.close();
    seen.expectClean(/401|403|WebSocket/);
  });
});

describe('time', () => {
  it('is held, stepped back and forward, and gone on with', async () => {
    const daemon = await started();
    daemon.send(join(TRACES, 'demo.jsonl'));
    const seen = await open(browser, daemon.url(runPath('demo')));
    const {page} = seen;
    const count = page.locator('.detections .count');
    await page.getByText('35 of 35').waitFor();
    expect(await count.innerText()).toBe('9');
    const card = page.locator('.card[data-rule="deadlock"]');
    await card.getByRole('button').first().click();
    await card.getByRole('button', {name: 'See the run as it was then'}).click();
    await page.getByText('27 of 35').waitFor();
    expect(await count.innerText()).toBe('7');
    expect(await card.getByText('cleared').count()).toBe(0);
    await page.getByLabel('Step back').click();
    await page.getByText('26 of 35').waitFor();
    expect(await card.count()).toBe(0);
    await page.keyboard.press('.');
    await page.getByText('27 of 35').waitFor();
    await page.getByLabel('To the beginning').click();
    await page.getByText('1 of 35').waitFor();
    expect(await page.locator('.stage').getAttribute('aria-label')).toContain('1 node in view');
    await page.getByRole('button', {name: 'Live'}).click();
    await page.getByText('35 of 35').waitFor();
    expect(await count.innerText()).toBe('9');
    seen.expectClean();
  });
});

describe('the operator', () => {
  it('switches all runs, after being asked', async () => {
    const daemon = await started();
    const seen = await open(browser, daemon.url());
    const {page} = seen;
    const now = async (): Promise<string> => ((await (await fetch(daemon.url('/v1/mode'))).json()) as {mode: string}).mode;
    await page.getByRole('radio', {name: 'observe'}).click();
    await page.getByRole('button', {name: 'Leave it at enforce'}).click();
    expect(await now()).toBe('enforce');
    await page.getByRole('radio', {name: 'observe'}).click();
    await page.getByRole('button', {name: 'Switch to observe'}).click();
    await page.locator('[role=radio].observe[aria-checked=true]').waitFor();
    expect(await now()).toBe('observe');
    seen.expectClean();
  });

  it('sees how the daemon is', async () => {
    const daemon = await started();
    daemon.send(join(TRACES, 'demo.jsonl'));
    const seen = await open(browser, daemon.url());
    await seen.page.getByRole('button', {name: /Health/}).click();
    await seen.page.getByText('Ready: digd takes runs').waitFor();
    await seen.page.getByRole('img', {name: /Histogram of verdict latency: 50% within/}).waitFor();
    expect(await seen.page.getByRole('row', {name: /^messages/}).innerText()).toMatch(/35/);
    seen.expectClean();
  });

  it('gives a token, which stays in the tab', async () => {
    const right = 'r'.repeat(64);
    const reader = 'o'.repeat(64);
    const daemon = await started(Digd.guarded({all: [right, ['ingest', 'watch', 'read', 'operate']], reader: [reader, ['watch', 'read']]}));
    const client = await daemon.client('guarded', {agents: ['a']}, right);
    client.event('e1', ['a']);
    const seen = await open(browser, daemon.url(runPath('guarded')));
    const {page} = seen;
    await page.getByLabel('Token').fill('x'.repeat(64));
    await page.getByRole('button', {name: 'Open'}).click();
    await page.getByText('digd does not know this token').waitFor();
    await page.getByLabel('Token').fill(reader);
    await page.getByRole('button', {name: 'Open'}).click();
    await page.getByText('1 event,').waitFor();
    const kept = await page.evaluate(() => [Object.values(sessionStorage), Object.values(localStorage), [document.cookie]]);
    expect(kept).toEqual([[reader], [], ['']]);
    await page.getByRole('radio', {name: 'off'}).click();
    await page.getByRole('button', {name: 'Switch to off'}).click();
    await page.getByText(/has no right to operate/).waitFor();
    client.close();
    seen.expectClean(/401|403|WebSocket/);
  });
});

describe('what agents chose is data', () => {
  it('whatever it is called', async () => {
    const hostile = '<img src=x onerror="window.taken=1">';
    const names = [hostile, '"><script>window.taken=1</script>', 'right\u202eto left', '__proto__', '${7*7}{{7*7}}', 'x'.repeat(250)];
    const daemon = await started();
    const client = await daemon.client(hostile, {agents: names, labels: {[hostile]: hostile}});
    names.forEach((name, i) => {
      client.start(`v${name}`, name, []);
      client.end(`v${name}`, [{id: `e${name}`.slice(0, 256), recipients: [i === 0 ? 'javascript:alert(1)' : names[0]!], kind: hostile}]);
    });
    const seen = await open(browser, daemon.url());
    const {page} = seen;
    await page.locator('.runs a').first().click();
    await page.getByText('6 events, 6 activations').waitFor();
    expect(await page.locator('h1').innerText()).toBe(hostile);
    await page.locator('.card button').first().click();
    await page.getByText('Agents').click();
    expect(await page.locator('.agents .menu').innerText()).toContain('right\\u202eto left');
    await page.getByLabel('Find in the run').fill('img src');
    await page.getByLabel('Next that was found').click();
    expect(await page.locator('img, script:not([src]), iframe').count()).toBe(0);
    expect(await page.evaluate(() => (window as unknown as {taken?: number}).taken)).toBeUndefined();
    client.close();
    seen.expectClean();
  });
});

describe('size', () => {
  for (const n of [10, 1_000]) {
    it(`${n} events are drawn one by one`, async () => {
      const daemon = await started();
      daemon.send(daemon.trace('long.jsonl', longRun('long', n)));
      const seen = await open(browser, daemon.url(runPath('long')));
      await seen.page.getByText(`${n.toLocaleString('en')} events, ${(n - 1).toLocaleString('en')} activations`).waitFor();
      await seen.page.getByLabel('All of it').click();
      const all = `${(2 * n - 1).toLocaleString('en')} nodes in view`;
      await seen.page.waitForFunction((text) => document.querySelector('.stage')!.getAttribute('aria-label')!.includes(text), all);
      expect(await seen.page.locator('.summed').count()).toBe(0);
      seen.expectClean();
    });
  }

  it('100,000 events are summed by agent and time, which the page says, and single ones when looked at closely', async () => {
    const daemon = await started();
    daemon.send(daemon.trace('long.jsonl', longRun('long', 100_000)));
    const seen = await open(browser, daemon.url(runPath('long')));
    const {page} = seen;
    await page.getByText('100,000 events, 99,999 activations').waitFor({timeout: 90_000});
    await page.getByLabel('All of it').click();
    await page.getByText(/199,999 nodes in view: summed by agent and time/).waitFor();
    expect(await pixelsOf(page, await colour(page, '--cell'))).toBeGreaterThan(500);
    await page.getByRole('button', {name: 'Follow'}).click();
    await page.locator('.summed').waitFor({state: 'detached'});
    seen.expectClean();
  }, 150_000);
});

describe('a phone', () => {
  it('has everything in one column, no wider than it is', async () => {
    const daemon = await started();
    daemon.send(join(TRACES, 'demo.jsonl'));
    const seen = await open(browser, daemon.url(runPath('demo')), {viewport: {width: 390, height: 844}, hasTouch: true, isMobile: true});
    const {page} = seen;
    await page.getByText('15 events, 15 activations').waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await page.locator('.card[data-rule="deadlock"] button').first().tap();
    await page.getByText('Said to coder, planner, tester, writer').waitFor();
    seen.expectClean();
  });
});

