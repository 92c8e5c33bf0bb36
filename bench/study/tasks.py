"""The tasks of the study. Each has one correct answer, and its data are shared out among the agents."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn")  # the first leads the team
CODE_SECONDS = 60  # on the clock, for code that sleeps; two seconds of the processor are the limit


@dataclass(frozen=True)
class Task:
    """A problem for a team.

    question: what the user writes to the team. prompts: for each agent its system prompt.
    held: for each agent what it reads of its own data when the user asks. An agent without reads the question.
    owners: for each piece of data the agents that hold it; a correct answer needs all pieces.
    signs: for each piece the words that a text must have to pass it on.
    use: (agent, argument) → the tool's result and the pieces of data that it shows; None if there is no tool, and the
    prompts show the data.
    is_correct: judges an answer. error: its distance from the truth, for tasks with a number.
    """

    family: str
    team: tuple[str, ...]
    question: str
    prompts: dict[str, str]
    held: dict[str, str]
    owners: dict[str, tuple[str, ...]]
    signs: dict[str, tuple[str, ...]]
    is_correct: Callable[[str], bool]
    error: Callable[[str], float | None] = lambda answer: None
    use: Callable[[str, str], tuple[str, tuple[str, ...]]] | None = None

    def shown_to(self, agent: str) -> list[str]:
        """The pieces in the agent's prompt."""
        return [] if self.use else [piece for piece, owners in self.owners.items() if agent in owners]

    def tells(self, piece: str, text: str) -> bool:
        words = re.findall(r"\w+", text.lower())
        return all(sign in words for sign in self.signs[piece])


def make(family: str, size: int, seed: int) -> Task:
    """The task of this family for a team of this size. The same arguments give the same task."""
    return FAMILIES[family](NAMES[:size], random.Random(f"{family}-{size}-{seed}"))


def listed(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def prompts_of(team: tuple[str, ...], wanted: str, form: str) -> dict[str, str]:
    """The system prompts of a team.

    wanted: what the leader must know before the answer. form: what the leader writes then.
    """
    leader, *mates = team
    prompts = {
        leader: f"You are {leader}, the leader of a team with {listed(mates)}. {listed(mates)} will report to you. "
        f'To ask a team mate for a report, write "To {mates[0]}: ...".\n'
        f'Write "Wait" while you do not know {wanted}. Write {form} once you know {wanted}.'
    }
    for mate in mates:
        prompts[mate] = (
            f"You are {mate}, in a team with {listed(name for name in team if name != mate)}. {leader} leads the team "
            f'and answers the user. You report to {leader} what you know, like this: "To {leader}: ..."'
        )
    return prompts


def number_in(answer: str) -> int | None:
    found = re.findall(r"\d+", answer)
    return int(found[-1]) if found else None


def count(team: tuple[str, ...], rng: random.Random) -> Task:
    """How many things the agents of a team hold together. An agent alone looks at three places with its tool."""
    thing = rng.choice(["apples", "stamps", "coins", "books"])
    places = [f"basket {i + 1}" for i in range(3)] if len(team) == 1 else list(team[1:])
    numbers = dict(zip(places, rng.sample(range(3, 10) if len(team) == 1 else range(11, 50), len(places))))
    total = sum(numbers.values())
    owners = {place: (place if place in team else team[0],) for place in places}
    signs = {place: (str(number),) for place, number in numbers.items()}

    def look(agent: str, argument: str) -> tuple[str, tuple[str, ...]]:
        asked = [place for place in places if place in argument.lower()]
        if not asked:
            return f"There is no {argument[:40]!r}. There are {listed(places)}.", ()
        return " ".join(f"There are {numbers[place]} {thing} in {place}." for place in asked), tuple(asked)

    def is_correct(answer: str) -> bool:
        return number_in(answer) == total

    def error(answer: str) -> float | None:
        found = number_in(answer)
        return None if found is None else float(abs(found - total))

    if len(team) == 1:
        prompt = (
            f"You are {team[0]}. There are three baskets of {thing}, {listed(places)}. "
            f'Write "Look: {places[0]}" to see what is in a basket, one at a time. '
            f'Write "Answer: " and the sum, such as "2 + 3 + 4 = 9", once you have seen all three.'
        )
        question = f"How many {thing} are there together?"
        return Task("count", team, question, {team[0]: prompt}, {}, owners, signs, is_correct, error, look)
    prompts = prompts_of(
        team,
        f"the numbers of {listed(places)}",
        '"Answer: " and the sum of both numbers',
    )
    question = f"How many {thing} do you have together?"
    held = {name: f"You have {numbers[name]} {thing}. Tell {team[0]}." for name in places}
    return Task("count", team, question, prompts, held, owners, signs, is_correct, error)


def lookup(team: tuple[str, ...], rng: random.Random) -> Task:
    """A question whose answer needs two notes, each with a different agent. The other notes are about other things."""
    person, other = rng.sample(["Mara", "Ivo", "Lena", "Omar", "Tess", "Hugo"], 2)
    place, elsewhere = rng.sample(["bakery", "library", "school", "market", "museum"], 2)
    town = rng.choice(["Oslo", "Rome", "Lima", "Bern", "Cork", "Nice"])
    needed = {
        "the note on the person": f"{person} works at the {place}.",
        "the note on the place": f"The {place} is in {town}.",
    }
    others = [
        f"{other} has a red boat.",
        "It rains today.",
        f"The {elsewhere} opens at nine.",
    ]
    holders = rng.sample(team[1:], len(team) - 1)
    owners = {piece: (holders[i],) for i, piece in enumerate(needed)}
    notes = dict(zip(holders, [*needed.values(), *others]))
    prompts = prompts_of(
        team,
        f"the place where {person} works and the town of that place",
        '"Answer: " and the name of the town',
    )
    towns = ("oslo", "rome", "lima", "bern", "cork", "nice")
    return Task(
        "lookup",
        team,
        f"In which town does {person} work?",
        prompts,
        {name: f"Your note says: {notes[name]} Tell {team[0]} what it says." for name in holders},
        owners,
        {"the note on the person": (person.lower(), place), "the note on the place": (town.lower(),)},
        lambda answer: [name for name in towns if name in answer.lower()] == [town.lower()],
    )


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
    """A Python function of one line. Each of two agents knows one number that it needs."""
    thing = rng.choice(["tickets", "cups", "chairs", "lamps"])
    price, fee = rng.sample(range(3, 30), 2)
    leader, *mates = team
    first, second = rng.sample(mates, 2)
    prompts = prompts_of(
        team,
        "the price and the fee",
        '"Answer: def cost(n): return PRICE * n + FEE", with both numbers,',
    )
    cases = [[[n], n * price + fee] for n in (1, 2, 10)]

    def is_correct(answer: str) -> bool:
        return all(results := passes(answer, "cost", cases)[0]) and bool(results)

    return Task(
        "code",
        team,
        f"Write the Python function cost(n): what an order of n {thing} costs, with the fee of the order.",
        prompts,
        {
            first: f"You know that the price is {price}. Tell {leader}.",
            second: f"You know that the fee is {fee}. Tell {leader}.",
        },
        {"the price": (first,), "the fee": (second,)},
        {"the price": (str(price),), "the fee": (str(fee),)},
        is_correct,
    )


FAMILIES: dict[str, Callable[[tuple[str, ...], random.Random], Task]] = {"count": count, "lookup": lookup, "code": code}
