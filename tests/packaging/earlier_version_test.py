"""The earlier versions that scripts/test-packages installs first are packages that pip and npm accept."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
from earlier_version import EARLIER, earlier_npm, earlier_wheel, version_of  # noqa: E402

INFO = "digd-0.1.0.dist-info"


def make_wheel(folder):
    wheel = folder / "digd-0.1.0-py3-none-manylinux_2_36_x86_64.whl"
    names = ["digd/__init__.py", f"{INFO}/METADATA", f"{INFO}/WHEEL", f"{INFO}/RECORD"]
    texts = ["", "Metadata-Version: 2.1\nName: digd\nVersion: 0.1.0\n"]
    texts += ["Wheel-Version: 1.0\nTag: py3-none-any\nRoot-Is-Purelib: true\n", "".join(f"{n},,\n" for n in names)]
    with zipfile.ZipFile(wheel, "w") as made:
        for name, text in zip(names, texts, strict=True):
            made.writestr(name, text)
    return wheel


def test_pip_installs_the_earlier_wheel_and_then_upgrades_it(tmp_path):
    wheel = make_wheel(tmp_path)
    (tmp_path / "earlier").mkdir()
    earlier = earlier_wheel(wheel, tmp_path / "earlier")
    assert (version_of(wheel), version_of(earlier)) == ("0.1.0", EARLIER)
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=120)
    # pip takes a client in PYTHONPATH for the installed one, and then upgrades nothing.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for package, version in ((earlier, EARLIER), (wheel, "0.1.0")):
        # The platform's tag is in the name only; pip on any machine takes the file under a plain name.
        plain = tmp_path / f"digd-{version}-py3-none-any.whl"
        plain.write_bytes(package.read_bytes())
        pip = [sys.executable, "-m", "pip", "--python", venv, "--quiet", "install", "--no-index", "--no-deps"]
        subprocess.run([*pip, plain], env=environment, check=True, timeout=120)
        assert [path.name for path in venv.rglob("*.dist-info")] == [f"digd-{version}.dist-info"]


def test_the_earlier_npm_package_depends_on_earlier_programs(tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()
    dependencies = {"@digd/linux-x64": "0.1.0", "other": "0.1.0"}
    described = {"name": "digd", "version": "0.1.0", "optionalDependencies": dependencies}
    (folder / "package.json").write_text(json.dumps(described))
    (folder / "digd.mjs").write_text("// the launcher\n")
    package = tmp_path / "digd-0.1.0.tgz"
    with tarfile.open(package, "w:gz") as made:
        made.add(folder, "package")
    (tmp_path / "earlier").mkdir()
    with tarfile.open(earlier_npm(package, tmp_path / "earlier")) as made:
        read = {member.name: made.extractfile(member).read() for member in made if member.isfile()}
    assert read["package/digd.mjs"] == b"// the launcher\n"
    written = json.loads(read["package/package.json"])
    assert written["version"] == EARLIER
    assert written["optionalDependencies"] == {"@digd/linux-x64": EARLIER, "other": "0.1.0"}
