"""Manual pages and completions have every command and option of --help."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIGD = os.environ.get("DIGD_BIN", str(ROOT / "build/release/bin/digd"))
DIGCTL = os.environ.get("DIGCTL_BIN", str(ROOT / "build/release/bin/digctl"))


def out(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, **more).stdout


def options_of(help_text):
    """The flags at the beginning of --help's lines."""
    lines = re.findall(r"^\s+(-[\w,\- ]*)", help_text, re.MULTILINE)
    return {flag for line in lines for flag in re.findall(r"(?<![\w-])--?[a-z][\w-]*", line)}


def commands_of(help_text):
    """The commands, under whatever heading. Options begin with a dash, positional arguments with a capital letter."""
    return re.findall(r"^  ([a-z][\w-]*)  +\S", help_text, re.MULTILINE)


def all_commands(path=()):
    """Yields (path, options) of digctl and of each subcommand."""
    text = out(DIGCTL, *path, "--help")
    yield path, options_of(text)
    for name in commands_of(text):
        yield from all_commands((*path, name))


@pytest.fixture(scope="module")
def commands():
    found = list(all_commands())
    assert len(found) > 4
    return found


@pytest.fixture(scope="module")
def digctl_page():
    folder = ROOT / "docs/man"
    return (
        (folder / "digctl.1.begin").read_text()
        + out(DIGCTL, "completion", "man")
        + (folder / "digctl.1.end").read_text()
    )


def plain(page):
    """Plain text of mdoc flags: "Fl \\-no\\-fyi" becomes "--no-fyi"."""
    return re.sub(r"Fl ", "-", page.replace("\\-", "-"))


def test_the_manual_of_digctl_has_every_command_and_option(commands, digctl_page):
    text = plain(digctl_page)
    for path, options in commands:
        section = text
        if path:
            heading = ".Ss digctl " + " ".join(path) + "\n"
            assert heading in text
            section = text.split(heading, 1)[1].split("\n.S", 1)[0]
        for option in options:
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", section), (path, option)


def test_the_manual_of_digd_has_exactly_its_options():
    page = plain((ROOT / "docs/man/digd.8").read_text())
    helped = options_of(out(DIGD, "--help"))
    assert "--config" in helped
    listed = {
        flag
        for line in page.splitlines()
        if line.startswith(".It -")
        for flag in re.findall(r"(?<![\w-])--?[a-z][\w-]*", line)
    }
    assert listed == helped


def test_man_renders_the_pages_without_warnings(digctl_page, tmp_path):
    page = tmp_path / "digctl.1"
    page.write_text(digctl_page)
    for source in [page, ROOT / "docs/man/digd.8"]:
        done = subprocess.run(
            ["man", "--warnings", "-l", "-Tutf8", source],
            capture_output=True,
            text=True,
            env={**os.environ, "MANROFFSEQ": "", "PAGER": "cat"},
        )
        assert done.returncode == 0 and done.stderr == ""


def in_fish(option):
    """fish's words for an option: `-l format`, `-s o`."""
    return f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completions_have_every_command_and_option(commands, shell):
    text = out(DIGCTL, "completion", shell)
    for path, options in commands:
        for option in options:
            name = in_fish(option) if shell == "fish" else option
            assert re.search(rf"(?<![\w-]){name}(?![\w-])", text), (path, option)
        if path:
            assert re.search(rf"\b{path[-1]}\b", text)


def complete(line, script):
    words = line.split(" ")
    command = (
        f"{script}\nCOMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; _{words[0]}; "
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    return out("bash", "-c", command).split()


def test_bash_completes_commands_options_and_choices(commands):
    script = out(DIGCTL, "completion", "bash")
    assert "replay" in complete("digctl rep", script)
    assert "--format" in complete("digctl replay --f", script)
    assert complete("digctl replay --format j", script) == ["json", "jsonl"]
    assert complete("digctl import whowhen --o", script) != []
    for path, options in commands:
        offered = complete(" ".join(["digctl", *path, "-"]), script)
        assert options <= set(offered), path


def test_zsh_parses_the_completions(tmp_path):
    for text in (out(DIGCTL, "completion", "zsh"), (ROOT / "packaging/completions/_digd").read_text()):
        (tmp_path / "file").write_text(text)
        out("zsh", "-n", str(tmp_path / "file"))


def test_digds_completions_have_every_option():
    helped = options_of(out(DIGD, "--help"))
    script = (ROOT / "packaging/completions/digd.bash").read_text()
    assert set(complete("digd -", script)) == helped
    zsh = (ROOT / "packaging/completions/_digd").read_text()
    assert all(option in zsh for option in helped)
    fish = (ROOT / "packaging/completions/digd.fish").read_text()
    assert all(f" {in_fish(option)} " in fish for option in helped)
