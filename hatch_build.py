"""Makes the README readable on a package index, where relative links lead nowhere.

With ``Source`` in ``[project.urls]`` they become links to files of that repository; without it
links become plain text and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")


def for_an_index(text: str, source: str | None) -> str:
    """Return the text of a README with absolute links, or without the relative ones."""

    def link(match: re.Match[str]) -> str:
        picture, label, path = match.groups()
        if source is None:
            return "" if picture else label
        kind = "raw" if picture else "blob"
        return f"{picture}[{label}]({source.rstrip('/')}/{kind}/main/{path})"

    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(
        part if part.startswith("```") else _LINK.sub(link, part) for part in parts
    ).replace("\n\n\n", "\n\n")


class ReadmeHook(MetadataHookInterface):
    """Sets the long description of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README to the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": for_an_index(text, metadata.get("urls", {}).get("Source")),
        }
