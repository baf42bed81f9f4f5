"""What the build adds: a README that shows outside of the repository, and compiled loops.

Outside of the repository, `docs/pictures/densities.png` shows nothing. The address of the
repository is that of `project.urls` in pyproject.toml. `make dist` compiles the loops first, and
names their folder in the environment variable VEROSIM_COMPILED. A wheel without it is for all
machines, and compiles the loops when they are first used.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?://)([^)]+)\)")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?://|#)([^)]+)\)")


def with_full_addresses(text: str, repository: str) -> str:
    """A README in which every link and picture has its full address."""
    text = PICTURE.sub(rf"![\1]({repository}/raw/main/\2)", text)
    return LINK.sub(rf"[\1]({repository}/blob/main/\2)", text)


class CustomMetadataHook(MetadataHookInterface):
    """Sets `project.readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = with_full_addresses(text, metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class CompiledLoops(BuildHookInterface):
    """Puts the compiled loops into a wheel for this version of Python and this system."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("VEROSIM_COMPILED")
        if folder and version == "standard":  # not for an editable installation
            build_data["force_include"][folder] = "verosim/kernels/compiled"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
