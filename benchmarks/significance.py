"""Paired tests of two systems, against sacrebleu's on the same statistics and random numbers."""

from __future__ import annotations

import logging

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

import tunesmith as ts
from common import arguments, interleaved, parse
from tunesmith.parallel.local import threads
from tunesmith.significance.comparing import Chance, compare_systems
from tunesmith.significance.systems import systems_of

METRICS = {"bleu": BLEU(tokenize="none", force=True), "chrf": CHRF()}


def main() -> None:
    """Print the seconds of both, counting of n-grams included, and what they come to."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--copies", type=int, default=1, help="how often the set is repeated")
    options = parse(parser)
    logging.getLogger("sacrebleu").setLevel(logging.CRITICAL)
    lists = ts.read(options.data / options.lists, [options.data / "val.ref"])
    references = [lists.reference_texts(g)[0] for g in range(lists.groups)] * options.copies
    texts = {
        name: [lists.text(int(i)) for i in rows] * options.copies
        for name, rows in (("first", lists.start[:-1]), ("last", lists.start[1:] - 1))
    }
    systems = systems_of(texts, [references])
    named = list(texts.items())
    print(f"{len(references)} sentences; seconds for bootstrap and randomisation together")
    for name, theirs in METRICS.items():
        metric = ts.TuningSet(systems[0].runs[0].outputs, name).metric

        def ours(metric: ts.Metric = metric) -> object:
            with threads(options.threads):
                return compare_systems(systems, [metric], Chance())

        def sacrebleu(theirs: object = theirs) -> object:
            return [PairedTest(named, {"m": theirs}, [references], kind)() for kind in ("bs", "ar")]

        ours()  # kernels are compiled
        mine, other = interleaved(options.repetitions, ours, sacrebleu)
        print(f"{name}: {mine:.2f} s, sacrebleu {other:.2f} s, {other / mine:.1f} times as fast")


if __name__ == "__main__":
    main()
