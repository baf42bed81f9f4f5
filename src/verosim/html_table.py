"""Tables for notebooks: HTML that is readable on a light and on a dark background.

All texts are escaped. Colours are inherited from the page, and lines are half transparent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MOST_HTML_ROWS = 60
LINE_STYLE = "border-bottom:1px solid rgba(128,128,128,.35);padding:.2em .7em .2em 0;"
TEXT_STYLE = "color:inherit;background:transparent;"


def html_table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[object]],
    notes: Iterable[str] = (),
    numbers: Iterable[int] = (),
) -> str:
    """A table with a title above and notes below; the columns `numbers` are right-aligned."""
    right = set(numbers)

    def cells(tag: str, line: Sequence[object]) -> str:
        found = []
        for i, cell in enumerate(line):
            align = "right" if i in right else "left"
            style = f"{TEXT_STYLE}{LINE_STYLE}text-align:{align};"
            found.append(f'<{tag} style="{style}">{escape(str(cell))}</{tag}>')
        return f'<tr style="{TEXT_STYLE}">{"".join(found)}</tr>'

    below = list(notes)
    if len(rows) > MOST_HTML_ROWS:
        below.insert(0, f"… {len(rows) - MOST_HTML_ROWS:,} more rows")
    out = [f'<div class="verosim" style="{TEXT_STYLE}">']
    if title:
        out.append(f'<div style="font-weight:600;margin:.3em 0;">{escape(title)}</div>')
    out.append(f'<table style="{TEXT_STYLE}border-collapse:collapse;">')
    out.append(f"<thead>{cells('th', head)}</thead><tbody>")
    out += [cells("td", row) for row in rows[:MOST_HTML_ROWS]]
    out.append("</tbody></table>")
    out += [f'<div style="opacity:.75;font-size:90%;">{escape(note)}</div>' for note in below]
    out.append("</div>")
    return "\n".join(out)
