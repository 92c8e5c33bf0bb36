"""What a run truly lacked, from the log of its agents: the measures that detections are compared with."""

from __future__ import annotations

from typing import Any

from mind import Log
from tasks import Task


def measures(task: Task, log: Log, answer: str | None) -> dict[str, Any]:
    """Counts of what happened.

    answers: for each answer that an agent gave, in order: whether it lacked data, and whether it was correct.
    texts: how many texts agents read. followed: of those that lacked data when they read one, how many had more of it,
    or had asked a team mate, before they answered again.
    """
    answers = [{"lacking": len(e["lacking"]), "correct": e["correct"]} for e in log.entries if e["what"] == "answered"]
    texts = [(i, e) for i, e in enumerate(log.entries) if e["what"] == "text"]
    could_follow = [(i, e) for i, e in texts if e["lacking"]]
    return {
        "answers": answers,
        "texts": len(texts),
        "texts_with_data_lacking": len(could_follow),
        "texts_followed": sum(was_followed(log, i, e) for i, e in could_follow),
        "sent": sum(e["what"] == "sent" for e in log.entries),
        "sent_to_nobody": sum(e["what"] == "sent" and e["to"] not in task.team for e in log.entries),
        "first_answer_correct": bool(answers) and answers[0]["correct"],
        "first_answer_lacking": bool(answers) and answers[0]["lacking"] > 0,
        "rested_without_answer": answer is None,
        "stopped": any(e["what"] == "stopped" for e in log.entries),
    }


def was_followed(log: Log, index: int, text: dict[str, Any]) -> bool:
    """Whether the agent that read a text sent a message or lacked less data, before it answered again."""
    for entry in log.entries[index + 1 :]:
        if entry.get("agent") != text["agent"]:
            continue
        if entry["what"] == "sent":
            return True
        if entry["what"] == "tool" and set(entry["pieces"]) & set(text["lacking"]):
            return True
        if entry["what"] == "answered":
            return len(entry["lacking"]) < len(text["lacking"])
    return False
