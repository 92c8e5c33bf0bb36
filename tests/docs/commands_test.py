"""The commands, programs and lines of code that the pages name exist, also those outside of fenced blocks.

samples_test.py checks the blocks. A language of blocks that no test reads is an error here.
"""

import importlib
import os
import re
import shlex
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests/daemon")]
from live import DIGCTL, TIMEOUT_S  # noqa: E402
from samples_test import PAGES, daemon, help_of, subcommands  # noqa: E402, F401

ALL_PAGES = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
# The test that reads the blocks of a language.
READERS = {
    "": "tests/docs/samples_test.py",
    "cmake": "tests/docs/commands_test.py",
    "cpp": "tests/docs/samples_test.py",
    "ini": "tests/docs/commands_test.py",
    "json": "tests/docs/samples_test.py",
    "python": "tests/docs/samples_test.py",
    "clickhouse": "tests/fleet/clickhouse_test.py",
    "sql": "tests/archive/docs_test.cpp",
    "toml": "tests/docs/samples_test.py",
    "ts": "clients/typescript/test/samples.test.ts",
    "yaml": "tests/docs/commands_test.py",
}
BLOCK = re.compile(r"^[ ]*```([^\n`]*)\n(.*?)^[ ]*```$", re.MULTILINE | re.DOTALL)


def place(page):
    return page.relative_to(ROOT).as_posix()


def blocks(language):
    for page in ALL_PAGES:
        for match in BLOCK.finditer(page.read_text()):
            if match[1] == language:
                yield place(page), match[2]


def inline_code():
    for page in ALL_PAGES:
        # A page may name what is planned, in a paragraph that begins like this.
        text = re.sub(r"\*\*Not built yet:.*?\n\n", "", BLOCK.sub("", page.read_text()), flags=re.DOTALL)
        for match in re.finditer(r"`([^`\n]+(?:\n[^`\n]+)?)`", text):
            yield place(page), " ".join(match[1].split())


def test_every_language_of_blocks_has_a_test():
    used = {match[1] for page in ALL_PAGES for match in BLOCK.finditer(page.read_text())}
    assert used == set(READERS)
    for reader in READERS.values():
        assert (ROOT / reader).is_file()


def digd_commands():
    seen = set()
    for page, code in inline_code():
        if re.match(r"(digctl|digd|npx digctl|npx digd) [a-z-]", code) and code not in seen:
            seen.add(code)
            yield pytest.param(code.removeprefix("npx "), id=f"{page} {code[:50]}")


@pytest.mark.parametrize("line", list(digd_commands()))
def test_commands_in_sentences_exist(line):
    program, *words = shlex.split(line.replace("…", ""), comments=True)
    commands = []
    while words and words[0] in subcommands(help_of(program, *commands)):
        commands.append(words.pop(0))
    if program == "digctl" and words[:1] and words[0].startswith("--") and not commands:
        # An option of several commands, such as `digctl --to`.
        texts = [help_of(program, name) for name in subcommands(help_of(program))]
    else:
        assert commands or program == "digd", f"{line}: no such command"
        texts = [help_of(program, *commands)]
    text = "".join(texts)
    for word in words:
        if word.startswith("-") and len(word) > 1:
            option = word.split("=")[0]
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text), f"{line}: no option {option}"


def lines_of_commands():
    for page, code in inline_code():
        yield page, code
    for page, text in blocks(""):
        for line in text.splitlines():
            yield page, line.split(" #")[0]


def test_scripts_and_programs_exist():
    for page, line in lines_of_commands():
        for name in re.findall(r"(?<![\w./-])((?:scripts|examples|packaging)/[\w./-]*\w)", line):
            assert (ROOT / name).exists(), f"{page}: {name} does not exist"


def test_options_of_scripts_exist():
    for page, line in lines_of_commands():
        for name, rest in re.findall(r"(?<![\w./-])(scripts/[\w-]+)((?: [^|;&`]+)?)", line):
            if (ROOT / name).is_file():
                for option in re.findall(r" (--[a-z][a-z-]*)", rest):
                    text = (ROOT / name).read_text() + "".join(p.read_text() for p in scripts_behind(name))
                    assert option in text, f"{page}: {name} has no option {option}"


def scripts_behind(name):
    """The files that a short script passes its options to."""
    called = re.findall(r"[\w./-]+/[\w.-]+\.(?:py|cpp)", (ROOT / name).read_text())
    found = [ROOT / path.lstrip("/") for path in called]
    found += [*(ROOT / "bench").rglob("*.py"), *(ROOT / "bench").rglob("*.cpp"), ROOT / "scripts/setup.sh"]
    return [path for path in found if path.is_file()]


def test_programs_of_the_build_are_targets():
    files = [p for p in ROOT.rglob("CMakeLists.txt") if "build" not in p.parts and "node_modules" not in p.parts]
    text = "\n".join(path.read_text() for path in files)
    for page, line in lines_of_commands():
        for name in re.findall(r"build/(?:release|asan|tsan|fuzz)/bin/([a-z][\w-]+)", line):
            assert re.search(rf"(?<![\w]){re.escape(name.removesuffix('_test'))}(?![\w])", text), f"{page}: {name}"


def test_lines_of_the_readme_that_attach_name_what_exists():
    rows = re.findall(r"^\| [^|]+ \| (`import[^|]+) \|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(rows) == 5
    for row in rows:
        lines = re.findall(r"`([^`]+)`", row)
        for path in re.findall(r"\b(digd(?:\.\w+)+)\(", " ".join(lines)):
            module, name = path.rsplit(".", 1)
            assert hasattr(importlib.import_module(module), name), path
        for names, package in re.findall(r'import \{ (\w+) \} from "@digd/client/([\w-]+)"', lines[0]):
            source = (ROOT / f"clients/typescript/src/{package}.ts").read_text()
            assert re.search(rf"export (async )?function {names}\b", source)


def test_the_terminal_of_the_readme_shows_what_the_example_prints(daemon):  # noqa: F811
    text = next(text for page, text in blocks("") if page == "README.md" and "DIGD_MODE=off" in text)
    shown = [[line[:59].rstrip(), line[59:].rstrip()] for line in text.splitlines()]
    assert shown[0][0].startswith("$ DIGD_MODE=off python ") and shown[0][1].startswith("$ python ")
    for column, environment in ((0, {"DIGD_MODE": "off"}), (1, {"DIGD_URL": daemon.address})):
        command = [sys.executable, ROOT / "examples/langgraph_healed.py"]
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=True
        )
        for row in filter(None, (line[column] for line in shown[1:])):
            pattern = ".*".join(map(re.escape, row.split("…")))
            assert re.search(pattern, done.stdout), f"{row!r} is not in\n{done.stdout}"


def test_cmake_samples_are_lines_of_the_examples():
    # tests/library/installed_package.cmake builds and runs these examples against the installed package.
    for text, name in zip((text for _, text in blocks("cmake")), ("cpp_team", "embedded"), strict=True):
        lines = (ROOT / "examples" / name / "CMakeLists.txt").read_text().splitlines()
        for line in text.splitlines():
            assert line.replace("my_program", name) in lines, line


def test_keys_of_unit_samples_are_those_of_systemd():
    known = "".join(p.read_text() for p in [*(ROOT / "systemd").iterdir(), *(ROOT / "packaging/systemd").iterdir()])
    for page, text in blocks("ini"):
        for key in re.findall(r"^(\w+)=", text, re.MULTILINE):
            assert f"{key}=" in known, f"{page}: {key}"


def errors_of_worldview(text, folder):
    """The errors about the file; one run has too few values to explain anything."""
    (folder / "worldview.yaml").write_text(text)
    command = [DIGCTL, "causal", "explain", ROOT / "tests/traces/demo.jsonl", "--worldview", folder / "worldview.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    return [line for line in done.stderr.splitlines() if "worldview.yaml" in line]


def test_digctl_accepts_worldviews(tmp_path):
    (text,) = [text for page, text in blocks("yaml") if page.startswith("docs/causal.md")]
    assert errors_of_worldview(text, tmp_path) == []
    assert errors_of_worldview(text.replace("edges:", "edgs:"), tmp_path) != []


def test_yaml_samples_of_litellm_name_the_path_of_digd():
    """tests/hooks/litellm_test.py runs the real proxy with these settings."""
    others = [(page, text) for page, text in blocks("yaml") if not page.startswith("docs/causal.md")]
    assert [page for page, _ in others] == ["docs/integrations/litellm.md"]
    (guardrail,) = yaml.safe_load(others[0][1])["guardrails"]
    parameters = guardrail["litellm_params"]
    assert urllib.parse.urlsplit(parameters["api_base"]).path == "/v1/guardrail"
    assert parameters["unreachable_fallback"] == "fail_open"
    assert parameters["fail_on_error"] is False
