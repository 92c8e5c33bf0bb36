#!/usr/bin/env python3
"""Traces of a simulated team that counts numbers in an array, with a planted cause of failure.

A planner splits the array. Workers count their part, wait, pass it on or drop it. The planner adds up the counts. Each
run has habits: how often workers wait, pass on or drop. The planted habit makes runs fail, in proportion to its share.
The other habits, the number of workers, their speed and the model have no effect.

    team.py OUT [--runs 300] [--seed 1] [--cause waits|reroutes|discards|none] [--shift X]

Writes OUT/NNNN.jsonl. `--shift` is added to the planted habit of every run: the same seed with another shift gives the
same tasks for an experiment. The same arguments give the same bytes.
"""

import argparse
import json
import random
from pathlib import Path

HABITS = ("waits", "reroutes", "discards")


class Run:
    def __init__(self, number, seed, cause, shift):
        self.number, self.seed, self.cause = number, seed, cause
        self.chance = random.Random(seed * 100_003 + number)
        self.habit = {habit: 0.4 * self.chance.random() for habit in HABITS}
        if cause != "none":
            self.habit[cause] = min(0.9, max(0.0, 1.5 * self.habit[cause] + shift))
        self.workers = [f"worker-{i}" for i in range(self.chance.randint(3, 6))]
        self.pace = 50 + self.chance.randrange(400)
        self.lines, self.seq, self.now, self.activations = [], 0, 0, 0
        self.done = dict.fromkeys(("takes", *HABITS), 0)

    def say(self, kind, **fields):
        self.seq += 1
        self.now += 1 + self.chance.randrange(self.pace)
        self.lines.append({"type": kind, "seq": self.seq, "ts": self.now, **fields})

    def act(self, agent, inputs, reactions=None, outputs=()):
        self.activations += 1
        name = f"v{self.activations}"
        self.say("activation_started", activation=name, agent=agent, inputs=inputs)
        self.say("activation_ended", activation=name, reactions=reactions or {}, outputs=list(outputs))

    def choose(self):
        left = self.chance.random()
        for habit in HABITS:
            left -= self.habit[habit] * 0.7
            if left < 0:
                return habit
        return "takes"

    def work(self, parts):
        """Works on each part until it is counted or dropped; returns the ids of the counts."""
        counts, pending = [], [(part, self.chance.choice(self.workers), 0) for part in parts]
        for part, worker, _ in pending:
            self.say("event", event={"id": part, "recipients": [worker]})
        while pending:
            part, worker, tried = pending.pop(self.chance.randrange(len(pending)))
            habit = self.choose() if tried < 4 else "takes"
            self.done[habit] += 1
            if habit == "waits":
                self.act(worker, [part], {part: "wait"})
                pending.append((part, worker, tried + 1))
            elif habit == "reroutes":
                other = self.chance.choice([w for w in self.workers if w != worker])
                self.act(worker, [part], {part: {"reroute": [other]}})
                pending.append((part, other, tried + 1))
            elif habit == "discards":
                self.act(worker, [part], {part: "discard"})
            else:
                counts.append(f"count-of-{part}")
                self.act(worker, [part], {part: "consume"}, [{"id": counts[-1], "recipients": ["planner"]}])
        return counts

    def fails(self):
        share = self.done.get(self.cause, 0) / sum(self.done.values())
        return self.chance.random() > 0.95 - 1.6 * share if self.cause != "none" else self.chance.random() < 0.4

    def trace(self):
        labels = {
            "task": f"array-{self.number}",
            "seed": str(self.seed),
            "model": self.chance.choice(["small", "large"]),
        }
        hello = {
            "type": "hello",
            "protocol": 1,
            "run": f"count-{self.seed}-{self.number}",
            "session": "main",
            "agents": ["planner", *self.workers],
            "clock": "trace",
            "labels": labels,
        }
        self.say("event", event={"id": "array", "recipients": ["planner"], "kind": "problem"})
        self.act("planner", ["array"])
        counts = self.work([f"part-{i}" for i in range(self.chance.randint(6, 12))])
        self.act("planner", counts, {}, [{"id": "answer", "recipients": [], "submit": True}])
        self.say(
            "run_ended",
            outcome="failure" if self.fails() else "success",
            metrics={"cost": round(0.01 * self.activations + 0.02 * self.chance.random(), 4)},
        )
        return "".join(json.dumps(line) + "\n" for line in [hello, *self.lines])


def write(out, runs, seed, cause, shift=0.0):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for number in range(runs):
        (out / f"{number:04}.jsonl").write_text(Run(number, seed, cause, shift).trace())
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cause", choices=[*HABITS, "none"], default="waits")
    parser.add_argument("--shift", type=float, default=0.0)
    arguments = parser.parse_args()
    write(arguments.out, arguments.runs, arguments.seed, arguments.cause, arguments.shift)


if __name__ == "__main__":
    main()
