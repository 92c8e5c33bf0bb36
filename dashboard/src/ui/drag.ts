// Pointer input on the graph: one pointer pans, two zoom, the wheel zooms, a press without movement selects.
import type {RefObject} from 'preact';
import {useEffect, useRef} from 'preact/hooks';

export interface DragTarget {
  move(dx: number, dy: number): void;
  zoom(px: number, factor: number): void;
  hover(px: number | null, py: number): void;
  press(px: number, py: number): void;
}

const STILL_PIXELS = 5;

interface Point {
  x: number;
  y: number;
}

export function useDrag(host: RefObject<HTMLElement>, target: DragTarget): void {
  const now = useRef(target);
  now.current = target;
  useEffect(() => {
    const element = host.current!;
    const down = new Map<number, Point>();
    let travelled = 0;
    const place = (e: MouseEvent): Point => {
      const box = element.getBoundingClientRect();
      return {x: e.clientX - box.left, y: e.clientY - box.top};
    };
    const spread = (): number => {
      const [a, b] = [...down.values()];
      return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
    };
    const onDown = (e: PointerEvent): void => {
      element.setPointerCapture(e.pointerId);
      down.set(e.pointerId, place(e));
      if (down.size === 1) travelled = 0;
    };
    const onMove = (e: PointerEvent): void => {
      const to = place(e);
      const from = down.get(e.pointerId);
      if (!from) return now.current.hover(to.x, to.y);
      const before = spread();
      down.set(e.pointerId, to);
      travelled += Math.hypot(to.x - from.x, to.y - from.y);
      if (down.size === 1 && travelled > STILL_PIXELS) now.current.move(to.x - from.x, to.y - from.y);
      if (down.size === 2 && before > 0 && spread() > 0) now.current.zoom((from.x + to.x) / 2, before / spread());
    };
    const onUp = (e: PointerEvent): void => {
      const at = place(e);
      if (down.delete(e.pointerId) && down.size === 0 && travelled <= STILL_PIXELS) now.current.press(at.x, at.y);
    };
    const onWheel = (e: WheelEvent): void => {
      e.preventDefault();
      if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) now.current.move(-(e.deltaX || e.deltaY), 0);
      else now.current.zoom(place(e).x, Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))));
    };
    const onLeave = (): void => now.current.hover(null, 0);
    const onCancel = (e: PointerEvent): void => void down.delete(e.pointerId);
    const on = {
      pointerdown: onDown,
      pointermove: onMove,
      pointerup: onUp,
      pointercancel: onCancel,
      pointerleave: onLeave,
    };
    for (const [name, f] of Object.entries(on)) element.addEventListener(name, f as EventListener);
    element.addEventListener('wheel', onWheel, {passive: false, capture: true});
    return () => {
      for (const [name, f] of Object.entries(on)) element.removeEventListener(name, f as EventListener);
      element.removeEventListener('wheel', onWheel, {capture: true});
    };
  }, []);
}
