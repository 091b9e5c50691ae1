"""A tuned length penalty against a grid of exponents with MERT at each, 1000 x 50 candidates.

With --picture FILE it draws both, and the metric along the exponent with the tuned weights as they
are. Processor seconds are those of all threads; kernels are compiled before the clocks run.
"""

from __future__ import annotations

import time

import numpy as np

import tunesmith as ts
from common import announce, arguments
from tunesmith.data.weights import Weights
from tunesmith.derived.lengths import without_quotients
from tunesmith.tuners.lenpen.line import ExponentSteps, along_exponent
from tunesmith.tuners.lenpen.normalised import NormalisedLists
from tunesmith.tuners.lenpen.options import Lenpen


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--grid", type=int, default=100, help="exponents from 0 to 2")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--metric", default="bleu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", help="where to draw")
    options = parser.parse_args()
    if options.data is None:
        parser.error("set TUNESMITH_SHARED_DATA or give --data")
    here = options.data.parent / "catalogs-neural"
    announce(options, f"{here.name}/tune.jsonl.gz, {options.sentences} sentences")
    candidates = ts.read(here / "tune.jsonl.gz", here / "tune.ref")
    tuning = ts.TuningSet(candidates.with_groups(range(options.sentences)), options.metric)
    start = dict.fromkeys(tuning.names, 1.0) | {"pieces": 0.0}
    lists = NormalisedLists(tuning, Lenpen("pieces"))
    ts.MERT(restarts=0, walks=0).fit(tuning.part(range(20)), start, lenpen="pieces")

    with ts.threads(options.threads):
        begun = time.process_time()
        result = ts.MERT().fit(tuning, start, rng=options.seed, lenpen="pieces")
        seconds = time.process_time() - begun
        about = result.lenpen
        print(
            f"together   {result.score:.4f} at {about['exponent']:g}, {seconds:.0f} s, "
            f"{len(about['tried'])} fits"
        )
        begun = time.process_time()
        exponents = np.linspace(0.0, 2.0, options.grid)
        scores = [
            ts.MERT().fit(lists.at(float(x)), start, rng=options.seed).score for x in exponents
        ]
        seconds = time.process_time() - begun
    best = int(np.argmax(scores) if tuning.metric.higher_is_better else np.argmin(scores))
    print(
        f"grid       {scores[best]:.4f} at {exponents[best]:.4f}, {seconds:.0f} s, {options.grid}"
    )
    if options.picture:
        weights, _ = without_quotients(result.weights, "pieces")
        steps = along_exponent(lists, Weights.from_dict(weights))
        draw(options.picture, exponents, scores, steps, result)


def draw(
    path: str, exponents: np.ndarray, scores: list[float], steps: ExponentSteps, result: object
) -> None:
    """Draw the grid, the surface along the exponent, and the optimum of both together."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots(1, 2)
    ends = np.concatenate([[steps.low], steps.edges, [steps.high]])
    sign = 100.0 if steps.gains.max() > 0.0 else -100.0
    for ax in axes:
        ax.plot(exponents, scores, ".", color="#D55E00", label="MERT at each exponent")
        ax.stairs(sign * steps.gains, ends, baseline=None, color="#0072B2",
                  label="along the exponent, weights as tuned")  # fmt: skip
        ax.plot(result.lenpen["exponent"], result.score, "*", color="#222222", markersize=12,
                label="exponent and weights together")  # fmt: skip
        ax.set_xlabel("exponent α")
    axes[0].set_ylabel(result.metric)
    axes[0].legend(loc="lower left")
    low, high = result.lenpen["exponent"] - 0.15, result.lenpen["exponent"] + 0.15
    axes[1].set_xlim(max(0.0, low), high)
    axes[1].set_ylim(result.score - 0.4, result.score + 0.05)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
