"""List the measured tables of the docs with what has changed in their code since, oldest first.

    python -m benchmarks.stale

The last line of a table has its commit and its command. The module of the command has the folders
and files of src/verosim that the table depends on: `CODE = "stats kernels"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.pages import ROOT, git

TABLE = re.compile(r"<!-- ([^>]+) -->\n(.*?)<!-- end \1 -->", re.DOTALL)
MEASURED = re.compile(r"commit `(\w+)`.*`python -m (.+)`\n\Z")


def tables(root: Path) -> Iterator[tuple[str, str, str, str]]:
    """The page, the mark, the commit and the command of each measured table."""
    for page in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        for mark, text in TABLE.findall(page.read_text("utf-8")):
            commit, command = found.groups() if (found := MEASURED.search(text)) else ("", "")
            yield page.relative_to(root).as_posix(), mark, commit, command


def code(root: Path, command: str) -> str:
    """What the tables of a command depend on: folders and files of src/verosim."""
    path = root / command.split()[0].replace(".", "/")
    path = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    found = re.search(r'^CODE = "(.+)"', path.read_text("utf-8"), re.MULTILINE)
    return found[1] if found else ""


def listing(root: Path = ROOT) -> list[str]:
    """Two lines for the tables of a page with the same commit and command."""
    marks: dict[tuple[str, str, str], list[str]] = {}
    for page, mark, commit, command in tables(root):
        marks.setdefault((page, commit, command), []).append(mark)
    lines = []
    for (page, commit, command), names in marks.items():
        depends_on = code(root, command) if command else ""
        paths = [f"src/verosim/{name}*" for name in depends_on.split()]
        when = git("log", "-1", "--format=%ct %cs", commit, root=root) if commit else ""
        since = "commit unknown"
        if when:
            files = git("diff", "--name-only", commit, "--", *paths, root=root).splitlines()
            count = git("rev-list", "--count", f"{commit}..HEAD", "--", *paths, root=root)
            since = f"{commit} {when[-10:]}, changed since: {len(files)} files, {count} commits"
        lines.append((when, f"{since}  {page}: {', '.join(names)}",
                      f"    python -m {command}, of {depends_on}"))  # fmt: skip
    return [line for _, *pair in sorted(lines) for line in pair]


if __name__ == "__main__":
    print("\n".join(listing()))
