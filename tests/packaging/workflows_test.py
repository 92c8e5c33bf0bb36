"""The workflows and scripts/check-release call scripts that exist, with options that these have."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RELEASE = ROOT / ".github/workflows/release.yml"
CALL = re.compile(r"(?<![\w./$-])((?:scripts|\.ci)/[\w.-]+)([^\n|&;>)]*)")


def steps_of(workflow):
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        yield from job["steps"]


def calls():
    """Each call of a script, with where it is."""
    texts = [
        (workflow.name, step["run"])
        for workflow in sorted(RELEASE.parent.glob("*.yml"))
        for step in steps_of(workflow)
        if "run" in step
    ]
    listed = re.findall(r'^  "([\w-]+)\|[^|]*\|(.*)"$', (ROOT / "scripts/check-release").read_text(), re.MULTILINE)
    texts += [(f"check-release {name}", command) for name, command in listed]
    return [(where, script, words.split()) for where, text in texts for script, words in CALL.findall(text)]


def step_named(beginning):
    return next(step["run"] for step in steps_of(RELEASE) if step.get("name", "").startswith(beginning))


def run_step(beginning, folder, **env):
    return subprocess.run(["bash", "-e", "-c", step_named(beginning)], cwd=folder, env={**os.environ, **env})


def test_there_are_calls_to_check():
    scripts = {script for _, script, _ in calls()}
    assert {".ci/run", "scripts/package", "scripts/test-package", "scripts/test-packages", "scripts/lint"} <= scripts


@pytest.mark.parametrize("where, script, words", calls(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_call_names_a_script_and_words_that_it_knows(where, script, words):
    path = ROOT / script
    assert os.access(path, os.X_OK), f"{where}: {script} does not exist"
    text = path.read_text()
    for word in words:
        if re.fullmatch(r"--?[a-z][\w-]*|[a-z][a-z0-9-]*", word):
            assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text), f"{where}: {script} has no {word}"


@pytest.mark.parametrize("arguments", [["--arch", "mips"], ["floppy"], ["--arch", "arm64", "deb"]])
def test_package_refuses_what_it_does_not_know(arguments):
    done = subprocess.run([ROOT / "scripts/package", *arguments], capture_output=True, text=True)
    assert done.returncode == 1
    assert f": {arguments[-1]}; expected" in done.stderr


def test_a_tag_of_another_version_stops_the_release():
    version = re.search(r"^project\(digd VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    assert run_step("The tag names the version", ROOT, GITHUB_REF_NAME=f"v{version}").returncode == 0
    assert run_step("The tag names the version", ROOT, GITHUB_REF_NAME="v99.0.0").returncode != 0


def test_the_release_notes_are_the_first_section_of_the_changelog(tmp_path):
    (tmp_path / "build").mkdir()
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    assert run_step("The section of the changelog", tmp_path).returncode == 0
    notes = (tmp_path / "build/release-notes.md").read_text()
    assert notes.count("\n## [") == 0 and len(notes.splitlines()) > 3


def test_the_release_has_the_packages_of_both_architectures_with_their_checksums(tmp_path):
    names = ["digd-0.1.0-py3-none-manylinux_2_36_{uname}.whl", "digd-linux-{cpu}-0.1.0.tgz", "digd-0.1.0.tgz"]
    names += ["digd-client-0.1.0.tgz", "digd_0.1.0+bundled_{deb}.deb", "digd-0.1.0-oci-{deb}.tar"]
    names += ["sbom.spdx.json", "SHA256SUMS"]
    for folder, words in {
        "dist": {"uname": "x86_64", "cpu": "x64", "deb": "amd64"},
        "dist/arm64": {"uname": "aarch64", "cpu": "arm64", "deb": "arm64"},
    }.items():
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name.format(**words)).write_text(folder)
    assert run_step("Put the packages for arm64", tmp_path).returncode == 0
    made = {path.name: path.read_text() for path in (tmp_path / "dist").iterdir()}
    sums = made.pop("SHA256SUMS")
    assert len(made) == 12 and sum(text == "dist/arm64" for text in made.values()) == 5
    assert {line.split()[1] for line in sums.splitlines()} == set(made)
    assert subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path / "dist").returncode == 0


def test_the_npm_package_of_a_release_names_both_architectures(tmp_path):
    program, output, *trees = step_named("Make the npm package digd").split()
    assert output == "dist" and trees == ["build/package/portable", "build/package-arm64/portable"]
    for number, tree in enumerate(trees):
        (tmp_path / tree / "bin").mkdir(parents=True)
        # The beginning of an ELF file: byte 18 is the machine.
        machine = (62, 183)[number]
        (tmp_path / tree / "bin/digd").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + bytes([machine, 0]) + bytes(44))
    done = subprocess.run([ROOT / program, output, *trees], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = next((tmp_path / "dist").glob("digd-[0-9]*.tgz"))
    with tarfile.open(made) as archive:
        package = json.load(archive.extractfile("package/package.json"))
    assert set(package["optionalDependencies"]) == {"@digd/linux-x64", "@digd/linux-arm64"}
