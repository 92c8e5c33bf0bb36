// Chromium, and what of a page is watched in every test: that nothing leaves the host, nothing fails, nothing runs that should not.
import {chromium, type Browser, type BrowserContextOptions, type Page} from 'playwright-core';
import {expect} from 'vitest';
import {WITHIN} from './digd';

export const launch = (): Promise<Browser> => chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--enable-unsafe-swiftshader'],  // WebGL without hardware
});

export class Watched {
  readonly problems: string[] = [];
  constructor(readonly page: Page) {}

  // The refusals that a test provokes are named; whatever else was said is a failure.
  expectClean(...but: RegExp[]): void {
    expect(this.problems.filter((one) => !but.some((known) => known.test(one)))).toEqual([]);
  }
}

export async function open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({viewport: {width: 1440, height: 900}, ...options});
  const page = await context.newPage();
  page.setDefaultTimeout(WITHIN);
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

// How many pixels of the graph are of this colour, more or less. Decoded in a page of its own: that of digd may load no data: image.
export async function pixelsOf(page: Page, color: string): Promise<number> {
  const shot = await page.locator('.stage').screenshot();
  const other = await page.context().newPage();
  try {
    return await other.evaluate(async ([data, wanted]) => {
      const bytes = Uint8Array.from(atob(data!), (c) => c.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
      const canvas = new OffscreenCanvas(image.width, image.height);
      const context = canvas.getContext('2d')!;
      context.drawImage(image, 0, 0);
      const {data: pixels} = context.getImageData(0, 0, image.width, image.height);
      const n = parseInt(wanted!.slice(1), 16);
      let count = 0;
      for (let i = 0; i < pixels.length; i += 4) {
        const far = Math.abs(pixels[i]! - (n >> 16)) + Math.abs(pixels[i + 1]! - ((n >> 8) & 255)) + Math.abs(pixels[i + 2]! - (n & 255));
        if (far < 12) count += 1;
      }
      return count;
    }, [shot.toString('base64'), color]);
  } finally {
    await other.close();
  }
}

export const colour = (page: Page, name: string): Promise<string> =>
  page.evaluate((property) => getComputedStyle(document.documentElement).getPropertyValue(property).trim(), name);
