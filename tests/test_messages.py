"""Messages have one form: what happened and where, then what to do; two sentences at most."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import verosim

SOURCE = Path(verosim.__file__).parent
ERRORS = {"VerosimError", "NotFitted"}
VALUE = "‹value›"  # stands for what is filled in when the message is made


@dataclass(frozen=True)
class Message:
    """The text of one `raise VerosimError(what, hint)` or `warn(text)`, values left out."""

    place: str
    what: str
    hint: str | None

    def __str__(self) -> str:
        return self.place


def text_of(node: ast.expr) -> str | None:
    """The text that an expression gives, or None if it is not written here."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [p.value if isinstance(p, ast.Constant) else VALUE for p in node.values]
        return "".join(str(part) for part in parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [text_of(node.left), text_of(node.right)]
        return "".join(VALUE if side is None else side for side in sides)
    return None


def messages() -> list[Message]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "id", "")
            place = f"{path.relative_to(SOURCE)}:{node.lineno}"
            what = text_of(node.args[0])
            if what is not None and name in ERRORS:
                hint = text_of(node.args[1]) if len(node.args) > 1 else None
                found.append(Message(place, what, hint))
            elif what is not None and name == "warn":
                found.append(Message(place, what, None))
    return found


MESSAGES = messages()


def sentences(text: str) -> int:
    """How many sentences a text has: a stop before a space and a capital letter, or at the end."""
    text = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\([^)]*\)", VALUE, text)
    return 1 + len(re.findall(r"[.?!] +(?=[A-Z‹])", text.strip()))


def test_sentences():
    assert sentences("One.") == 1
    assert sentences("Column 'a. B' is empty. Drop it.") == 2


def test_there_are_messages():
    assert len(MESSAGES) > 200


@pytest.mark.parametrize("message", MESSAGES, ids=str)
def test_form(message):
    what, hint = message.what.rstrip(), message.hint
    assert what.endswith((".", VALUE)), "the message ends with a full stop"
    named = "=" in what.split()[0] or "(" in what or " must " in what
    assert what[0].isupper() or not what[0].isalpha() or named, (
        "it starts with a capital letter, or with the name of an argument"
    )
    if hint is None:
        assert sentences(what) <= 2
        return
    assert sentences(what) == 1
    assert sentences(hint) == 1
    assert hint[0].isupper() or not hint[0].isalpha(), "the hint is a sentence"
    assert hint.rstrip().endswith((".", "?", VALUE)), "the hint ends with a full stop"


@pytest.mark.parametrize("message", MESSAGES, ids=str)
def test_no_internal_names(message):
    text = f"{message.what} {message.hint or ''}"
    assert not re.search(r"__\w+__|\b_\w+|\bself\b|\bcls\b", text)
    public = set(verosim.__all__) | {"GridSearchCV", "LabelEncoder"}
    for name in re.findall(r"\b([A-Z]\w+)\.\w+\(", text):
        assert name in public, f"{name} is a name of the code, not of the user"
