// The run that is being watched: its model, fed from its feed. Whoever draws it is told of changes, at most every 80 ms and no
// more often than a quarter of the time would go into drawing.
import {RunModel} from './model/run_model';
import {getRun, type RunDetails} from './net/api';
import {Feed, type FeedState} from './net/feed';

const LEAST_GAP_MS = 80;

export class RunSession {
  details: RunDetails | null = null;
  model = new RunModel();
  feedState: FeedState = 'connecting';
  why = '';
  version = 0;  // grows with every change
  private feed: Feed | null = null;
  private stopped = false;
  private timer = 0;
  private gap = LEAST_GAP_MS;

  constructor(readonly run: string, private readonly changed: () => void, private readonly failed: (error: unknown) => void) {
    void this.open();
  }

  // How long the last drawing took: the next one waits at least three times as long.
  drew(ms: number): void { this.gap = Math.max(LEAST_GAP_MS, ms * 3); }

  async refresh(): Promise<void> {
    try {
      const details = await getRun(this.run);
      if (this.stopped) return;
      this.details = details;
      this.touch();
    } catch (error) {
      if (!this.stopped) this.failed(error);
    }
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.feed?.close();
  }

  private async open(): Promise<void> {
    await this.refresh();
    if (this.stopped || !this.details) return;
    this.model = new RunModel(this.details.settings ?? {});
    this.feed = new Feed(this.run, {
      frame: (frame) => {
        this.model.apply(frame);
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
      if (!this.stopped) this.changed();
    }, this.gap);
  }
}
