"""One meaning per name: what a module defines is defined nowhere else, in words of the field."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

import pytest

import verosim

SOURCE = Path(verosim.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
KIND = "each kind of column has one, with the same meaning"
ALLOWED = {
    "density": KIND,
    "missing": KIND,
    "sample": KIND,
    "seen": KIND,
    "zero": KIND,
    "scorer": "each density has one that leaves rows out, with the same meaning",
}
PICTURES = {
    "contestant", "door", "heard", "judge", "jury", "leaver", "lone", "road", "told", "verdict",
}  # fmt: skip


def defined_in(path: Path) -> set[str]:
    """The public names that a module defines, rather than imports."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (name for target in targets for name in ast.walk(target))
            found |= {name.id for name in names if isinstance(name, ast.Name)}
    return {name for name in found if not name.startswith("_")}


def test_a_name_is_defined_once():
    homes = defaultdict(list)
    for path in FILES:
        for name in defined_in(path):
            homes[name].append(str(path.relative_to(SOURCE)))
    twice = {name: files for name, files in homes.items() if len(files) > 1}
    assert {name: files for name, files in twice.items() if name not in ALLOWED} == {}
    assert not ALLOWED.keys() - twice.keys(), "these need no permission any more"
    for name, reason in ALLOWED.items():
        folders = {Path(file).parent for file in twice[name]}
        assert len(folders) == 1, f"{name}: {reason}"


def words_of(name: str) -> set[str]:
    """The words of an identifier: `leave_one_out`, `LeaveOneOut`, `LEAVE_ONE_OUT`."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_words_of_names():
    assert words_of("_few_ROWSOfThem2") == {"few", "rows", "of", "them"}
    assert words_of("JuryVerdict") & PICTURES == {"jury", "verdict"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_pictures_in_names(path):
    used = words_of(path.stem)
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.NAME:
            used |= words_of(token.string)
    assert not used & PICTURES
