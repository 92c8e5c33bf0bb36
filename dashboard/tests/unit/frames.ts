// Builds the frames of a feed and applies them to a model.
import type {Frame, WireDetection, WireEvent, WireReaction, WireVerdict} from '../../src/model/frames';
import type {RunModel} from '../../src/model/run_model';

export class Script {
  private seq = 0;
  private ts = 0;
  readonly frames: Frame[] = [];

  constructor(readonly model: RunModel) {}

  // Begins a new entry; `more` adds frames to it.
  message(message: Frame['message']): this {
    this.seq += 1;
    this.ts += 10;
    return this.more({type: 'message', message});
  }

  more(rest: Partial<Frame> & {type: string}): this {
    const frame: Frame = {seq: this.seq, run: 'r', ts: this.ts, ...rest};
    this.frames.push(frame);
    this.model.apply(frame);
    return this;
  }

  event(id: string, to: string[], rest: Partial<WireEvent> = {}): this {
    return this.message({type: 'event', event: {id, recipients: to, ...rest}});
  }
  start(activation: string, agent: string, inputs: string[]): this {
    return this.message({type: 'activation_started', activation, agent, inputs});
  }
  end(
    activation: string,
    outputs: WireEvent[] = [],
    reactions: Record<string, WireReaction> = {},
    failed = false,
  ): this {
    return this.message({type: 'activation_ended', activation, outputs, reactions, failed});
  }
  verdicts(...verdicts: WireVerdict[]): this {
    return this.more({type: 'verdicts', verdicts});
  }
  detection(rest: Partial<WireDetection> & {rule: string}): this {
    return this.more({
      type: 'detection',
      detection: {
        severity: 'failure',
        ts: this.ts,
        event: null,
        agent: null,
        evidence: [],
        healed: true,
        healing: 'inject',
        cause: null,
        reason: 'because',
        ...rest,
      },
    });
  }
}
