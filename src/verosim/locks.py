"""A lock of the threads of one process."""

from __future__ import annotations

import os
from threading import Lock


class ProcessLock:
    """A lock that is free in a forked child process, which lacks the thread that holds it."""

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        """Forget who holds the lock."""
        self.now = Lock()
