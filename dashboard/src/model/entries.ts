// The entries of a run in order. A position is the number of an entry; it stays valid when the oldest entries are
// dropped.

export interface Entry {
  seq: number;
  ts: number;
  column: number; // of the last node up to this entry
  note: string; // one sentence for people
}

export class Entries {
  private kept: Entry[] = [];
  private base = 0; // position of the first kept entry
  startTs = 0; // of the run's first entry, also when it is dropped

  get count(): number {
    return this.base + this.kept.length;
  }
  get first(): number {
    return this.base;
  }
  get last(): number {
    return this.count - 1;
  }

  push(entry: Entry): void {
    if (this.count === 0) this.startTs = entry.ts;
    this.kept.push(entry);
  }

  // Beyond either end it returns the nearest entry. Undefined only while there are no entries.
  get(at: number): Entry | undefined {
    return this.kept[Math.min(Math.max(at - this.base, 0), this.kept.length - 1)];
  }

  // The last position at or before `ts`, or the first if every entry is later.
  atTime(ts: number): number {
    return this.lastWhere((entry) => entry.ts <= ts);
  }
  atColumn(column: number): number {
    return this.lastWhere((entry) => entry.column <= column);
  }

  private lastWhere(holds: (entry: Entry) => boolean): number {
    let low = 0;
    let high = this.kept.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(this.kept[middle]!)) low = middle + 1;
      else high = middle;
    }
    return this.base + Math.max(0, low - 1);
  }

  forgetBefore(at: number): void {
    const n = Math.min(Math.max(at - this.base, 0), this.kept.length);
    this.kept = this.kept.slice(n);
    this.base += n;
  }
}
