#!/usr/bin/env python3
"""A simulator for `digctl attribute shapley --simulator 'python3 examples/shapley_simulator.py'`.

Five warehouse workers pack for four shifts. A careless worker slows the line; two careless neighbours in the same shift
slow it more. The risk of a set of actions is the final backlog if only these happen as recorded and the other workers
work with usual care. Replace `players` and `risk` with your own; keep the protocol below.
"""
import json
import sys

WORKERS, SHIFTS = 5, 4
CARELESS = {(0, 1), (1, 1), (1, 2), (3, 0), (3, 3), (4, 3)}


def players():
    return [
        {"agent": f"worker {w + 1}", "step": s + 1,
         "behaviours": ["careless" if (w, s) in CARELESS else "careful"]}
        for w in range(WORKERS) for s in range(SHIFTS)
    ]


def risk(kept):
    """The backlog at the end; `kept` are indices into players()."""
    acts = {divmod(k, SHIFTS) for k in kept}
    backlog = 0.0
    for shift in range(SHIFTS):
        careless = [w for w in range(WORKERS) if (w, shift) in acts and (w, shift) in CARELESS]
        pairs = sum(1 for w in careless if w + 1 in careless)
        eager = sum(1 for w in range(WORKERS) if (w, shift) in acts and (w, shift) not in CARELESS)
        backlog = max(0.0, 0.8 * backlog + len(careless) + 2.0 * pairs - 0.1 * eager)
    return backlog


def main():
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "hello":
            answer = {"type": "game", "title": "packing line", "players": players(), "threshold": 1.0}
        else:
            answer = {"type": "risks", "id": request["id"], "risks": [risk(kept) for kept in request["sets"]]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
