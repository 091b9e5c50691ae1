"""Make the answers of this folder: sums, with eight answers each and the scores of reward models.

Run it in this folder. No language model and no reward model was asked: everything here is MADE
UP with a seed. ``helpful`` and ``factual`` know something of which answer is right. ``helpful``
is also fond of long answers. ``style_1`` to ``style_8`` know nothing at all.

    answers.csv    a row an answer: id, text, the rewards, length, and whether it is right
    new.csv        other questions, of which nothing is known yet but the rewards
    new.key        what is right there
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

ANSWERS = 8
STYLES = tuple(f"style_{k}" for k in range(1, 9))
FILLERS = ("let us see", "step by step", "this is easy", "to be exact", "as we know", "so", "well")
HEADER = ("id", "text", "helpful", "factual", *STYLES, "length", "votes", "correct")


def answers(number: int, rng: random.Random):
    """Return the rows of a question."""
    a, b, c = rng.randint(11, 99), rng.randint(11, 99), rng.randint(2, 9)
    right = a + b * c
    able = rng.uniform(0.05, 0.6)
    wrong = [right + c, (a + b) * c, right + 10, right - 10, right + 1]
    said = [right if rng.random() < able else rng.choice(wrong) for _ in range(ANSWERS)]
    for value in said:
        correct = value == right
        words = rng.sample(FILLERS, rng.randint(0, 5))
        text = " ".join([*words, f"{a} + {b} * {c} is {value}"])
        length = len(text.split())
        helpful = rng.gauss(0.8 if correct else 0.0, 0.6) + 0.3 * length
        factual = rng.gauss(0.8 if correct else 0.0, 1.0)
        styles = [f"{rng.gauss(0, 1):.3f}" for _ in STYLES]
        votes = said.count(value) / ANSWERS
        yield (
            f"q{number}", text, f"{helpful:.3f}", f"{factual:.3f}", *styles, length,
            f"{votes:.3f}", int(correct),
        )  # fmt: skip


def main() -> None:
    """Write all files."""
    rng = random.Random(5)
    rows = [list(answers(number, rng)) for number in range(400)]
    with Path("answers.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(row for question in rows[:200] for row in question)
    with (
        Path("new.csv").open("w", encoding="utf-8", newline="") as file,
        Path("new.key").open("w", encoding="utf-8") as key,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER[:-1])
        for question in rows[200:]:
            writer.writerows(row[:-1] for row in question)
            key.writelines(f"{row[-1]}\n" for row in question)


if __name__ == "__main__":
    main()
