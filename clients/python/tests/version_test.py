"""The version comes from one source: the project's version in CMakeLists.txt."""

import re

import digd
from client_helpers import ROOT


def test_the_version_is_that_of_the_project():
    (version,) = re.findall(r"^project\(digd VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    assert digd.__version__ == version


def test_the_hello_names_the_version():
    assert digd.Run()._conversation.hello["client"] == {"name": "digd-python", "version": digd.__version__}
