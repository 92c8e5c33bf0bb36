// Checks of everything that the page shows at the moment: contrast of texts, overlaps.
import type {Page} from 'playwright-core';

// Each text with a contrast below 4.5 (WCAG 2.1, 1.4.3), as `selector "text" ratio`. Canvases are not texts to the
// browser: their colours are checked as pairs of custom properties.
export const lowContrasts = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const c = document.createElement('canvas').getContext('2d', {willReadFrequently: true})!;
    c.canvas.width = c.canvas.height = 1;
    type Rgba = [number, number, number, number];
    const parse = (color: string): Rgba => {
      c.clearRect(0, 0, 1, 1);
      c.fillStyle = color;
      c.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = c.getImageData(0, 0, 1, 1).data;
      return [r!, g!, b!, a! / 255];
    };
    const over = (top: Rgba, bottom: Rgba): Rgba => [
      ...([0, 1, 2].map((i) => top[i]! * top[3] + bottom[i]! * (1 - top[3])) as [number, number, number]),
      1,
    ];
    const luminance = (color: Rgba): number => {
      const linear = (v: number): number => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      const [r, g, b] = color.slice(0, 3).map((v) => linear(v / 255));
      return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
    };
    const ratio = (a: Rgba, b: Rgba): number => {
      const [x, y] = [luminance(a), luminance(b)];
      return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    };
    const ground = (element: Element | null): Rgba => {
      if (!element) return parse(getComputedStyle(document.documentElement).backgroundColor);
      const own = parse(getComputedStyle(element).backgroundColor);
      if (own[3] === 1) return own;
      // A dialog lies above the page, not above its parent; it has a ground of its own.
      return over(own, ground(element.parentElement));
    };
    const low: string[] = [];
    const check = (name: string, text: Rgba, behind: Rgba): void => {
      const found = ratio(over(text, behind), behind);
      if (found < 4.5) low.push(`${name} ${found.toFixed(2)}`);
    };
    for (const element of document.querySelectorAll<HTMLElement>('body *')) {
      const own = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent!.trim());
      const field = element instanceof HTMLInputElement && ['search', 'password'].includes(element.type);
      const text = field ? element.value || element.placeholder : own.join(' ').trim();
      if (text === '' || !element.checkVisibility({visibilityProperty: true})) continue;
      let opacity = 1;
      for (let e: HTMLElement | null = element; e; e = e.parentElement) opacity *= Number(getComputedStyle(e).opacity);
      const style = getComputedStyle(element, field && element.value === '' ? '::placeholder' : null);
      const color = parse(style.color);
      color[3] *= opacity;
      check(`${element.tagName}.${element.className} "${text.slice(0, 40)}"`, color, ground(element));
    }
    const root = getComputedStyle(document.documentElement);
    const property = (name: string): Rgba => parse(root.getPropertyValue(name).trim());
    // The marks, lane names, names of nodes and stamps in the canvases.
    for (const name of ['--healed', '--failure', '--warning', '--shadow-mode', '--quiet', '--text', '--open-text'])
      for (const behind of ['--panel', ...(name === '--healed' ? [] : ['--lane'])])
        check(`canvas ${name} on ${behind}`, property(name), property(behind));
    return low;
  });

// Pairs of visible texts and controls that cover each other, as `a / b`. What a scrolling parent hides does not count.
export const overlaps = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    interface Box {
      element: Element;
      left: number;
      right: number;
      top: number;
      bottom: number;
    }
    const boxes: Box[] = [];
    for (const element of document.querySelectorAll<HTMLElement>('body *')) {
      const isControl = element.matches('button, input, select, summary, progress, .stage, .timeline');
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent!.trim() !== '');
      if ((!isControl && !hasText) || !element.checkVisibility({visibilityProperty: true})) continue;
      const {left, right, top, bottom} = element.getBoundingClientRect();
      const box: Box = {element, left, right, top, bottom};
      for (let e = element.parentElement; e; e = e.parentElement) {
        const {overflowX, overflowY} = getComputedStyle(e);
        if (overflowX === 'visible' && overflowY === 'visible') continue;
        const clip = e.getBoundingClientRect();
        if (overflowX !== 'visible') {
          box.left = Math.max(box.left, clip.left);
          box.right = Math.min(box.right, clip.right);
        }
        if (overflowY !== 'visible') {
          box.top = Math.max(box.top, clip.top);
          box.bottom = Math.min(box.bottom, clip.bottom);
        }
      }
      if (box.right - box.left > 2 && box.bottom - box.top > 2) boxes.push(box);
    }
    const name = ({element}: Box): string =>
      `${element.tagName.toLowerCase()}.${element.className} "${(element.textContent ?? '').trim().slice(0, 30)}"`;
    const found: string[] = [];
    boxes.forEach((a, i) => {
      for (const b of boxes.slice(i + 1)) {
        if (a.element.contains(b.element) || b.element.contains(a.element)) continue;
        const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (width > 2 && height > 2) found.push(`${name(a)} / ${name(b)}`);
      }
    });
    return found;
  });
