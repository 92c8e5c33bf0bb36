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

import study_page as page  # noqa: E402
import study_run as study  # noqa: E402
import tasks  # noqa: E402
from live import Daemon  # noqa: E402


class HastyTeam:
    """Each agent uses its tool. The first asks a mate and an unknown agent, and answers at the first reply."""

    def __init__(self) -> None:
        self.chat = SimpleNamespace(completions=self)

    async def create(self, *, messages: list[dict[str, str]], **_: Any) -> Any:
        reply = self.reply(messages[0]["content"], messages[-1]["content"])
        return SimpleNamespace(
            choices=[SimpleNamespace(message=SimpleNamespace(content=json.dumps(reply)))],
            usage=SimpleNamespace(prompt_tokens=10, completion_tokens=5),
            model_extra={"duration_ms": 3},
        )

    def reply(self, system: str, user: str) -> dict[str, Any]:
        if system.startswith("You watch"):
            return {"failure": "early_termination", "agent": "Ada", "advice": "Wait for the others."}
        if "You used your tool" not in user and "You can reach: nothing" not in system:
            return {"use_tool": system.split("You can reach: ")[1].split(".")[0]}
        if not system.startswith("You are Ada"):
            return {"send": [{"to": "Ada", "text": "This is what I have."}]}
        if "You to Ben" in user:
            return {"answer": "7"}
        return {"send": [{"to": "Ben", "text": "What do you have?"}, {"to": "Zed", "text": "And you?"}]}


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
        assert len(lines[cell, 1, "blind"]["answers"]) == 4
        assert lines[cell, 1, "blind"]["answered"]


def test_the_random_arm_has_as_many_texts_as_digd_gave(lines):
    for cell in study.CELLS:
        most = lines[cell, 1, "plain"]["activations"]
        assert lines[cell, 1, "random"]["texts"] == min(lines[cell, 1, "enforce"]["texts"], most)


def test_an_answer_without_all_data_counts_as_lacking(lines):
    assert all(answer["lacking"] > 0 for answer in lines["autogen-count-3", 1, "plain"]["answers"])


def test_the_page_begins_with_the_results_against_digd(lines):
    text = page.page(lines)
    assert text.index("What fell against digd") < text.index("Primary comparisons")
    assert all(cell in text for cell in study.CELLS)


@pytest.mark.parametrize("size", [1, 3, 6])
def test_a_counting_task_has_the_answer_that_its_pages_show(size):
    task = tasks.make("count", size, 5)
    shown = [task.use(owner, page)[0] for page, (owner,) in task.owners.items()]
    word = task.question.split("'")[1]
    total = sum(text.count(word) for text in shown)
    assert (
        task.is_correct(f"It is {total}.") and not task.is_correct(str(total + 1)) and task.error(str(total + 2)) == 2
    )


def test_an_agent_cannot_read_what_another_holds():
    task = tasks.make("lookup", 6, 5)
    piece, (owner,) = next(iter(task.owners.items()))
    other = next(name for name in task.team if name != owner)
    assert task.use(owner, piece)[1] == (piece,)
    assert task.use(other, piece)[1] == ()


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
    subprocess.run(
        [sys.executable, str(ROOT / "bench/study/study_page.py"), str(path), str(tmp_path / "page.md")], check=True
    )
    assert (tmp_path / "page.md").read_text() == page.page(lines)
