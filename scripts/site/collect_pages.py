#!/usr/bin/env python3
"""Copies the Markdown pages of the repository into one folder for mkdocs, and adapts their links.

    scripts/site/collect_pages.py FOLDER

Pages link as on a code host: relative to their place in the repository. A link to a file that is not a page becomes the
file's name. A link to a file that does not exist is an error. mkdocs checks the links between pages.
"""

import ast
import json
import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Pages outside docs/, and their place on the site.
OTHERS = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security-policy.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "packaging/README.md": "packaging.md",
}
NAMED_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
# Files of the site that are not pages.
FILES = {"scripts/site/site.css": "site.css", "dashboard/public/favicon.svg": "logo.svg"}
API_PYTHON = """# The API of the Python client

::: digd
    options:
      members: MEMBERS
      inherited_members: true

::: digd.sync
    options:
      inherited_members: true

::: digd.langgraph

::: digd.openai_agents

::: digd.autogen
"""


def place_on_site(source):
    """Where a file of the repository is on the site; None if it is neither a page nor a picture of a page."""
    name = source.relative_to(ROOT).as_posix()
    if name in OTHERS:
        return Path(OTHERS[name])
    if name.startswith("docs/") and source.suffix in (".md", ".svg", ".png", ".gif", ".json"):
        return source.relative_to(ROOT / "docs")
    return None


def adapted(source, text, problems):
    here = place_on_site(source)

    def change(match):
        picture, label, target = match.groups()
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return match[0]
        path, _, anchor = target.partition("#")
        file = (source.parent / path).resolve()
        if not file.exists():
            problems.append(f"{source.relative_to(ROOT)}: link to {target}, which does not exist")
            return match[0]
        there = place_on_site(file) if file.is_file() else None
        if there is None:
            shown = file.relative_to(ROOT).as_posix()
            return label if shown in label or "`" in label else f"{label} (`{shown}`)"
        relative = os.path.relpath(there, here.parent)
        return f"{picture}[{label}]({relative}{'#' + anchor if anchor else ''})"

    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else NAMED_LINK.sub(change, part) for part in parts)


def public_names():
    """The classes and functions that the Python client exports, as it lists them."""
    tree = ast.parse((ROOT / "clients/python/src/digd/__init__.py").read_text())
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    names = next(ast.literal_eval(node.value) for node in assigned if node.targets[0].id == "__all__")
    return [name for name in names if name not in ("__version__", "sync")]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    problems = []
    sources = [*(ROOT / "docs").rglob("*"), *(ROOT / name for name in OTHERS)]
    for source in sorted(sources):
        place = place_on_site(source) if source.is_file() else None
        if place is None or "typedoc" in source.parts:
            continue
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            (folder / place).write_text(adapted(source, source.read_text(), problems))
        else:
            shutil.copy(source, folder / place)
    for source, place in FILES.items():
        shutil.copy(ROOT / source, folder / place)
    (folder / "api-python.md").write_text(API_PYTHON.replace("MEMBERS", json.dumps(public_names())))
    sys.exit("\n".join(problems) or 0)


if __name__ == "__main__":
    main()
