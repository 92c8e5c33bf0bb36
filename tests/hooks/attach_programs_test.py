"""digctl attach for Codex, Gemini CLI and opencode; attach_test.py tests it for Claude Code."""

import json

import pytest
from attach_test import OWN_HOOK, digctl

# The settings in the home and in the project, the hooks that digd answers, and the version that digd was tried with.
CODEX_HOOKS = "UserPromptSubmit PreToolUse PostToolUse SubagentStart SubagentStop Stop Interrupt SessionEnd"
PROGRAMS = {
    "codex": (".codex/hooks.json", ".codex/hooks.json", CODEX_HOOKS, "0.169.0"),
    "gemini": (
        ".gemini/settings.json",
        ".gemini/settings.json",
        "BeforeAgent BeforeTool AfterTool AfterAgent SessionEnd",
        "0.61.0",
    ),
    "opencode": (".config/opencode/plugins/digd.js", ".opencode/plugins/digd.js", "", "1.18.33"),
}
WITH_HOOKS = [program for program, (_, _, hooks, _) in PROGRAMS.items() if hooks]


def put_program(folder, program: str, version: str) -> dict[str, str]:
    """Puts a program on the PATH that prints a version; returns the environment."""
    (folder / "bin").mkdir(exist_ok=True)
    path = folder / "bin" / program
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}


@pytest.mark.parametrize("program", WITH_HOOKS)
def test_attach_keeps_the_rest_and_remove_restores_it(tmp_path, program):
    file, _, hooks, _ = PROGRAMS[program]
    settings = tmp_path / file
    settings.parent.mkdir()
    first = hooks.split()[1]
    before = {"theme": "dark", "hooks": {first: [OWN_HOOK], "Notification": [OWN_HOOK]}, "z": [1, {"a": None}]}
    settings.write_text(json.dumps(before))

    shown = digctl("attach", program, "--dry-run", cwd=tmp_path)
    assert shown.returncode == 0
    assert all(f"+ hooks.{hook}: " in shown.stderr for hook in hooks.split())
    assert json.loads(settings.read_text()) == before

    done = digctl("attach", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    after = json.loads(settings.read_text())
    assert [after["theme"], after["z"], after["hooks"]["Notification"]] == ["dark", [1, {"a": None}], [OWN_HOOK]]
    assert after["hooks"][first][0] == OWN_HOOK
    commands = {after["hooks"][hook][-1]["hooks"][0]["command"] for hook in hooks.split()}
    assert commands == {f"digctl hook {program} --mode shadow"}
    assert json.loads((settings.parent / f"{settings.name}.before-digd").read_text()) == before

    assert "needs no change" in digctl("attach", program, cwd=tmp_path).stderr
    assert json.loads(settings.read_text()) == after
    assert digctl("attach", program, "enforce", cwd=tmp_path).returncode == 0
    entries = json.loads(settings.read_text())["hooks"][hooks.split()[-1]]
    assert [entry["hooks"][0]["command"] for entry in entries] == [f"digctl hook {program} --mode enforce"]
    assert digctl("attach", program, "--remove", cwd=tmp_path).returncode == 0
    assert json.loads(settings.read_text()) == before
    assert "needs no change" in digctl("attach", program, "--remove", cwd=tmp_path).stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_attach_to_a_project_leaves_the_users_settings_alone(tmp_path, program):
    user, project, _, _ = PROGRAMS[program]
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    done = digctl("attach", program, "--project", cwd=folder, env={"HOME": str(home)})
    assert done.returncode == 0, done.stderr
    assert (folder / project).exists()
    assert not (home / user).exists()
    assert digctl("attach", program, "--user", cwd=folder, env={"HOME": str(home)}).returncode == 0
    assert (home / user).exists()
    assert digctl("attach", program, "--user", "--project", cwd=folder).returncode == 2
    assert digctl("attach", program, "--project", "--remove", cwd=folder, env={"HOME": str(home)}).returncode == 0
    assert program in (home / user).read_text(), "the user's settings keep the hooks"


@pytest.mark.parametrize("variable", ["CODEX_HOME", "OPENCODE_CONFIG_DIR", "XDG_CONFIG_HOME"])
def test_attach_writes_where_the_program_reads(tmp_path, variable):
    program = "codex" if variable == "CODEX_HOME" else "opencode"
    ends = {"CODEX_HOME": "hooks.json", "OPENCODE_CONFIG_DIR": "plugins/digd.js"}
    done = digctl("attach", program, cwd=tmp_path, env={variable: str(tmp_path / "elsewhere")})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "elsewhere" / ends.get(variable, "opencode/plugins/digd.js")).exists()


@pytest.mark.parametrize("program", WITH_HOOKS)
def test_attach_changes_nothing_in_settings_that_it_cannot_read(tmp_path, program):
    settings = tmp_path / PROGRAMS[program][0]
    settings.parent.mkdir()
    for text in ["{", "[]", '{"hooks":[]}']:
        settings.write_text(text)
        done = digctl("attach", program, cwd=tmp_path)
        assert (done.returncode, settings.read_text()) == (2, text)
        assert "Nothing was changed" in done.stderr
        assert list(settings.parent.iterdir()) == [settings]


@pytest.mark.parametrize("program", PROGRAMS)
def test_check_passes_once_hooks_version_and_daemon_are_there(tmp_path, daemon, program):
    _, _, hooks, tried = PROGRAMS[program]

    def check(*to, env):
        return digctl("attach", program, "--check", "--to", *to, cwd=tmp_path, env=env)

    env = put_program(tmp_path, program, tried)
    missing = check(daemon.address, env=env)
    assert missing.returncode == 1
    assert ("is not there" if not hooks else f"has 0 of {len(hooks.split())} hooks") in missing.stderr

    assert digctl("attach", program, "--to", daemon.address, cwd=tmp_path, env=env).returncode == 0
    ready = check(daemon.address, env=env)
    assert ready.returncode == 0, ready.stderr
    assert tried in ready.stderr
    assert "work" in ready.stderr
    assert "digd answers at" in ready.stderr

    assert check("127.0.0.1:1", env=env).returncode == 1
    old = check(daemon.address, env=put_program(tmp_path, program, "0.1.0"))
    assert old.returncode == 1
    assert f"0.1.0 is older than {tried}" in old.stderr
    (tmp_path / "bin" / program).unlink()
    unknown = check(daemon.address, env=env)
    assert unknown.returncode == 1
    assert "not on the PATH" in unknown.stderr


@pytest.mark.parametrize("program", WITH_HOOKS)
def test_check_misses_a_hook_that_was_removed_by_hand(tmp_path, daemon, program):
    file, _, hooks, tried = PROGRAMS[program]
    env = put_program(tmp_path, program, tried)
    assert digctl("attach", program, "--to", daemon.address, cwd=tmp_path, env=env).returncode == 0
    settings = json.loads((tmp_path / file).read_text())
    del settings["hooks"][hooks.split()[0]]
    (tmp_path / file).write_text(json.dumps(settings))
    done = digctl("attach", program, "--check", "--to", daemon.address, cwd=tmp_path, env=env)
    wanted = len(hooks.split())
    assert (done.returncode, f"has {wanted - 1} of {wanted} hooks" in done.stderr) == (1, True)


def test_the_plugin_of_opencode_needs_an_address(tmp_path):
    done = digctl("attach", "opencode", "--to", "unix:/run/digd/digd.sock", cwd=tmp_path)
    assert done.returncode == 2
    assert "--to HOST:PORT" in done.stderr
    assert not (tmp_path / ".config").exists()


def test_the_plugin_of_opencode_holds_no_token(tmp_path):
    assert digctl("attach", "opencode", cwd=tmp_path, env={"DIGD_TOKEN": "secret"}).returncode == 0
    plugin = (tmp_path / PROGRAMS["opencode"][0]).read_text()
    assert "secret" not in plugin
    assert "process.env.DIGD_TOKEN" in plugin
