// The run on display: its model, fed by its feed. It calls `changed` at most every MIN_DRAW_GAP_MS, and rarely enough
// that drawing takes at most a quarter of the time.
import {RunModel} from './model/run_model';
import {ApiError, getRun, type RunDetails} from './net/api';
import {Feed, type FeedState} from './net/feed';

const MIN_DRAW_GAP_MS = 80;
const MAX_DRAW_GAP_MS = 2_000;
// More frames than this between two drawings: the page is reading the run's past, so it draws once a second only.
const CATCH_UP_FRAMES = 2_000;
const CATCH_UP_GAP_MS = 1_000;

export class RunSession {
  details: RunDetails | null = null;
  model = new RunModel();
  feedState: FeedState = 'connecting';
  feedError = '';
  version = 0; // increases with every change
  endedBefore = false; // the run had ended before the page opened it
  private readMessages = 0;
  private feed: Feed | null = null;
  private stopped = false;
  private drawTimer = 0;
  private framesSinceDraw = 0;
  private drawGapMs = MIN_DRAW_GAP_MS;

  constructor(
    readonly run: string,
    private readonly changed: () => void,
    private readonly failed: (error: unknown) => void,
  ) {
    void this.refresh();
  }

  // Reads the run's details, and opens its feed the first time. A missing run is not an error: it may appear later. A
  // run that was deleted may come back as another one of the same id, so its model is forgotten.
  async refresh(): Promise<void> {
    try {
      const details = await getRun(this.run);
      if (this.stopped) return;
      if (!this.details) {
        this.endedBefore = details.state === 'ended';
        this.open(details);
      }
      this.details = details;
    } catch (error) {
      if (this.stopped) return;
      if (!(error instanceof ApiError) || error.status !== 404) return this.failed(error);
      this.forget();
    }
    this.scheduleDraw();
  }

  // Messages of the run: read, and stored when the page last asked.
  get progress(): {read: number; total: number} {
    return {read: this.readMessages, total: this.details?.counts.messages ?? 0};
  }

  get isRead(): boolean {
    return this.details !== null && this.readMessages >= this.details.counts.messages;
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.drawTimer);
    this.feed?.close();
  }

  private forget(): void {
    const feed = this.feed;
    this.feed = null;
    feed?.close();
    this.details = null;
    this.model = new RunModel();
    this.readMessages = 0;
    this.feedState = 'missing'; // after the feed has reported that it is closed
  }

  private open(details: RunDetails): void {
    this.model = new RunModel(details.settings ?? {});
    this.feed = new Feed(this.run, {
      frame: (frame) => {
        this.model.apply(frame);
        if (frame.message) this.readMessages += 1;
        this.framesSinceDraw += 1;
        this.scheduleDraw();
      },
      state: (state, feedError) => {
        this.feedState = state;
        this.feedError = feedError;
        this.scheduleDraw();
      },
      resumed: () => this.model.resume(),
    });
  }

  private scheduleDraw(): void {
    this.version += 1;
    if (this.drawTimer !== 0) return;
    this.drawTimer = window.setTimeout(() => {
      this.drawTimer = 0;
      if (!this.stopped) this.draw();
    }, this.drawGapMs);
  }

  private draw(): void {
    const startedMs = performance.now();
    const catchingUp = this.framesSinceDraw > CATCH_UP_FRAMES;
    this.framesSinceDraw = 0;
    this.changed();
    // Effects run after the frame that shows the change, so measure the cost of drawing only then.
    requestAnimationFrame(() =>
      setTimeout(() => {
        this.drawGapMs = Math.min(
          MAX_DRAW_GAP_MS,
          Math.max(catchingUp ? CATCH_UP_GAP_MS : MIN_DRAW_GAP_MS, (performance.now() - startedMs) * 3),
        );
      }),
    );
  }
}
