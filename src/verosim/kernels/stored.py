"""Whether all compiled loops of this version are stored on this machine.

    sources, processor, versions of numba and Python → name of an empty file beside the code

If one of them changes, the file has another name, and the loops are compiled again.
"""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path

import numba
from numba.core.registry import cpu_target

from verosim.kernels.labels import mark_integers


def mark_of_all_loops(tasks: Path) -> Path | None:
    """The file that exists if all loops that the source file `tasks` calls are compiled.

    None means that there is no writable folder for compiled code.
    """
    mark_integers.enable_caching()
    folder = mark_integers.stats.cache_path
    if folder is None:
        return None
    processor = cpu_target.target_context.codegen().magic_tuple()
    machine = processor, numba.__version__, platform.python_version()
    found = hashlib.sha256(repr(machine).encode())
    for path in (tasks, *sorted(Path(__file__).parent.glob("*.py"))):
        found.update(path.read_bytes())
    return Path(folder, f"all-{found.hexdigest()[:16]}")
