"""Where the data sets are, and how a measured table is written to a page, between two marks."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("VEROSIM_DATA", ROOT.parent / "shared" / "data"))


def keep(page: str, mark: str, text: str) -> None:
    """Replace the text between `<!-- mark -->` and `<!-- end mark -->` in a page."""
    path = ROOT / page
    start, stop = f"<!-- {mark} -->\n", f"<!-- end {mark} -->"
    head, rest = path.read_text().split(start)
    path.write_text(head + start + text.rstrip() + "\n" + stop + rest.split(stop)[1])
