"""One page as one file: a template, one style, one script, and the numbers as JSON.

The policy of the page allows only its own script and its own style, by their hashes. The page loads
nothing. All texts of the data pass through the template, which escapes them, or through the JSON.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from hashlib import sha256
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined

import verosim
from verosim.errors import VerosimError
from verosim.insight.report.scripts import asset, page_script

TEMPLATE_ONLY = ("finding: ", "why: ", "role ")  # the starts of keys
LANGUAGES = ("en", "es")
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "script-src 'sha256-{script}'; style-src 'sha256-{style}'"
)


@cache
def catalogue(language: str) -> dict[str, str]:
    """All texts of the pages in one language."""
    if language not in LANGUAGES:
        raise VerosimError(
            f"language must be one of {', '.join(LANGUAGES)}; got {language!r}.",
            'Use language="en" or language="es".',
        )
    found: dict[str, str] = json.loads(asset(f"words.{language}.json"))
    return found


def escaped_json(data: Any) -> str:
    """JSON that can be inside an HTML page: it cannot end the block, and it has no NaN."""
    text = json.dumps(_finite(data), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for sign, escape in ESCAPES.items():
        text = text.replace(sign, escape)
    return _writable(text)


def _writable(text: str) -> str:
    """The text without halves of surrogate pairs, which UTF-8 cannot write."""
    return text.encode("utf-8", "replace").decode()


def rendered(template: str, language: str, data: dict[str, Any], **values: Any) -> str:
    """The page of a template: `data` is for the script, `values` are for the template."""
    words, script, style = catalogue(language), page_script(), asset("page.css")
    policy = POLICY.format(script=_hash(script), style=_hash(style))
    page = _environment().get_template(template).render(
        lang=language, words=words, policy=policy, script=script, style=style,
        json=escaped_json({"language": language, "words": _of_script(words), **data}),
        version=verosim.__version__, **values,
    )  # fmt: skip
    return _writable(page)


def _of_script(words: dict[str, str]) -> dict[str, str]:
    """The texts without the patterns that only the template needs."""
    return {key: text for key, text in words.items() if not key.startswith(TEMPLATE_ONLY)}


@cache
def _environment() -> Environment:
    names = ("shell.html", "frame.html", "nomogram.html", "report.html")
    loader = DictLoader({name: asset(name) for name in names})
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters["filled"] = filled
    return made


def filled(text: str, **values: Any) -> str:
    """A text of a catalogue with values in the place of their names."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def _hash(text: str) -> str:
    return base64.b64encode(sha256(text.encode()).digest()).decode()


def _finite(value: Any) -> Any:
    """The data with null in place of NaN and infinities."""
    if isinstance(value, dict):
        return {str(name): _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    if isinstance(value, float) and not (-1.8e308 < value < 1.8e308):
        return None
    return value
