// A session of a coding agent on the page, from recorded hook calls (tests/hooks/documentation_test.py). The picture is
// that of docs/coding-agents.md; DIGD_WRITE_PICTURES=1 writes it there.
import {readFileSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, it} from 'vitest';
import {keepScreenshot, open, useBrowser} from './browser';
import {Digd, root, runPath} from './digd';

const PICTURE = join(root, 'docs/images/coding-agents.png');
const MAX_PICTURE_BYTES = 200_000;

let daemon: Digd;

useBrowser();
beforeAll(async () => {
  daemon = await new Digd().start();
});
afterAll(() => daemon.stop());

async function play(file: string): Promise<string> {
  let run = '';
  for (const line of readFileSync(join(root, 'tests/hooks/recorded', file), 'utf8')
    .trim()
    .split('\n')) {
    const call = JSON.parse(line) as {session_id: string; prompt_id?: string};
    run ||= `${call.session_id}/${call.prompt_id}`;
    const answer = await fetch(daemon.url('/v1/hooks/claude-code'), {
      method: 'POST',
      headers: {'content-type': 'application/json'},
      body: line,
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({});
  }
  return run;
}

it('A session shows its subagents, and that one came back empty', async () => {
  const run = await play('documentation.jsonl');
  const watched = await open(daemon.url(runPath(run)), {viewport: {width: 1500, height: 760}});
  const {page} = watched;
  await page.getByText('ended: success').waitFor();
  for (const name of ['main', 'scout', 'fix', 'review', 'tests']) {
    expect(await page.getByText(name, {exact: true}).count(), name).toBeGreaterThan(0);
  }
  await page.getByText('early termination', {exact: true}).locator('visible=true').first().waitFor();
  await keepScreenshot(page, 'coding-session');
  if (process.env.DIGD_WRITE_PICTURES) await page.screenshot({path: PICTURE});
  expect(statSync(PICTURE).size).toBeLessThan(MAX_PICTURE_BYTES);
  watched.expectClean();
});
