"""A type checker sees verosim as its users do: names, parameters and results have types."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import verosim
import verosim.typing

HERE = Path(__file__).parent / "typed"
GOOD, WRONG = HERE / "user_script.py", HERE / "wrong_script.py"
PACKAGES = [
    verosim, verosim.validate, verosim.twins, verosim.pool, verosim.insight, verosim.files,
]  # fmt: skip
MOST_ANY = 12  # parameters and results of public names that are `Any`, all together


def expected(checker: str) -> set[int]:
    """The lines with a mistake: `# error`, or `# error: pyright` where only one can see it."""
    lines = enumerate(WRONG.read_text().splitlines(), 1)
    return {at for at, line in lines if re.search(rf"# error(: {checker})?$", line)}


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """The errors that each checker finds in both scripts: (file, line) and message."""
    folder = tmp_path_factory.mktemp("types")
    found = {}

    def run(checker: str) -> dict[tuple[str, int], str]:
        if checker not in found:
            found[checker] = {"mypy": mypy, "pyright": pyright}[checker](folder)
        return found[checker]

    return run


def mypy(folder: Path) -> dict[tuple[str, int], str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports",
               "--cache-dir", str(folder), str(GOOD), str(WRONG)]  # fmt: skip
    out = subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout
    found = re.findall(r"(\w+\.py):(\d+): error: (.*)", out)
    return {(name, int(line)): message for name, line, message in found}


def pyright(folder: Path) -> dict[tuple[str, int], str]:
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    command += [str(GOOD), str(WRONG)]
    out = subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout
    return {
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1): one["message"]
        for one in json.loads(out)["generalDiagnostics"]
        if one["severity"] == "error"
    }


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_users_script_has_types(checker, checked):
    assert {at: text for at, text in checked(checker).items() if at[0] == GOOD.name} == {}


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_mistakes_are_found(checker, checked):
    found = {line for name, line in checked(checker) if name == WRONG.name}
    assert found == expected(checker)


@pytest.mark.slow
def test_the_users_script_runs():
    subprocess.run([sys.executable, str(GOOD)], check=True, capture_output=True)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_completion_shows_every_name(package):
    assert set(package.__all__) - {"__version__"} <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name) is not None


def test_few_any():
    """Public signatures name their types."""
    untyped = set()
    for package in PACKAGES:
        for name in package.__all__:
            found = getattr(package, name)
            for owner, function in public_functions(name, found):
                for parameter, annotation in inspect.get_annotations(function).items():
                    if annotation in ("Any", "Any | None") and parameter != "self":
                        untyped.add(f"{owner}({parameter})")
    assert len(untyped) <= MOST_ANY, sorted(untyped)


def public_functions(name: str, found) -> list[tuple[str, object]]:
    """A function, or the public methods of a class that it defines itself."""
    if inspect.isfunction(found):
        return [(name, found)]
    if not inspect.isclass(found):
        return []
    methods = {
        f"{base.__name__}.{attribute}": inspect.unwrap(getattr(found, attribute))
        for base in found.__mro__
        for attribute, value in vars(base).items()
        if base.__module__.startswith("verosim")
        and callable(value)
        and (attribute == "__init__" or not attribute.startswith("_"))
        and inspect.isfunction(inspect.unwrap(getattr(found, attribute)))
    }
    return list(methods.items())
