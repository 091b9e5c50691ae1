"""The hierarchical decoder: speed by pop limit, against cdec, and from a model that is built.

Data are those of nc-wmt11-de-en: the grammar, the language model, the weights and the settings
that cdec was given there. Its CPU seconds are quoted from the data's README, and were measured on
another machine. Speed by pop limit is that of the best translations alone; then all sentences with
100-best lists and forests, as cdec made them, in CPU seconds on one thread and on two; how our
translations agree with cdec's; and how long a process takes that loads a built model and
translates an empty line.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tunesmith as ts
from common import announce, arguments
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Sentence
from tunesmith.hiero import HieroDecoder
from tunesmith.hiero.grammar.grammar import glue, joined
from tunesmith.hiero.grammar.text import read_grammar
from tunesmith.hiero.lm.language_model import LanguageModel
from tunesmith.hiero.model import GRAMMAR, LM, SearchSettings, write_header, writing_model
from tunesmith.inference.forests.lists import kbest_lists

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.helpers.hiero.cdec_derivations import best_derivation, best_scores, forests, our_score

#: cdec's decoding of all sentences, with 100-best lists and forests: CPU seconds.
CDEC = 151.0
#: Pop limits, and how many sentences each is measured on.
LIMITS = {10: 500, 50: 500, 200: 500, 1000: 50}
#: Scores that cdec writes have so many digits that they differ by less.
CLOSE = 1e-4


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.set_defaults(repetitions=3)
    options = parser.parse_args()
    if options.data is None:
        parser.error("set TUNESMITH_SHARED_DATA or give --data")
    folder = options.data.parent / "nc-wmt11-de-en"
    announce(options, folder.name)
    weights = ts.read_weights(folder / "weights.init").weights
    lines = (folder / "dev.de").read_text(encoding="utf-8").split("\n")[:-1]
    sentences = [Sentence(k, line) for k, line in enumerate(lines)]
    words = sum(len(line.split()) for line in lines)
    print(
        f"{len(sentences)} sentences, {words} words; decoding is measured once, start-up repeated"
    )
    begun = time.process_time()
    decoder = decoder_of(folder)
    decoder.translate(weights, sentences[:2])
    print(
        f"reading and building grammar and model: {time.process_time() - begun:.1f} s of CPU time"
    )
    with ts.threads(1):
        by_pop_limit(folder, weights, sentences)
    for threads in (1, 2):
        with ts.threads(threads):
            everything(decoder, weights, sentences, threads)
    agreement(decoder, folder, weights, sentences)
    start_up(folder, weights, options.repetitions)


def decoder_of(folder: Path, pops: int = 200) -> HieroDecoder:
    """Return the decoder with cdec's files and settings."""
    return HieroDecoder(
        grammar=(str(folder / "nc-wmt11.grammar.gz"),),
        lm=(str(folder / "lm" / "en.4gram.arpa.gz"),),
        pop_limit=pops,
        span_limit=15,
    )


def by_pop_limit(folder: Path, weights: Weights, sentences: list[Sentence]) -> None:
    """Print sentences and words per second, and what the best translations are worth."""
    print("one thread, parsing too")
    print("pop limit  sentences  sentences/s  words/s  model score of the first 50")
    for pops, count in LIMITS.items():
        decoder = decoder_of(folder, pops)
        some = sentences[:count]
        decoder.translate(weights, some[:1])
        decoder.forget()
        begun = time.process_time()
        found = decoder.outputs(weights, some)
        taken = time.process_time() - begun
        words = sum(len(sentence.text.split()) for sentence in some)
        scores = found.features.dot(weights.aligned(found.features.names))
        rates = f"{count / taken:12.1f} {words / taken:8.0f}"
        print(f"{pops:9} {count:10} {rates}  {scores[:50].mean():.4f}")
        decoder.close()


def everything(
    decoder: HieroDecoder, weights: Weights, sentences: list[Sentence], threads: int
) -> None:
    """Print what it takes to make lists and forests of all sentences, as cdec did."""
    taken, clock = {"forests": 0.0, "lists": 0.0}, time.perf_counter()
    edges = candidates = 0
    for first in range(0, len(sentences), 64):
        decoder.forget()
        begun = time.process_time()
        found = decoder.forests(weights, sentences[first : first + 64])
        made = time.process_time()
        lists = kbest_lists(found, weights.aligned(found.names), 100)
        taken["forests"] += made - begun
        taken["lists"] += time.process_time() - made
        edges += int(found.edges.sum())
        candidates += len(lists)
    total = sum(taken.values())
    print(
        f"pop limit 200, {threads} threads: {total:.1f} s of CPU time (forests "
        f"{taken['forests']:.1f}, unique 100-best lists {taken['lists']:.1f}), "
        f"{time.perf_counter() - clock:.1f} s on the clock; {edges} hyperedges, {candidates} "
        f"candidates; {CDEC / total:.2f} times as fast as cdec ({CDEC:.0f} s, quoted, another "
        "machine)"
    )


def agreement(
    decoder: HieroDecoder, folder: Path, weights: Weights, sentences: list[Sentence]
) -> None:
    """Print how scores agree with cdec's."""
    theirs = best_scores(folder)
    found = decoder.outputs(weights, sentences)
    ours = found.features.dot(weights.aligned(found.features.names))
    differences = np.array([ours[k] - theirs[s.id] for k, s in enumerate(sentences)])
    print(
        f"best translations: {(differences >= -CLOSE).sum()} of {len(sentences)} score at least "
        f"as cdec's, {(differences > CLOSE).sum()} more; worst difference {differences.min():.2g}"
    )
    lines = (folder / "dev.1best").read_text(encoding="utf-8").split("\n")
    equal = sum(found.text(k) == " ".join(lines[k].split()) for k in range(len(sentences)))
    print(f"the same words as cdec's: {equal}")
    rebuilt = []
    for forest in forests(folder):
        name = forest["id"]
        steps = best_derivation(forest, weights)
        score = our_score(decoder.engine, sentences[name].text, steps, weights)
        if score is not None:
            rebuilt.append(abs(score - theirs[name]))
    print(
        f"our score of cdec's best derivations: {len(rebuilt)} have all their rules here, the "
        f"largest difference is {max(rebuilt):.2g}"
    )


def start_up(folder: Path, weights: Weights, repetitions: int) -> None:
    """Print how long a new process takes to translate an empty line with a built model."""
    with tempfile.TemporaryDirectory() as temporary:
        model = Path(temporary) / "model"
        with writing_model(model) as made:
            rules = read_grammar(folder / "nc-wmt11.grammar.gz", 15)
            joined([rules, glue()]).save(made / GRAMMAR)
            LanguageModel.read(folder / "lm" / "en.4gram.arpa.gz").save(made / LM)
            write_header(made, SearchSettings(), dict(weights), (), {})
        size = sum(file.stat().st_size for file in model.rglob("*") if file.is_file())
        program = [sys.executable, "-m", "tunesmith", "decode", "--quiet", "--input", "-"]
        seconds, busy = [], []
        for _ in range(repetitions + 1):
            begun, before = time.perf_counter(), os.times()
            subprocess.run(
                [*program, "--model", model], input=b"\n", check=True, capture_output=True
            )
            after = os.times()
            seconds.append(time.perf_counter() - begun)
            busy.append(sum(after[2:4]) - sum(before[2:4]))
    print(
        f"a process that loads a built model ({size / 1e6:.0f} MB) and translates an empty line: "
        f"{statistics.median(seconds[1:]):.2f} s, {statistics.median(busy[1:]):.2f} s of CPU time"
    )


if __name__ == "__main__":
    main()
