"""A tuner whose learners leave word of where they live and what they learn from."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from tunesmith.registry import option
from tunesmith.tuners.online.arow import AROW


@dataclass(frozen=True)
class Watched(AROW):
    """AROW that takes its time over each sentence, and does not end before enough were killed."""

    folder: str = option("", "where processes write their numbers")

    name = "watched"

    def target(self, example, weights, epoch):
        """Return the reference derivation, in a while."""
        if self.folder:
            (Path(self.folder) / str(os.getpid())).touch()
            time.sleep(0.02)
            while epoch == self.epochs - 1 and not (Path(self.folder) / "enough").exists():
                time.sleep(0.02)
        return super().target(example, weights, epoch)
