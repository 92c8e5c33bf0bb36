#!/usr/bin/env python3
"""Scripted agents that make each of the seven mistakes once, read the monitor's answers, and act on them.

They send messages to `digctl replay -` line by line, as they would to a daemon, and print all of them: the trace that
`scripts/run` plays. No language model is involved: the agents follow a script. It stops with an error if the
monitor gives an answer that the script does not expect.

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
    """One session with the monitor; keeps every line that it sends."""

    def __init__(self, digctl: str) -> None:
        command = [digctl, "replay", "-", "--format", "jsonl", "--output", "messages"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.sent_lines: list[str] = []
        self.seq = 0
        self.now = 0
        self.interventions: list[dict] = []
        self._send({"type": "hello", "protocol": 1, "run": "demo", "session": "main", **SETTINGS})

    def _send(self, message: dict) -> None:
        line = json.dumps(message, ensure_ascii=False)
        self.sent_lines.append(line)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def say(self, kind: str, after_ms: int = 400, **fields: object) -> int:
        self.seq += 1
        self.now += after_ms
        self._send({"type": kind, "seq": self.seq, "ts": self.now, **fields})
        return self.seq

    def ask(self, kind: str, after_ms: int = 400, **fields: object) -> dict[str, dict]:
        """Sends a message with blocked events; returns the verdicts by event."""
        seq = self.say(kind, after_ms, **fields)
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer["type"] == "intervention":
                self.interventions.append(answer)
            elif answer["type"] == "verdicts" and answer["seq"] == seq:
                return {verdict["event"]: verdict for verdict in answer["verdicts"]}
            else:
                raise SystemExit(f"the monitor answered {line}to {self.sent_lines[-1]}")
        raise SystemExit("the monitor closed the connection")


class Agent:
    """Acts when the script calls it; numbers its activations."""

    def __init__(self, monitor: Monitor, name: str) -> None:
        self.monitor = monitor
        self.name = name
        self.turns = 0

    def act(
        self, inputs: list[str], outputs: list[dict] = (), reactions: dict | None = None, took_ms: int = 800
    ) -> dict[str, dict]:
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
    """Stops the script unless `rule` fired and was healed by `action`."""
    seen = [(d["rule"], d["healed"]) for d in verdict.get("detections", [])]
    if verdict["action"] != action or (rule, True) not in seen:
        raise SystemExit(f"expected {rule} to be healed by {action}, got {verdict}")


def play(monitor: Monitor) -> None:
    planner, coder, tester, writer = (Agent(monitor, name) for name in ("planner", "coder", "tester", "writer"))
    monitor.ask("event", event=event("task", ["planner"], "Fix the crash, test it, write the release note."))

    # Orphaned event: the planner addresses an agent that does not exist.
    verdicts = planner.act(
        ["task"],
        [
            event("fix", ["coder"], "Find and fix the crash."),
            event("checks", ["tester", "coder"], "Write regression checks."),
            event("note", ["documenter"], "Write the release note."),
        ],
    )
    expect(verdicts["note"], "orphaned_event", "reroute")
    planner.act(["note"], reactions={"note": {"reroute": ["writer"]}})

    # Excessive rerouting: coder to tester to coder, until the monitor asks them to stop.
    coder.act(["fix"], reactions={"fix": {"reroute": ["tester"]}})
    tester.act(["fix"], reactions={"fix": {"reroute": ["coder"]}})
    verdicts = coder.act(["fix"], reactions={"fix": {"reroute": ["tester"]}})
    expect(verdicts["fix"], "excessive_rerouting", "inject")
    tester.act(["fix"], [event("patch", ["planner"], "Guard the null session.")])

    # Repeated sub-problem: two agents solve the same one; the monitor informs the planner, which compares the answers.
    tester.act(["checks"], [event("checks-by-tester", ["planner"], "Twelve checks.")])
    verdicts = coder.act(["checks"], [event("checks-by-coder", ["planner"], "Nine checks.")])
    expect(verdicts["checks-by-coder"], "repeated_subproblem", "inject")

    # Cross-lineage aggregation: the writer splits another request and sends a part to the planner, which still holds
    # parts of its own plan. The monitor warns the planner, which then answers them separately.
    monitor.ask("event", event=event("wish", ["writer"], "Mention the new theme as well."))
    verdicts = writer.act(
        ["wish"],
        [
            event("theme-text", ["planner"], "A paragraph on the theme."),
            event("theme-picture", ["writer"], "A picture of the theme."),
        ],
    )
    expect(verdicts["theme-text"], "cross_lineage_aggregation", "inject")
    planner.act(["theme-text"])
    planner.act(
        ["patch", "checks-by-tester", "checks-by-coder"],
        [event("fixed", ["writer"], "The crash is fixed and checked.")],
    )

    # Deadlock: the writer waits for a review, and no agent reviews.
    writer.act(["note", "fixed", "theme-picture"], reactions={"note": "wait", "fixed": "wait", "theme-picture": "wait"})
    monitor.say("time", 4500)
    # Early termination: the writer continues after the hint and submits while the picture is still pending.
    verdicts = writer.act(["note", "fixed", "sys:1"], [event("answer", [], "Release note 2.1", submit=True)])
    if [i["id"] for i in monitor.interventions] != ["sys:1"]:
        raise SystemExit(f"expected a deadlock to be healed by sys:1, got {monitor.interventions}")
    expect(verdicts["answer"], "early_termination", "reroute")

    # Missing termination: all work is done, and no agent submits until the monitor asks for it.
    writer.act(["theme-picture", "answer"])
    monitor.say("time", 4500)
    verdicts = writer.act(["sys:2"], [event("final", [], "Release note 2.1 with picture", submit=True)])
    if verdicts["final"]["action"] != "deliver" or monitor.interventions[-1]["id"] != "sys:2":
        raise SystemExit(f"expected the answer to be delivered after sys:2, got {verdicts}, {monitor.interventions}")
    monitor.say("run_ended", outcome="success", metrics={"mistakes": 7})


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    monitor = Monitor(sys.argv[1])
    play(monitor)
    print("\n".join(monitor.sent_lines))


if __name__ == "__main__":
    main()
