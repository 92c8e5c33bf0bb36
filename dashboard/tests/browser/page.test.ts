import {request} from 'node:http';
import {join} from 'node:path';
import {describe, expect, it} from 'vitest';
import {colour, keepScreenshot, open, pixelsOf, useBrowser} from './browser';
import {Digd, TRACES, runPath} from './digd';

let daemons: Digd[] = [];

useBrowser(async () => {
  await Promise.all(daemons.map((daemon) => daemon.stop()));
  daemons = [];
});

async function started(daemon = new Digd()): Promise<Digd> {
  daemons.push(daemon);
  return daemon.start();
}

describe('the page files', () => {
  const ask = (
    url: string,
    headers = {},
    method = 'GET',
  ): Promise<{status: number; headers: Record<string, unknown>; body: string}> =>
    new Promise((done, failed) => {
      const asked = request(url, {method, headers}, (answer) => {
        const body: Buffer[] = [];
        answer.on('data', (piece) => body.push(piece as Buffer));
        answer.on('end', () =>
          done({status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(body).toString('latin1')}),
        );
      });
      asked.on('error', failed).end();
    });

  it('are served with a strict policy, compressed on request, and cached', async () => {
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

  it('any other path is refused', async () => {
    const daemon = await started();
    for (const path of [
      '/assets/',
      '/assets/x.js',
      '/assets/..%2Findex.html',
      '/assets/%2e%2e%2findex.html',
      '/index.html',
      '/favicon.ico',
      '/assets/..%2F..%2F..%2Fetc%2Fpasswd',
    ]) {
      expect((await ask(daemon.url(path))).status, path).toBe(404);
    }
    expect((await ask(daemon.url('/'), {}, 'POST')).status).toBe(405);
    expect((await ask(daemon.url('/'), {Host: 'evil.example'})).status).toBe(403);
  });
});

describe('a run', () => {
  it('appears, grows and is drawn', async () => {
    const daemon = await started();
    const watched = await open(daemon.url());
    const {page} = watched;
    await page.getByText('No runs yet.').waitFor();
    const client = await daemon.client('first run', {agents: ['planner', 'coder']});
    client.event('task', ['planner']);
    await page.getByRole('link', {name: /first run/}).click();
    await page.getByText('1 event, 0 activations').waitFor();
    expect(new URL(page.url()).hash).toBe('#/run/first%20run');
    const waiting = await colour(page, '--waiting');
    await page.waitForFunction(() =>
      document.querySelector('.stage')!.getAttribute('aria-label')!.includes('1 node in view'),
    );
    expect(await pixelsOf(page, waiting)).toBeGreaterThan(20);
    client.start('v1', 'planner', ['task']);
    client.end('v1', [
      {id: 'plan', recipients: ['coder']},
      {id: 'notes', recipients: ['coder']},
    ]);
    await page.getByText('3 events, 1 activation').waitFor();
    expect(await pixelsOf(page, await colour(page, '--activation'))).toBeGreaterThan(40);
    client.send('run_ended', {outcome: 'success'});
    await page.locator('.title .pill', {hasText: 'success'}).waitFor();
    client.close();
    watched.expectClean();
  });

  it('is found by name, its nodes by search, and hovering shows a tooltip', async () => {
    const daemon = await started();
    daemon.send(join(TRACES, 'demo.jsonl'));
    const watched = await open(daemon.url(runPath('demo')));
    const {page} = watched;
    await page.getByText('15 events, 15 activations').waitFor();
    await page.getByLabel('Find in the run').fill('theme-pic');
    await page.getByLabel('Next match').click();
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
    await page.getByLabel('Find a run').fill('no such name');
    await page.getByText('No matching run').waitFor();
    watched.expectClean();
  });

  it('resumes after digd was killed and restarted', async () => {
    const daemon = await started();
    const watched = await open(daemon.url());
    const {page} = watched;
    const client = await daemon.client('r', {agents: ['a']});
    client.event('e1', ['a']);
    await page.getByRole('link', {name: /^open r/}).click();
    await page.getByText('1 event,').waitFor();
    await client.waitFor('ack');
    await daemon.kill();
    await page.getByText(/feed lost/).waitFor();
    await daemon.start();
    const again = await daemon.client('r', {agents: ['a']});
    again.send('event', {event: {id: 'e1', recipients: ['a']}}); // seq 1: already durable
    again.event('e2', ['a']);
    await page.getByText('2 events,').waitFor();
    await page.getByText(/feed lost/).waitFor({state: 'detached'});
    again.close();
    watched.expectClean(/ERR_CONNECTION|WebSocket connection/);
  });
});

describe('detections', () => {
  it('a deadlock appears with its healing text and its outcome', async () => {
    const daemon = await started();
    const watched = await open(daemon.url(runPath('stuck')));
    const {page} = watched;
    await page.getByText('There is no such run yet').waitFor();
    const client = await daemon.client('stuck', {
      agents: ['coder', 'tester'],
      clock: 'trace',
      rules: {deadlock: {window_ms: 300}},
    });
    client.event('build', ['tester']);
    client.start('v1', 'tester', ['build']);
    client.end('v1', [], {build: 'wait'});
    client.send('time', {ts: 400});
    const {id} = await client.waitFor('intervention');
    const card = page.locator('.card[data-rule="deadlock"]');
    await card.getByText('healed: sent a message').waitFor();
    await card.getByRole('button').first().click();
    expect(await card.locator('blockquote').innerText()).toContain(
      'Nobody is working, but 1 event is unresolved: "build"',
    );
    expect(await card.innerText()).toContain('Sent to coder, tester');
    client.start('v2', 'tester', ['build', id!]);
    client.end('v2');
    await card.getByText('cleared').waitFor();
    client.close();
    watched.expectClean(/404/);
  });

  it('in shadow mode show what digd would have done', async () => {
    const daemon = await started();
    const client = await daemon.client('careful', {agents: ['a'], mode: 'shadow'});
    client.start('v1', 'a', []);
    client.end('v1', [{id: 'lost', recipients: ['nobody']}]);
    const watched = await open(daemon.url(runPath('careful')));
    await watched.page.getByText('not healed (mode); would give it back').waitFor();
    await watched.page.getByRole('region', {name: 'Would have done'}).getByText('orphaned event').waitFor();
    client.close();
    watched.expectClean();
  });
});

describe('the pilot', () => {
  it('shows interventions over all runs, the setting that silences them, and judgements', async () => {
    const daemon = await started(new Digd('enforce_share = 0.5\n'));
    for (let i = 0; i < 8; ++i) {
      const client = await daemon.client(`run-${i}`, {agents: ['critic'], mode: i === 7 ? 'observe' : 'shadow'});
      client.start('v1', 'critic', []);
      client.end('v1', [{id: 'lost', recipients: ['nobody']}]);
      client.send('run_ended', {outcome: i % 2 ? 'success' : 'failure', metrics: {cost: 0.01 * i}});
      await client.waitFor('ack');
      client.close();
    }
    const watched = await open(daemon.url(runPath('run-1')));
    const {page} = watched;
    await page.getByRole('button', {name: 'wrong', exact: true}).click();
    await page.locator('.card').getByText('judged wrong').waitFor();
    await page.reload(); // the judgement is stored
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
    await keepScreenshot(page, 'pilot');
    await place.getByRole('link').first().click();
    await dialog.waitFor({state: 'detached'});
    await page.getByRole('heading', {name: /^run-/}).waitFor();
    await page.locator('.card button[aria-expanded=true]').waitFor();
    await keepScreenshot(page, 'judged');
    watched.expectClean();
  });

  it('refuses a judgement without the right to operate', async () => {
    const operatorToken = 'r'.repeat(64);
    const readerToken = 'o'.repeat(64);
    const daemon = await started(
      Digd.guarded({
        operator: [operatorToken, ['ingest', 'watch', 'read', 'operate']],
        readerToken: [readerToken, ['watch', 'read']],
      }),
    );
    const client = await daemon.client('guarded', {agents: ['a'], mode: 'shadow'}, operatorToken);
    client.start('v1', 'a', []);
    client.end('v1', [{id: 'lost', recipients: ['nobody']}]);
    const watched = await open(daemon.url(runPath('guarded')));
    const {page} = watched;
    await page.getByLabel('Token').fill(readerToken);
    await page.getByRole('button', {name: 'Open'}).click();
    await page.locator('.card').getByRole('button').first().click();
    await page.getByRole('button', {name: 'right', exact: true}).click();
    await page.getByText(/has no right to operate/).waitFor();
    expect(await page.locator('.card').getByText('judged').count()).toBe(0);
    client.close();
    watched.expectClean(/401|403|WebSocket/);
  });
});

describe('the position in time', () => {
  it('can be held, stepped back and forward, and released', async () => {
    const daemon = await started();
    daemon.send(join(TRACES, 'demo.jsonl'));
    const watched = await open(daemon.url(runPath('demo')));
    const {page} = watched;
    const count = page.locator('.detections .count');
    await page.getByText('35 of 35').waitFor();
    expect(await count.innerText()).toBe('9');
    const card = page.locator('.card[data-rule="deadlock"]');
    await card.getByRole('button').first().click();
    await card.getByRole('button', {name: 'Show the run at that moment'}).click();
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
    await page.getByRole('button', {name: 'End'}).click();
    await page.getByText('35 of 35').waitFor();
    expect(await count.innerText()).toBe('9');
    watched.expectClean();
  });

  it('is controlled by keys, except where a focused element has its own use for the key', async () => {
    const daemon = await started();
    daemon.send(join(TRACES, 'demo.jsonl'));
    const watched = await open(daemon.url(runPath('demo')));
    const {page} = watched;
    await page.getByText('35 of 35').waitFor();
    const legend = page.locator('details', {hasText: 'Legend'});
    const isOpen = (): Promise<boolean> => legend.evaluate((details) => (details as HTMLDetailsElement).open);
    const wasOpen = await isOpen();
    await legend.locator('summary').focus();
    await page.keyboard.press(' ');
    expect(await isOpen()).toBe(!wasOpen);
    await page.getByRole('button', {name: 'Pause'}).waitFor(); // still live
    await legend.locator('summary').blur();
    await page.keyboard.press('Home');
    await page.keyboard.press(' ');
    await page.getByRole('button', {name: 'Pause'}).waitFor();
    await page.keyboard.press('l');
    await page.keyboard.press(' '); // holds the newest position
    await page.evaluate(() => new Promise((next) => setTimeout(next, 600))); // three steps of the playback
    expect(await page.getByRole('button', {name: 'Play'}).count()).toBe(1);
    watched.expectClean();
  });
});

describe('the operator', () => {
  it('switches all runs after a confirmation', async () => {
    const daemon = await started();
    const watched = await open(daemon.url());
    const {page} = watched;
    const now = async (): Promise<string> =>
      ((await (await fetch(daemon.url('/v1/mode'))).json()) as {mode: string}).mode;
    await page.getByRole('radio', {name: 'observe'}).click();
    await page.getByRole('button', {name: 'Leave it at enforce'}).click();
    expect(await now()).toBe('enforce');
    await page.getByRole('radio', {name: 'observe'}).click();
    await page.getByRole('button', {name: 'Switch to observe'}).click();
    await page.locator('[role=radio].observe[aria-checked=true]').waitFor();
    expect(await now()).toBe('observe');
    watched.expectClean();
  });

  it('sees the health of the daemon', async () => {
    const daemon = await started();
    daemon.send(join(TRACES, 'demo.jsonl'));
    const watched = await open(daemon.url());
    await watched.page.getByRole('button', {name: /Health/}).click();
    await watched.page.getByText('Ready: digd accepts runs').waitFor();
    await watched.page.getByRole('img', {name: /Histogram of verdict latency: 50% within/}).waitFor();
    expect(await watched.page.getByRole('row', {name: /^messages/}).innerText()).toMatch(/35/);
    watched.expectClean();
  });

  it('sees that the daemon is away', async () => {
    const daemon = await started();
    const watched = await open(daemon.url());
    const {page} = watched;
    await page.locator('.health-button .well').waitFor();
    await page.getByRole('button', {name: /Health/}).click();
    await page.getByText('Ready: digd accepts runs').waitFor();
    await daemon.kill();
    await page.locator('.health-button .unwell').waitFor({state: 'attached'});
    await page.getByText('Ready: digd accepts runs').waitFor({state: 'detached'});
    await daemon.start();
    await page.locator('.health-button .well').waitFor({state: 'attached'});
    watched.expectClean(/ERR_CONNECTION|Failed to load/);
  });

  it('enters a token, which stays in the tab', async () => {
    const operatorToken = 'r'.repeat(64);
    const readerToken = 'o'.repeat(64);
    const daemon = await started(
      Digd.guarded({
        operator: [operatorToken, ['ingest', 'watch', 'read', 'operate']],
        readerToken: [readerToken, ['watch', 'read']],
      }),
    );
    const client = await daemon.client('guarded', {agents: ['a']}, operatorToken);
    client.event('e1', ['a']);
    const watched = await open(daemon.url(runPath('guarded')));
    const {page} = watched;
    await page.getByLabel('Token').fill('x'.repeat(64));
    await page.getByRole('button', {name: 'Open'}).click();
    await page.getByText('digd does not accept this token').waitFor();
    await page.getByLabel('Token').fill(readerToken);
    await page.getByRole('button', {name: 'Open'}).click();
    await page.getByText('1 event,').waitFor();
    const kept = await page.evaluate(() => [
      Object.values(sessionStorage),
      Object.values(localStorage),
      [document.cookie],
    ]);
    expect(kept).toEqual([[readerToken], [], ['']]);
    await page.getByRole('radio', {name: 'off'}).click();
    await page.getByRole('button', {name: 'Switch to off'}).click();
    await page.getByText(/has no right to operate/).waitFor();
    client.close();
    watched.expectClean(/401|403|WebSocket/);
  });
});

describe('text that agents choose', () => {
  it('is never interpreted as markup', async () => {
    const hostile = '<img src=x onerror="window.taken=1">';
    const names = [
      hostile,
      '"><script>window.taken=1</script>',
      'right\u202eto left',
      '__proto__',
      '${7*7}{{7*7}}',
      'x'.repeat(250),
    ];
    const daemon = await started();
    const client = await daemon.client(hostile, {agents: names, labels: {[hostile]: hostile}});
    names.forEach((name, i) => {
      client.start(`v${name}`, name, []);
      client.end(`v${name}`, [
        {id: `e${name}`.slice(0, 256), recipients: [i === 0 ? 'javascript:alert(1)' : names[0]!], kind: hostile},
      ]);
    });
    const watched = await open(daemon.url());
    const {page} = watched;
    await page.locator('.runs a').first().click();
    await page.getByText('6 events, 6 activations').waitFor();
    expect(await page.locator('h1').innerText()).toBe(hostile);
    await page.locator('.card button').first().click();
    await page.getByText('Agents', {exact: true}).click();
    expect(await page.locator('.agents .menu').innerText()).toContain('right\\u202eto left');
    await page.getByLabel('Find in the run').fill('img src');
    await page.getByLabel('Next match').click();
    expect(await page.locator('img, script:not([src]), iframe').count()).toBe(0);
    expect(await page.evaluate(() => (window as unknown as {taken?: number}).taken)).toBeUndefined();
    client.close();
    watched.expectClean();
  });
});

describe('a phone', () => {
  it('shows everything in one column within the width of the screen', async () => {
    const daemon = await started();
    daemon.send(join(TRACES, 'demo.jsonl'));
    const watched = await open(daemon.url(runPath('demo')), {
      viewport: {width: 390, height: 844},
      hasTouch: true,
      isMobile: true,
    });
    const {page} = watched;
    await page.getByText('15 events, 15 activations').waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await page.locator('.card[data-rule="deadlock"] button').first().tap();
    await page.getByText('Sent to coder, planner, tester, writer').waitFor();
    watched.expectClean();
  });
});
