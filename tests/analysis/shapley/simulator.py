"""A simulator that misbehaves on request: simulator.py MISTAKE [FILE].

The risk is the number of players kept, plus 1 if players 0 and 2 are both kept.
"""
import json
import os
import sys
import time

mistake = sys.argv[1]
calls = 0
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "hello":
        if mistake == "no-game":
            print("good morning", flush=True)
            continue
        n = 4
        if mistake == "changes" and os.path.exists(sys.argv[2]):
            n = 5
        players = [{"agent": f"a{k % 2}", "step": k // 2 + 1, "behaviours": ["x"]} for k in range(n)]
        print(json.dumps({"type": "game", "players": players}), flush=True)
        continue
    calls += 1
    risks = [len(s) + (1 if 0 in s and 2 in s else 0) for s in request["sets"]]
    answer = {"type": "risks", "id": request["id"], "risks": risks}
    if mistake == "dies-always" or (mistake == "dies-each-third" and calls == 3):
        sys.exit(1)
    if mistake == "changes":
        open(sys.argv[2], "w").close()
        sys.exit(1)
    if mistake == "once-silent" and not os.path.exists(sys.argv[2]):
        open(sys.argv[2], "w").close()
        time.sleep(60)
    if mistake == "garbage":
        print("{", flush=True)
        continue
    if mistake == "wrong-id":
        answer["id"] += 1
    if mistake == "too-few":
        answer["risks"] = risks[1:]
    if mistake == "no-number":
        answer["risks"] = ["many"] * len(risks)
    if mistake == "not-finite":
        print(json.dumps(answer).replace("]", ", 1e999]", 1), flush=True)
        continue
    if mistake == "two-lines":
        print(json.dumps(answer))
    print(json.dumps(answer), flush=True)
