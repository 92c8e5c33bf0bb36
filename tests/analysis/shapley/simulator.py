"""A simulator that misbehaves on purpose: simulator.py HOW [FILE]. The risk is the number of players kept, plus 1 for 0 and 2 together."""
import json
import os
import sys
import time

how = sys.argv[1]
calls = 0
for line in sys.stdin:
    asked = json.loads(line)
    if asked["type"] == "hello":
        if how == "no-game":
            print("good morning", flush=True)
            continue
        n = 4
        if how == "changes" and os.path.exists(sys.argv[2]):
            n = 5
        players = [{"agent": f"a{k % 2}", "step": k // 2 + 1, "behaviours": ["x"]} for k in range(n)]
        print(json.dumps({"type": "game", "players": players}), flush=True)
        continue
    calls += 1
    risks = [len(s) + (1 if 0 in s and 2 in s else 0) for s in asked["sets"]]
    answer = {"type": "risks", "id": asked["id"], "risks": risks}
    if how == "dies-always" or (how == "dies-each-third" and calls == 3):
        sys.exit(1)
    if how == "changes":
        open(sys.argv[2], "w").close()
        sys.exit(1)
    if how == "once-silent" and not os.path.exists(sys.argv[2]):
        open(sys.argv[2], "w").close()
        time.sleep(60)
    if how == "garbage":
        print("{", flush=True)
        continue
    if how == "wrong-id":
        answer["id"] += 1
    if how == "too-few":
        answer["risks"] = risks[1:]
    if how == "no-number":
        answer["risks"] = ["many"] * len(risks)
    if how == "not-finite":
        print(json.dumps(answer).replace("]", ", 1e999]", 1), flush=True)
        continue
    if how == "two-lines":
        print(json.dumps(answer))
    print(json.dumps(answer), flush=True)
