"""The README of the package: links and pictures of the repository with their full address.

Outside of the repository, `docs/pictures/densities.png` shows nothing. The address of the
repository is that of `project.urls` in pyproject.toml.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

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
