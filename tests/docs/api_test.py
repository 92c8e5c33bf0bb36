"""The API reference of the Python client lists every public name, so every public name needs a docstring.

scripts/build-site makes the reference, and leaves out names without one. It checks the TypeScript client itself.
"""

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = re.findall(r"^::: (digd\S*)$", (ROOT / "scripts/site/collect_pages.py").read_text(), re.MULTILINE)


def is_own(value):
    return getattr(value, "__module__", "").split(".")[0] == "digd"


def public_names(module):
    return getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]


def members(kind):
    """The public methods and properties of a class that digd defines, also inherited ones."""
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        function = value.fget if isinstance(value, property) else inspect.unwrap(getattr(value, "__func__", value))
        if not name.startswith("_") and inspect.isfunction(function) and is_own(function):
            yield name, inspect.getdoc(getattr(kind, name))


def undocumented(module):
    for name in public_names(module):
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)) or not is_own(value):
            continue
        # dataclass makes a docstring of the fields for a class without one.
        if not value.__doc__ or value.__doc__.startswith(f"{name}("):
            yield name
        if inspect.isclass(value):
            yield from (f"{name}.{member}" for member, text in members(value) if not text)


def test_the_reference_covers_the_client_and_its_adapters():
    assert {"digd", "digd.sync", "digd.langgraph", "digd.openai_agents", "digd.autogen"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_has_a_docstring(name):
    module = importlib.import_module(name)
    assert inspect.getdoc(module)
    assert list(undocumented(module)) == []


def test_a_missing_docstring_is_found():
    module = importlib.import_module("digd.sync")
    documented = module.Run.emit.__doc__
    try:
        module.Run.emit.__doc__ = None
        assert list(undocumented(module)) == ["Run.emit"]
    finally:
        module.Run.emit.__doc__ = documented
