r"""Formulas become MathML when the site is built, so that a page needs no script to show them.

`pymdownx.arithmatex` marks `$…$` and `$$…$$` as \(…\) and \[…\] in elements of the class
"arithmatex". Here each of them is replaced by a `<math>` element.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
# What the converter does not know, and what to write for it.
KNOWN_AS = {
    r"\begin{aligned}": r"\begin{align*}",
    r"\end{aligned}": r"\end{align*}",
    r"\arg\max": r"\operatorname*{argmax}",
    r"\arg\min": r"\operatorname*{argmin}",
}
FUNCTION = re.compile(r"<m[io][^>]*>(log|ln|exp|max|min|argmax|argmin|det|tr|diag|sign)</m[io]>")
BAR = re.compile(r"<mo( [^>]*)?>(&#x0007C;|&#x02016;)</mo>")  # |x| and ‖x‖
BRACKET = '<mo stretchy="false">&#x00028;'


def mathml(latex: str, display: str) -> str:
    """The formula as a `<math>` element; display is "inline" or "block"."""
    latex = html.unescape(latex).strip()
    known = latex
    for unknown, instead in KNOWN_AS.items():
        known = known.replace(unknown, instead)
    found = convert(known, display=display)
    if unknown := re.search(r"<m\w+>(\\[a-zA-Z]+)", found):
        raise PluginError(f"The formula {latex!r} has an unknown command: {unknown[1]}")
    # Screen readers that do not know MathML read the LaTeX.
    head = f'<math alttext="{html.escape(latex)}" '
    return spaced(found).replace("<math ", head, 1)


def spaced(found: str) -> str:
    """Names of functions and bars with the spaces that TeX puts around them."""

    def space(match: re.Match[str]) -> str:
        after = "0" if found.startswith(BRACKET, match.end()) else "0.17em"
        return f'<mo form="prefix" lspace="0.17em" rspace="{after}">{match[1]}</mo>'

    found = FUNCTION.sub(space, found)
    return BAR.sub(r'<mo lspace="0" rspace="0"\1>\2</mo>', found)


def with_mathml(page: str) -> str:
    """A page's HTML with all of its formulas as MathML."""
    page = INLINE.sub(lambda match: mathml(match[1], "inline"), page)
    return BLOCK.sub(
        lambda match: f'<div class="formula" data-search-exclude>{mathml(match[1], "block")}</div>',
        page,
    )


def on_page_content(html: str, **_: Any) -> str:
    """Called by MkDocs for each page, after Markdown became HTML."""
    return with_mathml(html)
