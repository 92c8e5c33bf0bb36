// The run that is being watched: its model, fed from its feed. Whoever draws it is told of changes, at most every 80 ms, and
// so that drawing takes no more than a quarter of the time.
import {RunModel} from './model/run_model';
import {ApiError, getRun, type RunDetails} from './net/api';
import {Feed, type FeedState} from './net/feed';

const LEAST_GAP_MS = 80;
const MOST_GAP_MS = 2_000;
const MANY_FRAMES = 2_000;  // between two drawings: the page is reading what has been, and draws once a second until it is there
const READING_GAP_MS = 1_000;

export class RunSession {
  details: RunDetails | null = null;
  model = new RunModel();
  feedState: FeedState = 'connecting';
  why = '';
  version = 0;  // grows with every change
  private feed: Feed | null = null;
  private stopped = false;
  private timer = 0;
  private frames = 0;  // since the last drawing
  private gap = LEAST_GAP_MS;

  constructor(readonly run: string, private readonly changed: () => void, private readonly failed: (error: unknown) => void) {
    void this.refresh();
  }

  // Asks for the run's state; the first time that there is such a run, its feed is opened. A run that is not there may come.
  async refresh(): Promise<void> {
    try {
      const details = await getRun(this.run);
      if (this.stopped) return;
      if (!this.details) this.open(details);
      this.details = details;
    } catch (error) {
      if (this.stopped) return;
      if (!(error instanceof ApiError) || error.status !== 404) return this.failed(error);
      this.feedState = 'missing';
    }
    this.touch();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.feed?.close();
  }

  private open(details: RunDetails): void {
    this.model = new RunModel(details.settings ?? {});
    this.feed = new Feed(this.run, {
      frame: (frame) => {
        this.model.apply(frame);
        this.frames += 1;
        this.touch();
      },
      state: (state, why) => {
        this.feedState = state;
        this.why = why;
        this.touch();
      },
      resumed: () => this.model.resume(),
    });
  }

  private touch(): void {
    this.version += 1;
    if (this.timer !== 0) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (!this.stopped) this.draw();
    }, this.gap);
  }

  private draw(): void {
    const began = performance.now();
    const reading = this.frames > MANY_FRAMES;
    this.frames = 0;
    this.changed();
    // Effects run after the frame that shows the change: only then it is known what it took.
    requestAnimationFrame(() => setTimeout(() => {
      this.gap = Math.min(MOST_GAP_MS, Math.max(reading ? READING_GAP_MS : LEAST_GAP_MS, (performance.now() - began) * 3));
    }));
  }
}
