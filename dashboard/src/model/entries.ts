// The entries of a run in order: what a position stands for. Positions stay what they are when the oldest entries go.

export interface Entry {
  seq: number;
  ts: number;
  column: number;  // of the last node up to here
  note: string;    // in words
}

export class Entries {
  private all: Entry[] = [];
  private base = 0;  // position of the first that is kept

  get count(): number { return this.base + this.all.length; }
  get first(): number { return this.base; }
  get last(): number { return this.count - 1; }

  push(entry: Entry): void { this.all.push(entry); }

  // Beyond the ends: the nearest. Undefined only while there is none.
  get(at: number): Entry | undefined {
    return this.all[Math.min(Math.max(at - this.base, 0), this.all.length - 1)];
  }

  // The last position at or before `ts`; the first if all are later.
  atTime(ts: number): number { return this.lastWhere((entry) => entry.ts <= ts); }
  atColumn(column: number): number { return this.lastWhere((entry) => entry.column <= column); }

  private lastWhere(holds: (entry: Entry) => boolean): number {
    let low = 0;
    let high = this.all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(this.all[middle]!)) low = middle + 1;
      else high = middle;
    }
    return this.base + Math.max(0, low - 1);
  }

  forgetBefore(at: number): void {
    const n = Math.min(Math.max(at - this.base, 0), this.all.length);
    this.all = this.all.slice(n);
    this.base += n;
  }
}
