#!/usr/bin/env python3
"""Prints the detections in an archive by rule: how many, in how many runs, how many healed, and the outcomes."""

import sqlite3
import sys

QUERY = """
SELECT rule, count(*), count(DISTINCT run), sum(healed),
       sum(outcome = 'cleared'), sum(outcome = 'recurred'), sum(outcome = 'unresolved')
FROM firings GROUP BY rule ORDER BY count(*) DESC, rule
"""


def main() -> None:
    archive = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    runs, messages = archive.execute("SELECT count(*), (SELECT count(*) FROM messages) FROM runs").fetchone()
    clean = archive.execute(
        "SELECT count(*) FROM runs WHERE number NOT IN (SELECT run FROM detections)"
    ).fetchone()[0]
    print(f"\nFound in {runs} runs ({messages} messages); {clean} runs without any detection:\n")
    print(f"{'rule':28}{'fired':>6}{'runs':>6}{'healed':>8}{'cleared':>9}{'recurred':>10}{'open':>6}")
    for rule, fired, in_runs, healed, cleared, recurred, unresolved in archive.execute(QUERY):
        print(f"{rule:28}{fired:>6}{in_runs:>6}{healed:>8}{cleared or 0:>9}{recurred or 0:>10}{unresolved or 0:>6}")


if __name__ == "__main__":
    main()
