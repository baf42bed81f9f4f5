"""`python -m verosim` is the command line."""

from __future__ import annotations

from verosim.cli.main import run_process

if __name__ == "__main__":
    run_process()
