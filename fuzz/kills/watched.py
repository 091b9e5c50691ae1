"""A tuner whose learners leave word of where they live, and take their time."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunesmith.registry import option
from tunesmith.tuners.online.arow import AROW


@dataclass(frozen=True)
class Watched(AROW):
    """AROW that takes its time over each sentence."""

    folder: str = option("", "where processes write their numbers")

    name = "watched"

    def target(self, example: Any, weights: Any, epoch: int) -> Any:
        """Return the reference derivation, in a while."""
        if self.folder:
            (Path(self.folder) / str(os.getpid())).touch()
            time.sleep(0.005)
        return super().target(example, weights, epoch)
