"""The tasks of the study. Each has one correct answer, and its data are shared out among the agents."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn")
FRUIT = ("apple", "pear", "plum")
WORDS_ON_A_PAGE = 7
CODE_SECONDS = 5
MAX_OUTPUT = 300  # characters of a tool's result


@dataclass(frozen=True)
class Task:
    """A problem for a team.

    question: what a user asks. tool: the name of the tool, and what its argument is.
    owners: for each piece of data the agents that can reach it; a correct answer needs all pieces.
    use: (agent, argument) → the tool's result and the pieces of data that it shows.
    is_correct: judges an answer. error: its distance from the truth, for tasks with a number.
    """

    family: str
    team: tuple[str, ...]
    question: str
    tool: str
    owners: dict[str, tuple[str, ...]]
    use: Callable[[str, str], tuple[str, tuple[str, ...]]]
    is_correct: Callable[[str], bool]
    error: Callable[[str], float | None]

    def pieces_of(self, agent: str) -> list[str]:
        return [piece for piece, owners in self.owners.items() if agent in owners]


def make(family: str, size: int, seed: int) -> Task:
    """The task of this family for a team of this size. The same arguments give the same task."""
    return FAMILIES[family](NAMES[:size], random.Random(f"{family}-{size}-{seed}"))


def share_out(pieces: list[str], team: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {piece: (team[i % len(team)],) for i, piece in enumerate(pieces)}


def reader(
    task_owners: dict[str, tuple[str, ...]], texts: dict[str, str]
) -> Callable[[str, str], tuple[str, tuple[str, ...]]]:
    """A tool that reads the documents of the agent that asks."""

    def read(agent: str, argument: str) -> tuple[str, tuple[str, ...]]:
        mine = [piece for piece in texts if agent in task_owners[piece]]
        asked = [piece for piece in mine if piece.lower() in argument.lower()]
        if not asked:
            return f"There is no {argument[:40]!r} here. You can read: {', '.join(mine) or 'nothing'}.", ()
        return " ".join(f"{piece} says: {texts[piece]}" for piece in asked), tuple(asked)

    return read


def count(team: tuple[str, ...], rng: random.Random) -> Task:
    """Count Frequency of *DIG to Heal* (section 6): how often a word occurs on pages of different agents."""
    pages = [f"page {i + 1}" for i in range(max(3, len(team)))]
    words = {page: [rng.choice(FRUIT) for _ in range(WORDS_ON_A_PAGE)] for page in pages}
    word = rng.choice(FRUIT)
    total = sum(page.count(word) for page in words.values())
    owners = share_out(pages, team)

    def number(answer: str) -> int | None:
        found = re.findall(r"\d+", answer)
        return int(found[-1]) if found else None

    return Task(
        "count",
        team,
        f"How often does the word '{word}' occur on {pages[0]} to {pages[-1]} together? Answer with one number.",
        "read: the name of a page, such as 'page 1'. It shows the words on that page",
        owners,
        reader(owners, {page: ", ".join(words[page]) + "." for page in pages}),
        lambda answer: number(answer) == total,
        lambda answer: None if number(answer) is None else float(abs(number(answer) - total)),
    )


def lookup(team: tuple[str, ...], rng: random.Random) -> Task:
    """A question whose answer needs facts from three documents, each with a different agent."""
    people = rng.sample(["Mara", "Ivo", "Lena", "Omar", "Tess", "Hugo"], 4)
    boats = rng.sample(["red", "blue", "green", "white", "black"], 4)
    shops = rng.sample(["bakery", "library", "school", "market", "museum"], 4)
    towns = rng.sample(["Oslo", "Rome", "Lima", "Bern", "Cork", "Nice"], 4)
    facts = {
        "boats": [f"The {boat} boat belongs to {person}." for boat, person in zip(boats, people)],
        "jobs": [f"{person} works at the {shop}." for person, shop in zip(people, shops)],
        "towns": [f"The {shop} is in {town}." for shop, town in zip(shops, towns)],
        "weather": [f"It rains in {towns[0]}.", f"It snows in {towns[1]}."],
        "prices": ["A boat costs 900.", "A ticket costs 4."],
        "hours": [f"The {shops[0]} opens at nine.", f"The {shops[1]} opens at ten."],
    }
    texts = {f"the note on {name}": " ".join(rng.sample(lines, len(lines))) for name, lines in facts.items()}
    wanted = rng.randrange(4)
    owners = share_out(list(texts), team)
    needed = {piece: owners[piece] for piece in list(texts)[:3]}
    return Task(
        "lookup",
        team,
        f"In which town does the owner of the {boats[wanted]} boat work? Answer with the name of the town.",
        "read: the name of a note, such as 'the note on boats'. It shows what the note says",
        needed,
        reader(owners, texts),
        lambda answer: (
            towns[wanted].lower() in answer.lower()
            and not any(town.lower() in answer.lower() for town in towns if town != towns[wanted])
        ),
        lambda answer: None,
    )


FUNCTIONS = {
    "vowels(text)": (
        "returns how many vowels (a, e, i, o, u, also upper case) the text has",
        [(("Hello",), 2), (("",), 0), (("AEiou xyz",), 5)],
    ),
    "middle(a, b, c)": (
        "returns the number that is neither the smallest nor the largest of three",
        [((1, 2, 3), 2), ((9, 4, 7), 7), ((5, 5, 1), 5)],
    ),
    "initials(name)": (
        "returns the first letters of the words of a name, in upper case",
        [(("ada lovelace",), "AL"), (("Alan Mathison Turing",), "AMT"), (("x",), "X")],
    ),
    "runs(text)": (
        "returns the length of the longest run of equal letters in the text, 0 for an empty text",
        [(("aabbb",), 3), (("",), 0), (("abc",), 1)],
    ),
    "digits(n)": (
        "returns the sum of the decimal digits of a whole number, also of a negative one",
        [((123,), 6), ((-45,), 9), ((0,), 0)],
    ),
    "swap_ends(items)": (
        "returns a new list with the first and the last item exchanged; shorter lists stay the same",
        [(([1, 2, 3],), [3, 2, 1]), (([],), []), (([7],), [7])],
    ),
    "leap(year)": (
        "returns True for a leap year of the Gregorian calendar, else False",
        [((2000,), True), ((1900,), False), ((2024,), True)],
    ),
    "common(a, b)": (
        "returns the sorted list of the items that are in both lists, each once",
        [(([3, 1, 1], [1, 3, 4]), [1, 3]), (([], [1]), []), (([2], [3]), [])],
    ),
}
RUNNER = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
code, name, cases = json.load(sys.stdin)
space = {}
exec(code, space)
print(json.dumps([space[name](*arguments) == result for arguments, result in cases]))
"""


def fenced(code: str) -> str:
    found = re.search(r"```(?:python)?\n(.*?)```", code, re.DOTALL)
    return found[1] if found else code


def passes(code: str, name: str, cases: list) -> tuple[list[bool], str]:
    """Runs a model's code on cases, in a process with limits. Returns the results, or the error's last line."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", RUNNER],
            check=False,
            input=json.dumps([fenced(code), name, cases]),
            capture_output=True,
            text=True,
            timeout=CODE_SECONDS,
            env={},
            cwd="/",
        )
    except subprocess.TimeoutExpired:
        return [], f"it took more than {CODE_SECONDS} seconds"
    if done.returncode != 0:
        return [], (done.stderr.strip().splitlines() or ["it failed"])[-1]
    return json.loads(done.stdout.splitlines()[-1]), ""


def code(team: tuple[str, ...], rng: random.Random) -> Task:
    """A small Python function. One agent knows the specification, one can try code on examples."""
    signature = rng.choice(sorted(FUNCTIONS))
    specification, cases = FUNCTIONS[signature]
    name = signature.partition("(")[0]
    shown, extra = cases[:2], cases
    owners = share_out(["the specification", "the examples"], team)

    def use(agent: str, argument: str) -> tuple[str, tuple[str, ...]]:
        if agent in owners["the specification"] and "specification" in argument:
            return f"{signature} {specification}.", ("the specification",)
        if agent in owners["the examples"] and ("def " in argument or "lambda" in argument):
            results, error = passes(argument, name, [list(case) for case in shown])
            outcome = error or ", ".join(
                f"{name}{case[0]!r} {'is right' if ok else f'should be {case[1]!r}'}"
                for case, ok in zip(shown, results)
            )
            return f"Tried: {outcome}."[:MAX_OUTPUT], ("the examples",)
        mine = [piece for piece in owners if agent in owners[piece]]
        return f"You can use: {', '.join(mine) or 'nothing'}.", ()

    def is_correct(answer: str) -> bool:
        return all(results := passes(answer, name, [list(case) for case in extra])[0]) and bool(results)

    return Task(
        "code",
        team,
        f"Write the Python function {signature}. Answer with the code of the function.",
        "look: either 'the specification', or the code of a function, to try it on the examples",
        owners,
        use,
        is_correct,
        lambda answer: None,
    )


FAMILIES: dict[str, Callable[[tuple[str, ...], random.Random], Task]] = {"count": count, "lookup": lookup, "code": code}
