r"""Formulas become MathML when the site is built, so that a page needs no script to show them.

`pymdownx.arithmatex` marks `$…$` and `$$…$$` as \(…\) and \[…\] in elements of the class
"arithmatex". Here each of them is replaced by a `<math>` element.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)


def mathml(latex: str, display: str) -> str:
    """The formula as a `<math>` element; display is "inline" or "block"."""
    latex = html.unescape(latex).strip()
    # Screen readers that do not know MathML read the LaTeX.
    head = f'<math alttext="{html.escape(latex)}" '
    return convert(latex, display=display).replace("<math ", head, 1)


def with_mathml(page: str) -> str:
    """A page's HTML with all of its formulas as MathML."""
    page = INLINE.sub(lambda match: mathml(match[1], "inline"), page)
    return BLOCK.sub(lambda match: f'<div class="formula">{mathml(match[1], "block")}</div>', page)


def on_page_content(html: str, **_: Any) -> str:
    """Called by MkDocs for each page, after Markdown became HTML."""
    return with_mathml(html)
