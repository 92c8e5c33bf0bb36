#!/usr/bin/env python3
"""Scripted agents that make each of the seven mistakes once, hear what the monitor says, and act on it.

They talk to `digctl replay -` line by line, as they would to a daemon, and write down what they said: the trace
that `scripts/run` plays. No language model is involved; the agents follow a script, and the script stops with an
error if the monitor does not answer as the story needs it.

    scripts/demo/agents.py build/release/bin/digctl > tests/traces/demo.jsonl
"""

import json
import subprocess
import sys

SETTINGS = {
    "agents": ["planner", "coder", "tester", "writer"],
    "clock": "trace",
    "rules": {
        "deadlock": {"window_ms": 4000},
        "missing_termination": {"window_ms": 4000},
        "orphaned_event": {"window_ms": 3000},
    },
    "labels": {"task": "release 2.1", "agents": "scripted"},
}


class Monitor:
    """One session with the monitor; remembers every line said."""

    def __init__(self, digctl: str) -> None:
        command = [digctl, "replay", "-", "--format", "jsonl", "--output", "messages"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.said: list[str] = []
        self.seq = 0
        self.now = 0
        self.interventions: list[dict] = []
        self._send({"type": "hello", "protocol": 1, "run": "demo", "session": "main", **SETTINGS})

    def _send(self, message: dict) -> None:
        line = json.dumps(message, ensure_ascii=False)
        self.said.append(line)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def say(self, kind: str, after_ms: int = 400, **fields: object) -> int:
        self.seq += 1
        self.now += after_ms
        self._send({"type": kind, "seq": self.seq, "ts": self.now, **fields})
        return self.seq

    def ask(self, kind: str, after_ms: int = 400, **fields: object) -> dict[str, dict]:
        """Says something that is held; returns the verdicts by event."""
        seq = self.say(kind, after_ms, **fields)
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer["type"] == "intervention":
                self.interventions.append(answer)
            elif answer["type"] == "verdicts" and answer["seq"] == seq:
                return {verdict["event"]: verdict for verdict in answer["verdicts"]}
            else:
                raise SystemExit(f"the monitor answered {line}to {self.said[-1]}")
        raise SystemExit("the monitor went away")


class Agent:
    """Acts when told to; its activations are numbered."""

    def __init__(self, monitor: Monitor, name: str) -> None:
        self.monitor = monitor
        self.name = name
        self.turns = 0

    def act(self, inputs: list[str], outputs: list[dict] = (), reactions: dict | None = None,
            took_ms: int = 800) -> dict[str, dict]:
        self.turns += 1
        activation = f"{self.name}-{self.turns}"
        self.monitor.say("activation_started", activation=activation, agent=self.name, inputs=inputs)
        fields = {"activation": activation, "reactions": reactions or {}, "outputs": list(outputs)}
        held = outputs or any(isinstance(r, dict) for r in fields["reactions"].values())
        if held:
            return self.monitor.ask("activation_ended", took_ms, **fields)
        self.monitor.say("activation_ended", took_ms, **fields)
        return {}


def event(name: str, to: list[str], text: str, **more: object) -> dict:
    return {"id": name, "recipients": to, "payload": {"text": text}, **more}


def expect(verdict: dict, rule: str, action: str) -> None:
    """The story depends on it: `rule` was seen and healed by `action`."""
    seen = [(d["rule"], d["healed"]) for d in verdict.get("detections", [])]
    if verdict["action"] != action or (rule, True) not in seen:
        raise SystemExit(f"expected {rule} to be healed by {action}, got {verdict}")


def play(m: Monitor) -> None:
    planner, coder, tester, writer = (Agent(m, name) for name in ("planner", "coder", "tester", "writer"))
    m.ask("event", event=event("task", ["planner"], "Fix the crash, test it, write the release note."))

    # An event that reaches nobody: the planner addresses somebody who is not there.
    said = planner.act(["task"], [
        event("fix", ["coder"], "Find and fix the crash."),
        event("checks", ["tester", "coder"], "Write regression checks."),
        event("note", ["documenter"], "Write the release note."),
    ])
    expect(said["note"], "orphaned_event", "reroute")
    planner.act(["note"], reactions={"note": {"reroute": ["writer"]}})

    # Work passed round: coder to tester to coder, until the monitor says that it has to stop.
    coder.act(["fix"], reactions={"fix": {"reroute": ["tester"]}})
    tester.act(["fix"], reactions={"fix": {"reroute": ["coder"]}})
    said = coder.act(["fix"], reactions={"fix": {"reroute": ["tester"]}})
    expect(said["fix"], "excessive_rerouting", "inject")
    tester.act(["fix"], [event("patch", ["planner"], "Guard the null session.")])

    # The same sub-problem solved twice: the planner is told, and compares the two.
    tester.act(["checks"], [event("checks-by-tester", ["planner"], "Twelve checks.")])
    said = coder.act(["checks"], [event("checks-by-coder", ["planner"], "Nine checks.")])
    expect(said["checks-by-coder"], "repeated_subproblem", "inject")

    # Halves of different decompositions: the writer splits another request and sends a part to the planner, who
    # still holds parts of its own plan. Warned, the planner answers them apart.
    m.ask("event", event=event("wish", ["writer"], "Mention the new theme as well."))
    said = writer.act(["wish"], [
        event("theme-text", ["planner"], "A paragraph on the theme."),
        event("theme-picture", ["writer"], "A picture of the theme."),
    ])
    expect(said["theme-text"], "cross_lineage_aggregation", "inject")
    planner.act(["theme-text"])
    planner.act(["patch", "checks-by-tester", "checks-by-coder"], [event("fixed", ["writer"], "The crash is fixed and checked.")])

    # Everybody waits: the writer for a review, and nobody reviews.
    writer.act(["note", "fixed", "theme-picture"],
               reactions={"note": "wait", "fixed": "wait", "theme-picture": "wait"})
    m.say("time", 4500)
    # Told so, the writer goes on, and submits too early: the picture still waits.
    said = writer.act(["note", "fixed", "sys:1"],
                      [event("answer", [], "Release note 2.1", submit=True)])
    if [i["id"] for i in m.interventions] != ["sys:1"]:
        raise SystemExit(f"expected a deadlock to be healed by sys:1, got {m.interventions}")
    expect(said["answer"], "early_termination", "reroute")

    # The picture is made, all work is done, and now nobody submits, until the monitor asks for it.
    writer.act(["theme-picture", "answer"])
    m.say("time", 4500)
    said = writer.act(["sys:2"], [event("final", [], "Release note 2.1 with picture", submit=True)])
    if said["final"]["action"] != "deliver" or m.interventions[-1]["id"] != "sys:2":
        raise SystemExit(f"expected the answer to be let through after sys:2, got {said}, {m.interventions}")
    m.say("run_ended", outcome="success", metrics={"mistakes": 7})


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    monitor = Monitor(sys.argv[1])
    play(monitor)
    print("\n".join(monitor.said))


if __name__ == "__main__":
    main()
