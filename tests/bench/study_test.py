"""The study with real agents (bench/study): its tasks, arms and measures, with scripted replies for the model."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench/study"))

pytest.importorskip("openai", reason="the study needs the test environment")

import mind  # noqa: E402
import study_page as page  # noqa: E402
import study_run as study  # noqa: E402
import tasks  # noqa: E402
from live import Daemon  # noqa: E402


class HastyTeam:
    """The leader uses its tool, asks a mate and an unknown agent, and answers at the first report.

    Reports have no data.
    """

    def __init__(self) -> None:
        self.chat = SimpleNamespace(completions=self)

    async def create(self, *, messages: list[dict[str, str]], response_format: Any = None, **_: Any) -> Any:
        content = self.say(messages)
        if response_format is not None:
            content = json.dumps({"failure": "early_termination", "agent": "Ada", "advice": "Wait for the others."})
        return SimpleNamespace(
            choices=[SimpleNamespace(message=SimpleNamespace(content=content))],
            usage=SimpleNamespace(prompt_tokens=10, completion_tokens=5),
            model_extra={"duration_ms": 3},
        )

    def say(self, messages: list[dict[str, str]]) -> str:
        system, replies = messages[0]["content"], [m["content"] for m in messages if m["role"] == "assistant"]
        if "Look: basket 1" in system and not replies:
            return "Look: basket 1"
        if not system.startswith("You are Ada"):
            return '"To Ada: This is what I have."'
        if any(reply.startswith("To ") for reply in replies):
            return "Answer: 7"
        return "To Ben and Zed: What do you have?"


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int, str], dict[str, Any]]:
    done: dict[tuple[str, int, str], dict[str, Any]] = {}

    async def play(url: str) -> None:
        for cell in study.CELLS.values():
            for arm in study.ARMS:
                done[cell.name, 1, arm] = await study.run_once(cell, arm, 1, HastyTeam(), url, done)

    with Daemon(
        tmp_path_factory.mktemp("digd"), "verdict_deadline_ms = 60000\n"
    ) as daemon:  # even a slow machine meets it
        asyncio.run(play(f"ws://{daemon.address}"))
    return done


def test_no_team_raises(lines):
    assert {key: line["raised"] for key, line in lines.items() if line["raised"]} == {}


def test_observing_changes_nothing(lines):
    for cell in study.CELLS:
        plain, observe = lines[cell, 1, "plain"], lines[cell, 1, "observe"]
        for key in ("answered", "activations", "calls", "answers", "texts"):
            assert plain[key] == observe[key], (cell, key)


def test_digd_sees_the_message_to_nobody_and_its_text_reaches_the_agent(lines):
    for cell in study.CELLS:
        assert "orphaned_event" in [d["rule"] for d in lines[cell, 1, "observe"]["detections"]]
        healed = lines[cell, 1, "enforce"]
        assert [d["healing"] for d in healed["detections"] if d["rule"] == "orphaned_event"][0] == "reroute"
        assert healed["texts"] >= 1


def test_the_blind_guard_gives_exactly_three_answers_back(lines):
    for cell in ("autogen-count-3", "autogen-lookup-6", "langgraph-code-3"):
        assert lines[cell, 1, "blind"]["texts"] == 3
        assert lines[cell, 1, "blind"]["answered"]


def test_the_random_arm_has_as_many_texts_as_digd_gave(lines):
    for cell in study.CELLS:
        most = lines[cell, 1, "plain"]["activations"]
        assert lines[cell, 1, "random"]["texts"] == min(lines[cell, 1, "enforce"]["texts"], most)


def test_an_answer_without_all_data_counts_as_lacking(lines):
    assert all(answer["lacking"] > 0 for answer in lines["autogen-count-3", 1, "plain"]["answers"])


def test_the_page_begins_with_the_newest_round_and_the_results_against_digd(lines):
    text = page.page({1: lines, 2: lines})
    places = [text.index(title) for title in ("Round 2", "What fell against digd", "Primary comparisons", "Round 1")]
    assert places == sorted(places)
    assert all(cell in text for cell in study.CELLS)


def test_the_page_counts_correct_answers_that_digd_gave_back(lines):
    cell, seed = "autogen-count-3", 1
    returned = {"rule": "early_termination", "healed": True}
    line = {**lines[cell, seed, "enforce"], "detections": [returned], "answers": [{"lacking": 0, "correct": True}]}
    text = page.page({1: {**lines, (cell, seed, "enforce"): line}})
    assert "gave a correct answer back: 1. In 1 of them, the team gave no further answer." in text
    line = {**line, "answers": [*line["answers"], {"lacking": 0, "correct": False}]}
    text = page.page({1: {**lines, (cell, seed, "enforce"): line}})
    assert "gave a correct answer back: 1. In 0 of them, the team gave no further answer." in text


def test_the_page_says_that_a_round_has_no_complete_pair(lines):
    some = {key: line for key, line in lines.items() if key[2] == "plain"}
    assert "4 runs so far. There is no pair yet" in page.page({2: some})


@pytest.mark.parametrize("size", [1, 3, 6])
def test_a_counting_task_has_the_answer_that_its_data_show(size):
    task = tasks.make("count", size, 5)
    data = task.held.values() if size > 1 else [task.use("Ada", place)[0].split(" in ")[0] for place in task.owners]
    total = sum(int(word) for text in data for word in text.split() if word.isdigit())
    assert (
        task.is_correct(f"It is {total}.") and not task.is_correct(str(total + 1)) and task.error(str(total + 2)) == 2
    )


@pytest.mark.parametrize(("family", "size"), [("count", 3), ("lookup", 6), ("code", 3)])
def test_only_the_owner_reads_a_piece_of_data(family, size):
    for seed in range(1, 9):
        task = tasks.make(family, size, seed)
        for piece, owners in task.owners.items():
            readers = [n for n in task.team if task.tells(piece, task.held.get(n, "") + task.prompts[n])]
            assert tuple(readers) == owners


def test_a_lookup_needs_the_town_and_no_other():
    task = tasks.make("lookup", 6, 5)
    (town,) = task.signs["the note on the place"]
    assert task.is_correct(f"It is {town.title()}.")
    assert not task.is_correct(f"{town} or " + ("Oslo" if town != "oslo" else "Rome"))


def test_a_cost_function_needs_both_numbers():
    task = tasks.make("code", 3, 5)
    price, fee = (task.signs[piece][0] for piece in ("the price", "the fee"))
    assert task.is_correct(f"```python\ndef cost(n):\n    return n * {price} + {fee}\n```")
    assert not task.is_correct(f"def cost(n): return n * {price}")


def test_a_reply_names_its_recipients():
    team = ("Ada", "Ben", "Cleo")
    assert mind.messages_in("To Ben and Zed: hello", team) == [("Ben", "hello"), ("Zed", "hello")]
    assert [to for to, _ in mind.messages_in("to everyone: hello", team)] == list(team)
    assert mind.messages_in("Ben, hello", team) == []
    assert mind.answer_in("Answer: 7") == "7" and mind.answer_in("The answer: 7") is None


def test_code_is_judged_in_a_process_with_limits(tmp_path):
    assert tasks.passes("def digits(n): return sum(map(int, str(abs(n))))", "digits", [[(-45,), 9]]) == ([True], "")
    assert tasks.passes("def digits(n): return 0", "digits", [[(-45,), 9]]) == ([False], "")
    assert tasks.passes("while True: pass", "digits", [])[1]
    writing = f"import os\nos.write(os.open({str(tmp_path / 'file')!r}, os.O_CREAT | os.O_WRONLY), b'x')"
    assert "Error" in tasks.passes(writing, "digits", [])[1]


def test_results_are_read_back(tmp_path, lines):
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines.values()))
    assert study.read_results(path) == lines
    assert study.read_results(path, 1) == {}
    subprocess.run(
        [sys.executable, str(ROOT / "bench/study/study_page.py"), str(path), str(tmp_path / "page.md")], check=True
    )
    assert (tmp_path / "page.md").read_text() == page.page({study.ROUND: lines})
