"""Checks the wheel and the source archive: `python -m tests.check_dist dist`, for `make dist`.

The wheel is installed alone into an empty environment. There, `verosim demo` and a small program
run.
"""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
KEPT = {".py", ".pyi", ".typed"}

SMOKE = """
import importlib.metadata, pathlib, sys
import verosim
assert "site-packages" in verosim.__file__, verosim.__file__
assert importlib.metadata.version("verosim") == verosim.__version__
table = {"age": [20.0, 30.0, 50.0, 60.0] * 5, "hue": ["red", None, "blue", "blue"] * 5,
         "note": ["win cash", "call me", "good day", "see you"] * 5, "y": ["a", "a", "b", "b"] * 5}
model = verosim.NaiveBayes().fit(table, "y")
verosim.save(model, "model.verosim", scores=verosim.cross_validate(model, table, "y", cv=2))
again = verosim.load("model.verosim")
assert (again.predict_proba(table) == model.predict_proba(table)).all()
assert verosim.info("model.verosim").scores.rows == 20
for name in verosim.__all__:
    getattr(verosim, name)
for name in ("matplotlib", "pytest", "pandas", "tests"):
    assert name not in sys.modules, name
print("smoke test passed")
"""


def version() -> str:
    found = re.search(
        r'^__version__ = "(.+)"$', (ROOT / "src/verosim/__init__.py").read_text(), re.M
    )
    assert found is not None
    return found[1]


def check_names(wheel: Path, archive: Path) -> None:
    """The wheel has all files of the package and nothing else."""
    source = {
        f"verosim/{path.relative_to(ROOT / 'src/verosim').as_posix()}"
        for path in (ROOT / "src/verosim").rglob("*")
        if path.suffix in KEPT
    }
    with zipfile.ZipFile(wheel) as file:
        names = {name for name in file.namelist() if ".dist-info/" not in name}
    assert names == source, names ^ source
    top = f"verosim-{version()}/"
    with tarfile.open(archive) as file:
        inside = {name.removeprefix(top) for name in file.getnames()}
    for needed in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "tests/conftest.py"):
        assert needed in inside, needed
    assert source <= {name.removeprefix("src/") for name in inside}
    assert not any(part in name for name in inside for part in ("__pycache__", ".nbi", ".venv"))


def check_metadata(wheel: Path) -> None:
    """Version, addresses, extras and a README that shows outside of the repository."""
    with zipfile.ZipFile(wheel) as file:
        folder = f"verosim-{version()}.dist-info"
        found = email.message_from_bytes(file.read(f"{folder}/METADATA"))
        scripts = file.read(f"{folder}/entry_points.txt").decode()
        assert f"{folder}/licenses/LICENSE" in file.namelist()
    assert (found["Name"], found["Version"]) == ("verosim", version())
    assert found["Requires-Python"] == PROJECT["requires-python"]
    assert found["License-Expression"] == PROJECT["license"]
    urls = dict(one.split(", ") for one in found.get_all("Project-URL"))
    assert urls == PROJECT["urls"]
    assert set(found.get_all("Provides-Extra")) == PROJECT["optional-dependencies"].keys()
    assert "verosim = verosim.cli.main:run_process" in scripts
    text = found.get_payload()
    assert len(text) > 1_000
    relative = re.findall(r"\]\((?!https?://|#)([^)]+)\)", text)
    assert not relative, relative


def check_installed(wheel: Path) -> None:
    """The wheel alone works in an empty environment."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        venv.create(place / "environment", with_pip=True)
        at = place / "environment" / ("Scripts" if os.name == "nt" else "bin")
        alone = {key: text for key, text in os.environ.items() if not key.startswith("PYTHON")}
        run([at / "python", "-m", "pip", "install", "--quiet", wheel.resolve()], place, alone)
        run([at / "verosim", "--version"], place, alone)
        run([at / "verosim", "demo"], place, alone)
        run([at / "python", "-m", "verosim", "--help"], place, alone)
        run([at / "python", "-c", SMOKE], place, alone)


def run(command: list[object], place: Path, environment: dict[str, str]) -> None:
    words = [str(word) for word in command]
    print("$", Path(words[0]).name, *(word for word in words[1:] if "\n" not in word), flush=True)
    done = subprocess.run(words, cwd=place, env=environment, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{done.stderr}\nexit code {done.returncode}")
    print("\n".join(done.stdout.splitlines()[-3:]))


def main(folder: Path) -> None:
    (wheel,) = folder.glob("*.whl")
    (archive,) = folder.glob("*.tar.gz")
    check_names(wheel, archive)
    check_metadata(wheel)
    check_installed(wheel)
    print(f"{wheel.name} and {archive.name} are ready.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
