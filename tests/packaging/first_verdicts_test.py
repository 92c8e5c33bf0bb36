"""scripts/check-release ends with the seconds to the first verdict of each way to install digd."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
from first_verdicts import table  # noqa: E402


def line(name, seconds):
    return f"{name}: seconds to the first verdict: {seconds}\n"


def test_each_way_has_its_seconds_in_a_fixed_order():
    logs = [line("source", 400.0), line("deb, Debian 12", 18.6), line("wheel", 3.5) + line("npm", 8.7)]
    logs.append("noise\n" + line("image", 1.9) + line("image, podman", 2.4))
    assert table(logs).splitlines()[2:] == [
        "| wheel | 3.5 |",
        "| npm | 8.7 |",
        "| deb, Debian 12 | 18.6 |",
        "| image | 1.9 |",
        "| image, podman | 2.4 |",
        "| source | 400.0 |",
    ]


def test_a_way_without_a_measurement_is_named():
    assert table([line("wheel", 3.5)]).splitlines()[2:4] == ["| wheel | 3.5 |", "| npm | not measured |"]


def test_an_unknown_way_is_an_error():
    with pytest.raises(ValueError, match="snap"):
        table([line("snap", 1.0)])


def test_the_scripts_print_ways_that_the_table_knows():
    text = (ROOT / "scripts/test-packages").read_text()
    printed = re.findall(r'^    "(\w+)": \("([\w, ]+)", try_\w+\),$', text, re.MULTILINE)
    assert {name.split(",")[0] for _, name in printed} == {"wheel", "npm", "image", "source"}
    printed_by_deb = re.search(r'way = f"(\w+), ', (ROOT / "scripts/test-package").read_text())
    assert printed_by_deb and printed_by_deb[1] == "deb"
