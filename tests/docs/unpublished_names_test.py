"""No registry has digd's packages, so nothing tells anyone to install one by its name: another's might come."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUFFIXES = {".md", ".py", ".pyi", ".cpp", ".h", ".inc", ".ts", ".mjs", ".js", ".toml", ".yml", ".yaml", ".conf", ".txt"}
# A name of ours right after the command and its options. A file (`./dist/digd-*.whl`) does not begin like one.
BY_NAME = re.compile(
    r"""(?x)
    \b(?: pip3?\ install | uv\ pip\ install | uv\ add | uvx | pipx\ (?:install|run) | npm\ (?:install|i|add)
        | npm\ exec | apt(?:-get)?\ install | (?:docker|podman)\ (?:pull|run) )
    (?: \ -{1,2}[\w-]+ )*                                   # options
    \ ["'`]?(?: digd\b(?![-_][\d*<{v]|:/) | @digd/ | digctl\b )
    """
)


def texts():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if (path.suffix in SUFFIXES or name.startswith("scripts/")) and path != Path(__file__) and path.is_file():
            yield name, path.read_text(errors="replace")


def test_no_text_installs_digd_by_name():
    found = [f"{name}: {match[0]}" for name, text in texts() for match in BY_NAME.finditer(" ".join(text.split()))]
    assert found == []


def test_an_install_by_name_is_found():
    for line in ("pip install 'digd[fleet]'", "pip install --upgrade digd", "npm install @digd/client", "uvx digd"):
        assert BY_NAME.search(line), line
    for line in ("pip install ./dist/digd-*.whl", "npm install ./dist/digd-*.tgz", "podman run localhost/digd:0.1.0"):
        assert not BY_NAME.search(line), line
