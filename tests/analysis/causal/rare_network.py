"""Tables of a network of rare binary factors, for `digctl causal eval`: two rare faults of a system each set off an
alarm, and two people who may notice it. Usage: rare_network.py FOLDER [SLICES]. Same bytes everywhere."""

import random
import sys
from pathlib import Path

EDGES = [(0, 2), (1, 2), (2, 3), (2, 4)]
COLUMNS = 5
ROWS = (300, 500, 1000)
ALARM = {(0, 0): 0.002, (0, 1): 0.4, (1, 0): 0.93, (1, 1): 0.96}


def row(chance):
    first, second = chance.random() < 0.02, chance.random() < 0.03
    alarm = chance.random() < ALARM[first, second]
    noticed = [chance.random() < (0.9 if alarm else 0.04), chance.random() < (0.7 if alarm else 0.01)]
    return [first, second, alarm, *noticed]


def table(rows, number):
    """A table in which every column has both values."""
    chance = random.Random(f"rare {rows} {number}")
    while True:
        cells = [[int(x) for x in row(chance)] for _ in range(rows)]
        if all(len({line[column] for line in cells}) == 2 for column in range(COLUMNS)):
            return cells


def write(folder, slices=20, sizes=ROWS):
    folder.mkdir(parents=True, exist_ok=True)
    matrix = [[int((i, j) in EDGES) for j in range(COLUMNS)] for i in range(COLUMNS)]
    text = {"rare.adj": matrix}
    text |= {f"rare_{rows}_{number}.txt": table(rows, number) for rows in sizes for number in range(slices)}
    for name, cells in text.items():
        (folder / name).write_text("".join(" ".join(map(str, line)) + "\n" for line in cells))
    return folder


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
