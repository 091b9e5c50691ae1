"""A tiny Thot model, trained in about a second by the Thot module alone."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

DATA = Path(__file__).parents[3] / "examples" / "catalogs"
WEIGHTS = "1 1 1 1 1 1 1 0"
SETTINGS = "-W 0.4\n-S 10\n-A 10\n-E 2\n-nomon 0\n-h 6\n"


def pairs(name: str, count: int) -> list[tuple[list[str], list[str]]]:
    """Return the first pairs of a set as tokens."""
    sides = []
    for side in ("de", "en"):
        path = DATA / (f"{name}.{side}.gz" if name == "train" else f"{name}.{side}")
        opened = gzip.open if name == "train" else open
        with opened(path, "rt", encoding="utf-8") as file:
            sides.append([line.split() for line in islice(file, count)])
    return list(zip(*sides, strict=True))


def train(folder: Path, count: int = 600) -> Path:
    """Train on a few pairs; return the configuration."""
    import thot.alignment as ta
    import thot.translation as tt

    text = pairs("train", count)
    tm, lm = str(folder / "src_trg"), folder / "trg.lm"
    for end, rows in (("_invswm", text), ("_swm", [(t, s) for s, t in text])):
        _align(ta.FastAlignModel(), f"{tm}{end}", rows)
    extractor = tt.AlignmentExtractor()
    extractor.open(f"{tm}_swm.bestal")
    extractor.symmetrize1(f"{tm}_invswm.bestal", f"{tm}.A3.final", transpose=True)
    extractor.close()
    phrases, limits = tt.PhraseModel(), tt.PhraseExtractParameters()
    limits.max_target_phrase_length = 7
    phrases.build(f"{tm}.A3.final", limits, pseudo_ml=False)
    phrases.print_phrase_table(f"{tm}.ttable", n=20)
    for end, said in (
        ("lambda", "0.7 0.7"),
        ("srcsegmlentable", "Uniform"),
        ("trgcutstable", "0.999"),
        ("trgsegmlentable", "Geometric"),
    ):
        Path(f"{tm}.{end}").write_text(said)
    _count(lm, [t for _, t in text])
    config = folder / "smt.cfg"
    config.write_text(f"# tiny\n-tm src_trg\n-lm trg.lm\n{SETTINGS}-tmw {WEIGHTS}\n")
    return config


def _align(model, prefix, rows) -> None:
    for source, target in rows:
        model.add_sentence_pair(source, target, 1)
    model.start_training()
    for _ in range(3):
        model.train()
    model.end_training()
    model.print(prefix)
    with open(f"{prefix}.bestal", "w", encoding="utf-8") as file:
        for source, target in rows:
            _, matrix = model.get_best_alignment(source, target)
            links = [
                [j + 1 for j in range(len(target)) if i < len(source) and matrix[i, j]]
                for i in range(len(source))
            ]
            linked = {j for one in links for j in one}
            free = [j + 1 for j in range(len(target)) if j + 1 not in linked]
            words = zip(["NULL", *source], [free, *links], strict=True)
            shown = " ".join(f"{word} ({{ {' '.join(map(str, js))} }})" for word, js in words)
            file.write(f"# 1\n{' '.join(target)}\n{shown}\n")


def _count(path: Path, sentences) -> None:
    counts: dict[tuple[str, ...], int] = {}
    seen, total = set(), 0
    for sentence in sentences:
        words = ["<s>", *(w if w in seen else "<unk>" for w in sentence), "</s>"]
        seen.update(sentence)
        total += len(words)
        for n in range(1, 4):
            for i in range(len(words) - n + 1):
                ngram = tuple(words[i : i + n])
                counts[ngram] = counts.get(ngram, 0) + 1
    with path.open("w", encoding="utf-8") as file:
        for ngram, count in sorted(counts.items(), key=lambda one: (len(one[0]), one[0])):
            before = total if len(ngram) == 1 else counts[ngram[:-1]]
            file.write(f"{' '.join(ngram)} {before} {count}\n")
    Path(f"{path}.weights").write_text("3 3 10 " + " ".join(["0.5"] * 9) + "\n")
    Path(f"{path}.wp").write_text("".join(" ".join(s) + "\n" for s in sentences))
