"""A progress bar for long passes: rows, rows per second, and the remaining time if it is known.

It appears after one second, and only on a terminal.
"""

from __future__ import annotations

import time
from typing import Any, Self

from verosim.terminal import watched

SECONDS_BEFORE_BAR = 1.0  # seconds before the bar appears


class Progress:
    """Counts rows and shows a bar: `with Progress(total) as bar: bar.advance(n)`."""

    def __init__(self, total: int | None, what: str = "rows") -> None:
        self.total, self.what, self.done = total, what, 0
        self.start = time.monotonic()
        self.bar: Any = None
        self.task: Any = None

    def advance(self, rows: int, share: float = 0.0) -> None:
        """Add rows to the count, and show the bar if it is time.

        `share` is the share of a file that was read so far. It gives the total if that is unknown.
        """
        self.done += rows
        if share:
            self.total = max(int(self.done / share), self.done)
        if self.bar is not None:
            self.bar.update(self.task, completed=self.done, total=self.total)
        elif time.monotonic() - self.start > SECONDS_BEFORE_BAR and watched():
            self._show()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        what, start = self.what, self.start

        class Pace(ProgressColumn):
            def render(self, task: Any) -> str:
                seconds = max(time.monotonic() - start, 1e-9)
                return f"{task.completed:,.0f} {what}, {task.completed / seconds:,.0f}/s"

        self.bar = Bar(
            TextColumn("verosim"),
            BarColumn(bar_width=20),
            Pace(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task("", total=self.total, completed=self.done)
        self.bar.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
