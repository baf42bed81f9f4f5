"""The script and the style of a page: small files, joined_files in their order."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

# The evaluator uses nothing of a browser, so that it can run anywhere.
EVALUATOR = (
    "numbers.js", "hashes.js", "tokens.js", "readings.js", "terms.js", "program.js",
)  # fmt: skip


@cache
def asset(name: str) -> str:
    """The text of a file of the page."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def joined_files(names: tuple[str, ...]) -> str:
    """Some files one after another."""
    return "\n".join(asset(name) for name in names)


def evaluator() -> str:
    """The script that evaluates programs and divides texts into tokens."""
    return joined_files(EVALUATOR)


# Everything else needs a page.
PAGE = (*EVALUATOR, "contributions.js", "charts.js", "sections.js", "nomogram.js", "start.js")


@cache
def page_script() -> str:
    """The one script of a page. Nothing of it is visible to other scripts."""
    return f'"use strict";\n(() => {{\n{joined_files(PAGE)}\n}})();\n'
