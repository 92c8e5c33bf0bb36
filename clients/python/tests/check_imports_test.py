"""scripts/check-imports finds cycles and includes outside the layers. A copy of it checks a small tree."""

import shutil
import subprocess
import sys

import pytest

from client_helpers import ROOT

PACKAGE = "clients/python/src/digd"
SOURCES = "clients/typescript/src"


@pytest.fixture
def check(tmp_path):
    """Writes files below a copy of the script, and runs it. Returns its exit code and output."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/check-imports", tmp_path / "scripts")

    def run(language, files):
        manifests = {
            "clients/typescript/package.json": '{"imports": {"#port": "./dist/port.js"}}',
            "dashboard/package.json": "{}",
        }
        for name, text in {**manifests, **files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        command = [sys.executable, tmp_path / "scripts/check-imports", language]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout

    return run


@pytest.mark.parametrize(
    "language, files, cycle",
    [
        (
            "cpp",
            {"net/a.h": '#include "mcp/b.h"\n', "mcp/b.h": '#include "c.inc"\n', "mcp/c.inc": '# include "net/a.h"\n'},
            "cpp folders: cycle mcp -> net -> mcp",
        ),
        (
            "cpp",
            {"net/a.h": '#include "net/b/b.h"\n', "net/b/b.h": '#include "net/c.h"\n', "net/c.h": ""},
            "cpp folders: cycle net -> net/b -> net",
        ),
        (
            "cpp",
            {"net/a.h": "", "net/a.cpp": '#include "net/b.h"\n', "net/b.h": "", "net/b.cpp": '#include "net/a.h"\n'},
            "cpp units: cycle net/a -> net/b -> net/a",
        ),
        (
            "python",
            {f"{PACKAGE}/a.py": "from .b import x\n", f"{PACKAGE}/b.py": "def f():\n    from . import a\n"},
            "digd.a -> digd.b -> digd.a",
        ),
        (
            "python",
            {
                f"{PACKAGE}/a.py": "from .part.b import x\n",
                f"{PACKAGE}/part/__init__.py": "",
                f"{PACKAGE}/part/b.py": "from ..c import x\n",
                f"{PACKAGE}/c.py": "",
            },
            "python packages: cycle digd -> digd.part -> digd",
        ),
        (
            "typescript",
            {
                f"{SOURCES}/a.ts": 'import {\n  b,\n  type C,\n} from "./b.js";\n',
                f"{SOURCES}/b.ts": 'export * from "./a.js";\n',
            },
            f"{SOURCES}/a.ts -> {SOURCES}/b.ts -> {SOURCES}/a.ts",
        ),
        (
            "typescript",
            {f"{SOURCES}/a.ts": 'import x from "#port";\n', f"{SOURCES}/port.ts": 'await import("./a.js");\n'},
            f"{SOURCES}/a.ts -> {SOURCES}/port.ts -> {SOURCES}/a.ts",
        ),
    ],
)
def test_a_cycle_is_reported_with_exit_code_1(check, language, files, cycle):
    code, output = check(language, files)
    assert code == 1 and cycle in output


@pytest.mark.parametrize(
    "language, files",
    [
        (
            "cpp",
            {
                "daemon/a.h": '#include "net/b.h"\n',
                "net/b.h": "#include <daemon/a.h>\n",
                "net/b.cpp": '#include "net/b.h"\n',
                "tests/t.h": '#include "daemon/a.h"\n',
            },
        ),
        (
            "python",
            {
                f"{PACKAGE}/a.py": "from . import b\n",
                f"{PACKAGE}/b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import a\n",
            },
        ),
        (
            "typescript",
            {
                f"{SOURCES}/a.ts": 'import { b } from "./b.js";\n',
                f"{SOURCES}/b.ts": 'import type { A } from "./a.js";\nimport { type B } from "./a.js";\n',
            },
        ),
    ],
)
def test_type_only_imports_and_foreign_includes_form_no_cycle(check, language, files):
    code, output = check(language, files)
    assert code == 0 and "cycle " not in output


@pytest.mark.parametrize(
    "files, finding",
    [
        (
            {"model/a.h": '#include "rules/b.h"\n', "rules/b.h": ""},
            'cpp layers: model may not include rules\n  model/a.h:1: #include "rules/b.h"\n',
        ),
        (
            {"ingest/otlp/a.h": '#include "ingest/trace/b.h"\n#include "net/c.h"\n', "net/c.h": ""},
            'cpp layers: ingest/otlp may not include net\n  ingest/otlp/a.h:2: #include "net/c.h"\n',
        ),
        ({"daemon/fleet/homes/a.h": '#include "net/c.h"\n', "net/c.h": ""}, "daemon/fleet/homes may not include net"),
        ({"attic/a.h": ""}, "cpp layers: attic is in no layer: add a line for it to LAYERS\n"),
    ],
)
def test_an_include_that_the_layers_do_not_allow_is_reported_with_exit_code_1(check, files, finding):
    code, output = check("cpp", files)
    assert code == 1 and finding in output and "cycle " not in output
