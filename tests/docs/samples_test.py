"""The samples of the README and of docs/ work with the digd, digctl and clients of this tree.

The Python program of the README runs as it is. Other Python samples are fragments: they must compile, and the names of
digd that they use must exist. C++ samples compile against the installed headers. Configurations go through digd, and
each digctl or digd command line must name commands and options that exist. shell_samples_test.py runs command lines,
clients/typescript/test/samples.test.ts the TypeScript samples.
"""

import ast
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/daemon"))
from live import DIGCTL, DIGD, TIMEOUT_S, Daemon  # noqa: E402

PAGES = [ROOT / "README.md", ROOT / "packaging/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS = {"digctl": DIGCTL, "digd": DIGD}


def blocks(language):
    """The fenced blocks of that language, as (place, text)."""
    for page in PAGES:
        text = page.read_text()
        # Matches blocks of every language, so that the end of one block is not taken for the start of the next.
        for match in re.finditer(r"^[ ]*```([^\n`]*)\n(.*?)^[ ]*```$", text, re.MULTILINE | re.DOTALL):
            if match[1] == language:
                line = text[: match.start()].count("\n") + 1
                yield f"{page.relative_to(ROOT)}:{line}", textwrap.dedent(match[2])


def samples(language):
    found = list(blocks(language))
    assert found
    return [pytest.param(text, id=place) for place, text in found]


@pytest.fixture
def daemon(tmp_path):
    started = Daemon(tmp_path)
    started.start()
    yield started
    started.process.terminate()
    started.process.wait(TIMEOUT_S)


def readme_program():
    return next(text for place, text in blocks("python") if place.startswith("README.md"))


def run_program(text, url):
    environment = {**os.environ, "DIGD_URL": url}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_program_of_the_readme_prints_the_reason(daemon):
    assert '"plannr"' in run_program(readme_program(), daemon.address)


def test_the_program_of_the_readme_runs_without_a_daemon():
    assert run_program(readme_program(), "127.0.0.1:1") == ""


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


@pytest.mark.parametrize("text", samples("python"))
def test_python_samples_compile_and_name_what_exists(text):
    tree = compile(text, "sample", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        path = ast.unparse(node)
        if not re.fullmatch(r"digd(\.\w+)+", path):
            continue
        parts, found = path.split("."), importlib.import_module("digd")
        for depth, name in enumerate(parts[1:], 2):
            if not hasattr(found, name):
                importlib.import_module(".".join(parts[:depth]))
            found = getattr(found, name)


# The names that the samples of docs/clients-cpp.md use without declaring them.
CPP_PROGRAM = """
#include <digd/client.h>
#include <digd/engine.h>
#include <map>
struct inbox {{ void push(const std::string& event, const std::string& text); }};
void sample(std::map<std::string, inbox>& inboxes, std::string_view frame, std::int64_t now_ms) {{
  (void)inboxes, (void)frame, (void)now_ms;
{}
}}
"""


@pytest.mark.parametrize("place, text", [x for x in blocks("cpp") if x[0].startswith("docs/clients-cpp.md")])
def test_samples_of_the_cpp_client_compile(place, text):
    includes = ["-I", ROOT / "clients/cpp/include", "-I", ROOT / "library/include"]
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", *includes, "-x", "c++", "-"]
    done = subprocess.run(command, input=CPP_PROGRAM.format(text), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_declarations_of_the_importers_are_in_their_headers():
    text = next(text for place, text in blocks("cpp") if place.startswith("docs/importers.md"))
    lines = text.splitlines()
    for header, declaration in zip(lines[::2], lines[1::2], strict=True):
        assert declaration in (ROOT / header.removeprefix("// ")).read_text()


def test_every_page_with_cpp_samples_is_tested():
    # adding_a_rule_test compiles and runs the blocks of docs/adding-a-rule.md.
    pages = {place.split(":")[0] for place, _ in blocks("cpp")}
    assert pages == {"docs/clients-cpp.md", "docs/importers.md", "docs/adding-a-rule.md"}


@pytest.mark.parametrize("text", samples("json"))
def test_json_samples_parse(text):
    rest = text.replace("{…}", "{}").strip()
    while rest:
        _, end = json.JSONDecoder().raw_decode(rest)
        rest = rest[end:].strip()


@pytest.mark.parametrize("text", samples("toml"))
def test_digd_accepts_toml_samples(text, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("0" * 64)
    secret.chmod(0o600)
    text = re.sub(r'secret_file = "[^"]*"', f'secret_file = "{secret}"', text)
    if "[[token]]" in text:
        (tmp_path / "tokens.toml").write_text(text.replace("…", "0" * 64))
        text = f'tokens = "{tmp_path}/tokens.toml"\n'
    (tmp_path / "digd.toml").write_text(text)
    command = [DIGD, "--config", tmp_path / "digd.toml", "--check-config"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    if "[fleet]" in text and "built without the client of NATS" in done.stderr:
        pytest.skip("this digd was built without the client of NATS: -DDIGD_FLEET=ON")
    assert done.returncode == 0, done.stderr


def help_of(program, *commands, cache={}):  # noqa: B006
    key = (program, *commands)
    if key not in cache:
        command = [PROGRAMS[program], *commands, "--help"]
        cache[key] = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S).stdout
    return cache[key]


def subcommands(text):
    """Help lists them in groups, two columns in; options begin with a dash, arguments are in capitals."""
    return re.findall(r"^  ([a-z][\w-]*)(?:\s{2,}|$)", text, re.MULTILINE)


def command_lines():
    """The command lines of digctl and digd in blocks without a language, or in the columns of one."""
    for place, text in blocks(""):
        for line in text.splitlines():
            for part in re.split(r"\s{2,}|\s&&\s|\s\|\s|\s&(?:\s|$)|;", line):
                words = part.removeprefix("$ ").removeprefix("sudo ")
                if re.match(r"(digctl|digd) [a-z<-]", words):
                    yield pytest.param(words.split(" #")[0], id=f"{place} {words[:40]}")


@pytest.mark.parametrize("line", list(command_lines()))
def test_commands_name_what_exists(line):
    program, *words = shlex.split(line.replace("…", ""), comments=True)
    while words[:1] == ["--fleet"]:  # may stand before the command
        assert "--fleet" in help_of(program), line
        words = words[2:]
    commands = []
    while words and words[0] in subcommands(help_of(program, *commands)):
        commands.append(words.pop(0))
    text = help_of(program, *commands)
    if program == "digctl":
        assert commands, f"{line}: no such command"
    for word in words:
        if word.startswith("-") and len(word) > 1:
            option = word.split("=")[0]
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text), f"{line}: no option {option}"


def test_the_commands_are_found():
    assert len(list(command_lines())) > 30
