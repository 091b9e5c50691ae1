"""Estimate language models of the training text, and measure how well they foresee another text.

Prints perplexities beside those of KenLM's lmplz on the same text (interpolated modified
Kneser-Ney, nothing pruned): both estimate the same model.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tunesmith.hiero.training.lm.kneser_ney import estimate_files

DATA = Path(__file__).parent.parent / "catalogs"
#: Perplexities of dev.en under lmplz's models of train.en.gz: with unknown words, and without.
LMPLZ = {3: (69.534, 61.185), 4: (62.876, 55.275), 5: (61.125, 53.729)}


def main() -> None:
    """Estimate and print."""
    parser = argparse.ArgumentParser(description="Perplexity by order, beside lmplz's.")
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    lines = (given.data / "dev.en").read_text(encoding="utf-8").splitlines()
    print("perplexity of dev.en, with unknown words and without")
    print("order          tunesmith              lmplz    n-grams")
    for order, theirs in LMPLZ.items():
        model = estimate_files([given.data / "train.en.gz"], order)
        found = model.language_model().perplexity(lines)
        ours = f"{found.including:8.3f}  {found.excluding:8.3f}"
        print(f"{order:5}  {ours}  {theirs[0]:8.3f}  {theirs[1]:7.3f}  {sum(model.sizes):9}")


if __name__ == "__main__":
    main()
