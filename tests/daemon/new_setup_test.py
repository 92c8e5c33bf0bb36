"""digd init: its files work together."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from live import DIGCTL, DIGD, TIMEOUT_S, Daemon

FILES = {"digd.toml", "tokens.toml", "token", "digd.service"}


def init(folder, *args):
    return subprocess.run([DIGD, "init", folder, *args], capture_output=True, text=True, timeout=TIMEOUT_S)


@pytest.fixture
def setup(tmp_path):
    folder = tmp_path / "a folder"
    done = init(folder, "--listen", "127.0.0.1:0")
    assert done.returncode == 0, done.stderr
    return folder


def test_only_the_owner_can_read_the_files(setup):
    assert {path.name for path in setup.iterdir()} == FILES
    assert setup.stat().st_mode & 0o77 == 0
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in setup.iterdir())


def test_digd_accepts_the_configuration(setup):
    command = [DIGD, "--config", setup / "digd.toml", "--check-config"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    assert f'data_dir = "{setup}/data"' in done.stdout


def test_the_daemon_wants_the_token_that_was_made(setup, tmp_path):
    daemon = Daemon(tmp_path / "daemon", (setup / "digd.toml").read_text())
    daemon.start()
    try:
        runs = [DIGCTL, "runs", "--to", daemon.address]
        env = {k: v for k, v in os.environ.items() if k != "DIGD_TOKEN"}
        assert subprocess.run(runs, env=env, capture_output=True, timeout=TIMEOUT_S).returncode == 2
        allowed = subprocess.run(
            [*runs, "--token-file", setup / "token"], env=env, capture_output=True, timeout=TIMEOUT_S
        )
        assert allowed.returncode == 0, allowed.stderr
    finally:
        daemon.process.terminate()
        daemon.process.wait(TIMEOUT_S)


def test_the_unit_starts_this_digd_with_that_configuration(setup):
    start = next(line for line in (setup / "digd.service").read_text().splitlines() if line.startswith("ExecStart="))
    program, option, config = shlex.split(start.removeprefix("ExecStart="))
    assert Path(program) == Path(DIGD).resolve()
    assert (option, Path(config)) == ("--config", setup / "digd.toml")


@pytest.mark.parametrize("name", sorted(FILES))
def test_an_existing_file_stops_it_before_it_writes_one(tmp_path, name):
    (tmp_path / name).write_text("mine")
    done = init(tmp_path)
    assert done.returncode == 2
    assert name in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_wrong_address_is_an_error(tmp_path):
    done = init(tmp_path / "new", "--listen", "nowhere")
    assert done.returncode == 2
    assert "--listen" in done.stderr
    assert not (tmp_path / "new").exists()
