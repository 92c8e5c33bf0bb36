"""mypy checks the package strictly, and a user's program against it."""

import subprocess
import sys

from client_helpers import ROOT

PROGRAM = '''
import digd

async def main() -> None:
    async with digd.Run("r", agents=["a"]) as run:
        verdict: digd.Verdict = await run.emit(["a"], payload={"x": 1})
        async with run.activation("a", [verdict]) as a:
            a.wait(verdict)
            text: str = a.output(["b"], "hi")

        @run.on_intervention
        async def heal(intervention: digd.Intervention) -> bool:
            return True

def threads() -> None:
    with digd.sync.Run("r") as run:
        reveal: str | None = run.emit(["a"]).as_is
'''


def mypy(*args, cwd):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / "build" / "mypy"), *args]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_strictly_typed():
    mypy("src/digd", cwd=ROOT / "clients" / "python")


def test_a_program_that_uses_the_package_is_type_checked(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    mypy("program.py", cwd=tmp_path)
