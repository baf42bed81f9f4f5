"""Figures in tables stay on one line: "5.9 ms" and "0.8264 / 0.4409" are not broken."""

from __future__ import annotations

import re
from typing import Any

# A cell without elements other than bold and italic, with a digit, and short.
CELL = re.compile(r"<td>((?:[^<]|</?(?:strong|em)>)*\d(?:[^<]|</?(?:strong|em)>)*)</td>")
LONGEST = 24  # characters, without the tags


def with_figures(page: str) -> str:
    """A page's HTML with the class "figure" on short cells that have a number."""

    def marked(match: re.Match[str]) -> str:
        text = re.sub(r"<[^>]*>", "", match[1])
        return f'<td class="figure">{match[1]}</td>' if len(text) <= LONGEST else match[0]

    return CELL.sub(marked, page)


def on_page_content(html: str, **_: Any) -> str:
    """Called by MkDocs for each page, after Markdown became HTML."""
    return with_figures(html)
