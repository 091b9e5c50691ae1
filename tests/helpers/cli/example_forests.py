"""The forests that come as an example, and weights for them."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[3] / "examples" / "forests"
WEIGHTS = {"model": 0.3, "phrases": -0.2, "swaps": -0.7, "words": 0.15}
