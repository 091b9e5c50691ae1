"""Tune the model that train.py made: decode, merge the lists, tune, and again.

Prints BLEU of what Thot says on the sentences to tune on, to choose by and to test on, round by
round. Leaves the tuned weights in ``MODEL/tuned.cfg`` and ``MODEL/filtered/tuned.cfg``, and the
translations of the test sentences in ``MODEL/test.out``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tunesmith import Inputs, Loop
from tunesmith.decoders.thot import BOUNDS, ThotDecoder
from tunesmith.tuners.base import TUNERS, Tuner

HERE = Path(__file__).parent
#: What the weights may be. Phrases stay in the order of the source, so that each has a jump: the
#: jumps say nothing that the number of phrases does not say.
RESTRICTIONS = {"bound": BOUNDS, "fix": ("SourceJump=0",)}


def inputs(data: Path, name: str) -> Inputs:
    """Read sentences and their references."""
    return Inputs.read(data / f"{name}.de", data / f"{name}.en")


def tuner_of(name: str) -> Tuner:
    """Make a tuner, restricted if it is one that can be."""
    kind = TUNERS.get(name)
    return kind(**RESTRICTIONS) if hasattr(kind, "constraints") else kind()


def main() -> None:
    """Tune, print a table, write what came out."""
    parser = argparse.ArgumentParser(description="Tune a Thot model with a decoder in the loop.")
    parser.add_argument("--data", type=Path, default=HERE.parent / "catalogs")
    parser.add_argument("--model", type=Path, default=HERE / "model")
    parser.add_argument("--tuner", default="mert")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nbest-size", type=int, default=100)
    parser.add_argument("--norm", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work-dir", type=Path, help="go on from here if interrupted")
    given = parser.parse_args()

    begun = time.perf_counter()
    decoder = ThotDecoder(
        str(given.model / "filtered" / "smt.cfg"), given.nbest_size, norm=given.norm
    )
    test = inputs(given.data, "test")
    result = Loop(rounds=given.rounds, final="tune").run(
        decoder,
        tuner_of(given.tuner),
        inputs(given.data, "tune"),
        dev=inputs(given.data, "dev"),
        test=test,
        seed=given.seed,
        work_dir=given.work_dir,
    )
    print("round   tune    dev   test  candidates  seconds to decode and to tune")
    for one in result.rounds or ():
        scores = "  ".join(f"{one[key]:5.2f}" for key in ("score", "dev_score", "test_score"))
        spent = f"{one['decode_seconds']:7.1f} {one['tune_seconds'] or 0:7.1f}"
        mark = "  <- chosen" if one["chosen"] else ""
        print(f"{one['round']:5}  {scores}  {one['candidates']:10}  {spent}{mark}")
    print(f"ended by {result.stopped}, after {time.perf_counter() - begun:.0f} s in all")
    for name, weight in decoder.used(result.weights).items():
        print(f"  {name:24} {weight:9.6f}")

    whole = ThotDecoder(str(given.model / "smt.cfg"), norm=given.norm)
    (given.model / "tuned.cfg").write_bytes(whole.rewritten(result.weights))
    (given.model / "filtered" / "tuned.cfg").write_bytes(decoder.rewritten(result.weights))
    translations = decoder.translate(result.weights, test.sentences)
    (given.model / "test.out").write_text("\n".join([*translations, ""]), encoding="utf-8")
    for sentence, translation in list(zip(test.sentences, translations, strict=True))[:3]:
        print(f"\n{sentence.text}\n  -> {translation}")
    print(f"\nwrote {given.model / 'tuned.cfg'} and {given.model / 'test.out'}")
    decoder.close()


if __name__ == "__main__":
    main()
