// Chromium, and the checks of every page test: no request leaves the host, nothing fails, no foreign script runs.
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {chromium, type Browser, type BrowserContextOptions, type Page} from 'playwright-core';
import {afterAll, afterEach, beforeAll, expect} from 'vitest';
import {TIMEOUT_MS, root} from './digd';

// CI keeps this folder.
const SCREENSHOTS = process.env.DIGD_SCREENSHOTS ?? join(root, 'build/screenshots');

const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--enable-unsafe-swiftshader'], // WebGL without hardware
  });

let browser: Browser; // of the test file

// Call it at the top of a test file: the file gets a browser. After each test its pages are closed, then `after` runs.
export function useBrowser(after: () => Promise<unknown> = () => Promise.resolve()): void {
  beforeAll(async () => {
    browser = await launch();
  });
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    await after();
  });
  afterAll(() => browser.close());
}

export async function keepScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, {recursive: true});
  await page.screenshot({path: join(SCREENSHOTS, `${name}.png`)});
}

export class Watched {
  readonly problems: string[] = [];
  constructor(readonly page: Page) {}

  // Fails on every recorded problem except those that the test provokes.
  expectClean(...expected: RegExp[]): void {
    expect(this.problems.filter((problem) => !expected.some((pattern) => pattern.test(problem)))).toEqual([]);
  }
}

export async function open(url: string, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({viewport: {width: 1440, height: 900}, ...options});
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const watched = new Watched(page);
  const {host} = new URL(url);
  page.on('pageerror', (error) => watched.problems.push(`error ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') watched.problems.push(`console ${message.text()}`);
  });
  page.on('dialog', (dialog) => {
    watched.problems.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (new URL(request.url()).host !== host) watched.problems.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  return watched;
}

// The number of pixels of the graph with about this colour. Decoded in a separate page, because digd's page may not
// load data: images.
export async function pixelsOf(page: Page, color: string): Promise<number> {
  const screenshot = await page.locator('.stage').screenshot();
  const decoder = await page.context().newPage();
  try {
    return await decoder.evaluate(
      async ([data, wanted]) => {
        const bytes = Uint8Array.from(atob(data!), (c) => c.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
        const canvas = new OffscreenCanvas(image.width, image.height);
        const context = canvas.getContext('2d')!;
        context.drawImage(image, 0, 0);
        const {data: pixels} = context.getImageData(0, 0, image.width, image.height);
        const n = parseInt(wanted!.slice(1), 16);
        let count = 0;
        for (let i = 0; i < pixels.length; i += 4) {
          const distance =
            Math.abs(pixels[i]! - (n >> 16)) +
            Math.abs(pixels[i + 1]! - ((n >> 8) & 255)) +
            Math.abs(pixels[i + 2]! - (n & 255));
          if (distance < 12) count += 1;
        }
        return count;
      },
      [screenshot.toString('base64'), color],
    );
  } finally {
    await decoder.close();
  }
}

export const colour = (page: Page, name: string): Promise<string> =>
  page.evaluate((property) => getComputedStyle(document.documentElement).getPropertyValue(property).trim(), name);
