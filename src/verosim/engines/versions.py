"""The versions of the libraries here and on the workers of a cluster.

A worker without verosim cannot read anything that verosim has pickled. `VERSIONS_THERE` is
therefore a text for Python's own `eval`, which every worker can run.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from verosim.errors import VerosimError

NEEDED = ("verosim", "numpy", "pyarrow")

# The version of each library by its name, and "" for a library that is not there.
VERSIONS_THERE = f"""{{
    "python": "%d.%d.%d" % __import__("sys").version_info[:3],
    **{{
        name: __import__(name).__version__
        if __import__("importlib.util").util.find_spec(name) else ""
        for name in {NEEDED!r}
    }},
}}"""


@cache
def versions_here() -> dict[str, str]:
    """The versions in this process, by name."""
    found: dict[str, str] = eval(VERSIONS_THERE, {})
    return found


def check_versions(found: Mapping[str, str], where: str) -> None:
    """Raise an error if a process with other versions cannot work together with this one.

    verosim must be the same. Python must agree in two numbers and numpy in one, because what they
    pickle differs. `where` names the process.
    """
    here = versions_here()
    for name, numbers in (("verosim", None), ("python", 2), ("numpy", 1), ("pyarrow", 0)):
        mine, theirs = here[name], found.get(name, "")
        if not theirs:
            raise VerosimError(
                f"{where[0].upper()}{where[1:]} does not have {name}, which is needed there.",
                f"Install it in the Python of all workers: {_install(here)}.",
            )
        if mine.split(".")[:numbers] != theirs.split(".")[:numbers]:
            shown = "Python" if name == "python" else name
            raise VerosimError(
                f"{where[0].upper()}{where[1:]} has {shown} {theirs}, but this process has "
                f"{shown} {mine}.",
                f"Use Python {mine} for all workers."
                if name == "python"
                else f"Install the same version in the Python of all workers: {_install(here)}.",
            )


def _install(here: Mapping[str, str]) -> str:
    return "pip install " + " ".join(f"{name}=={here[name]}" for name in NEEDED)
