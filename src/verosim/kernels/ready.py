"""Compiled loops that ship with the package, for common kinds of processors.

    loop not in the cache of this machine → code built for its kind of processor → compile

A wheel can contain the code of the loops for the levels of the x86-64 architecture, made by
`python -m verosim.kernels.ready FOLDER`. It is used if the versions of numba and Python are those
of the build, if the source of the loop has not changed, and if the processor has all features of
the level. Otherwise the loop is compiled, as without such a folder.
Reference: x86-64 psABI (2020), microarchitecture levels.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from verosim.kernels._load import CodeFile

FOLDER = Path(__file__).with_name("compiled")
PROCESSORS = {  # from the newest to the oldest, with the features that a processor must have
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "bmi2", "fma"),
    "x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "movbe"),
}


@cache
def level_of_this_machine() -> str | None:
    """The newest level that this processor has and that the package has code for."""
    from llvmlite.binding import get_host_cpu_features

    features = get_host_cpu_features()
    for level, needed in PROCESSORS.items():
        if (FOLDER / level).is_dir() and all(features.get(one, False) for one in needed):
            return level
    return None


def ready_code(base: str, stamp: bytes, key: tuple[Any, tuple[str, ...], Any]) -> Any:
    """The stored code of a loop, or None.

    `base` is the beginning of the names of its files, and `stamp` the hash of its source. `key` is
    its entry in numba's index: types, machine, code. The machine is a triple with the name of the
    system, the processor and its features.
    """
    level = level_of_this_machine()
    if level is None:
        return None
    types, (system, *_), code = key
    file = CodeFile(str(FOLDER / level), base, stamp)
    return file.load((types, (system, level, ""), code))


def build(folder: Path, level: str) -> None:
    """Compile all loops for a level into a folder."""
    with tempfile.TemporaryDirectory() as temporary:
        env = os.environ | {
            "NUMBA_CACHE_DIR": temporary, "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "",
        }  # fmt: skip
        subprocess.run([sys.executable, "-m", "verosim", "warm"], env=env, check=True)
        target = folder / level
        target.mkdir(parents=True, exist_ok=True)
        for file in Path(temporary).rglob("*.nb[ic]"):
            shutil.copy(file, target)


if __name__ == "__main__":
    for name in PROCESSORS:
        build(Path(sys.argv[1]), name)
