"""What the numbers beside the pages say to the papers' claims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from claims_verdicts import Finding, Numbers, mean, paired, share


def select(rows: Sequence[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    """Return the rows with some values, by seed."""
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    return sorted(found, key=lambda row: row.get("seed", 0))


# ---------------------------------------------------------------- Galley et al. 2013


def gradient_finds(numbers: Numbers) -> list[Finding]:
    """Return the cosines to the gold weights without noise."""
    rows = numbers["regularized-mert"]["full"]["synthetic"]
    cosines = [r["cosine"] for r in select(rows, finder="gradient", noise=0.0)]
    what = f"cosine of `gradient`, {len(cosines)} data sets with 10 to 1,000 features"
    return [Finding(what, *mean(cosines), least=0.999, shown="{:.5f}")]


def large_is_poor(numbers: Numbers) -> list[Finding]:
    """Return what unregularised MERT loses on Test by thousands of features."""
    rows = numbers["regularized-mert"]["quick"]["real"]
    small = [r["test"] for r in select(rows, label="MERT, coordinate, 20 restarts")]
    found = []
    for how in ("coordinate", "gradient"):
        large = [r["test"] for r in select(rows, label=f"MERT, {how}", start="uniform")]
        what = f"Test BLEU, 4,311 features minus 14, {how}, {len(large)} seeds"
        found.append(Finding(what, *paired(large, small), most=0.0))
    return found


def _against(numbers: Numbers, label: str, base: str) -> dict[str, Any] | None:
    rows = numbers["regularized-mert"]["quick"].get("differences", [])
    return next((r for r in rows if (r["label"], r["base"]) == (label, base)), None)


def _of_prior(numbers: Numbers, base: str, what: str, **allowed: float) -> list[Finding]:
    found = []
    for prior in ("MERT", "PRO", "batch MIRA"):
        if one := _against(numbers, f"v1 towards {prior}", base):
            text = (
                f"{what}, prior from {prior}, {one['seeds']} seeds, {one['sentences']:,} sentences"
            )
            found.append(Finding(text, one["difference"], one["low"], one["high"], **allowed))
    return found


def v1_gains(numbers: Numbers) -> list[Finding]:
    """Return what v1 gains on Test over MERT on few features."""
    return _of_prior(numbers, "MERT, 20 restarts", "Test BLEU, v1 minus MERT on 14", least=0.0)


def like_pro(numbers: Numbers) -> list[Finding]:
    """Return how far v1 is from PRO on Test."""
    return _of_prior(numbers, "PRO", "Test BLEU, v1 minus PRO", least=-0.5, most=0.5)


# ---------------------------------------------------------------- Galley and Quirk 2011


def never_worse(numbers: Numbers) -> list[Finding]:
    """Return how often exact search is below MERT."""
    rows = numbers["lp-mert"]["quick"]["figure5"]
    worse = sum(r["exact"] < r["mert"] - 1e-9 for r in rows if r["mert_counts"])
    what = f"sets in which it is below MERT, of {len(rows)}"
    return [Finding(what, *share(worse, len(rows)), most=1.0, shown="{:.1f} %")]


def search_errors(numbers: Numbers) -> list[Finding]:
    """Return how often MERT misses the optimum of four sentences."""
    rows = [r for r in select(numbers["lp-mert"]["quick"]["figure5"], size=4) if r["mert_counts"]]
    missed = sum(r["mert"] < r["exact"] - 1e-9 for r in rows)
    what = f"search errors of MERT, {len(rows)} sets of 4 sentences"
    return [Finding(what, *share(missed, len(rows)), least=50.0, shown="{:.0f} %")]


def beam_gains(numbers: Numbers) -> list[Finding]:
    """Return how often the beam gains half a point."""
    rows = [r for r in numbers["lp-mert"]["quick"]["table2"] if r["size"] <= 512]
    large = sum(r["beam"] - r["mert"] >= 0.5 for r in rows)
    what = f"runs that gain 0.5 BLEU or more, of {len(rows)} with S ≤ 512"
    return [Finding(what, *share(large, len(rows)), least=99.0, shown="{:.0f} %")]


def cosine_scales(numbers: Numbers) -> list[Finding]:
    """Return how many sentences are proven within a cosine."""
    rows = [r for r in numbers["lp-mert"]["quick"]["figure7"] if r["cosine"] >= 0.84]
    most = max(r["size"] for r in rows if r["optimal"])
    none = math.nan
    return [Finding(f"proven within 5 s: up to {most} sentences", none, none, none)]


# ---------------------------------------------------------------- Chiang 2012


def forests_have_more(numbers: Numbers) -> list[Finding]:
    """Return how often a list lacks the fear of the forest."""
    names = {"start": "small weights (the decoder's)", "tuned": "weights learnt by MIRA"}
    found = []
    for about, name in names.items():
        (row,) = select(numbers["forest-search"]["quick"], part="fear", about=about)
        wanted = {"side": "fear", "search": "rerank", "size": 100}
        (gain,) = select(row["gains"], **wanted)
        hits = round(500 * gain["better"])
        what = f"sentences of 500 whose fear is better in the forest than in the 100-best, {name}"
        found.append(Finding(what, *share(hits, 500), least=50.0, shown="{:.0f} %"))
    return found


def _curves(numbers: Numbers, part: str, label: str) -> list[list[float]]:
    rows = select(numbers["forest-search"]["quick"], part=part, label=label)
    return [row["dev"] for row in rows]


def linear_is_as_good(numbers: Numbers) -> list[Finding]:
    """Return how far linear BLEU is from reranking."""
    linear, rerank = (_curves(numbers, "searches", x) for x in ("linear", "rerank"))
    best = [[max(curve[1:]) for curve in curves] for curves in (linear, rerank)]
    what = f"best Dev BLEU, linear minus reranking, {len(linear)} seeds"
    return [Finding(what, *paired(*best), least=-0.5)]


def loss_weights(numbers: Numbers) -> list[Finding]:
    """Return what the weight of the loss does first and last."""
    strong, weak = (_curves(numbers, "mu", x) for x in ("-5", "-0.5"))
    first = paired([c[1] for c in strong], [c[1] for c in weak])
    last = paired([c[-1] for c in weak], [c[-1] for c in strong])
    return [
        Finding(f"Dev after epoch 1, μ = −5 minus −0.5, {len(weak)} seeds", *first, least=0.0),
        Finding("after epoch 10, μ = −0.5 minus −5", *last, least=0.0),
    ]


def _runs(numbers: Numbers, **wanted: Any) -> list[dict[str, Any]]:
    usual = {"rate": 0.01, "mu": -1.0, "search": "rerank", "confidence": 0.01}
    return select(numbers["hope-and-fear"]["quick"], **(usual | wanted))


#: η among which Dev chooses for each way of learning, and the seeds of the quick protocol.
RATES, SEEDS = (0.01, 0.05, 0.3), (1, 2, 3)


def asynchronous_wins(numbers: Numbers) -> list[Finding]:
    """Return how far asynchronous MIRA is ahead of mixing."""
    found = []
    for model, allowed in (("large", {"least": 0.5}), ("small", {"most": 0.0})):
        last = [
            [
                r["dev"][-1]
                for r in _runs(numbers, model=model, tuner="mira", learners=20, parallel=way)
            ]
            for way in ("async", "mixing")
        ]
        what = f"Dev after 5 epochs, 20 learners, {model}, asynchronous minus mixed, 3 seeds"
        found.append(Finding(what, *paired(*last), **allowed))
    if chosen := _with_chosen_rates(numbers):
        last = [[row["dev"][-1] for row in chosen[way]] for way in ("async", "mixing")]
        what = f"large, η chosen on Dev for each way, {len(last[0])} seeds"
        found.insert(1, Finding(what, *paired(*last), least=0.5))
    return found


def _with_chosen_rates(numbers: Numbers) -> dict[str, list[dict[str, Any]]]:
    """Return the run of MIRA on the large model whose η is best on Dev, by way and seed.

    The ways are ``serial``, and 20 learners with ``mixing`` or ``async``. There is nothing unless
    all runs of all seeds are there.
    """
    ways = {"serial": {"learners": 1}} | {
        way: {"learners": 20, "parallel": way} for way in ("mixing", "async")
    }
    chosen: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    for seed in SEEDS:
        best = {}
        for way, options in ways.items():
            wanted = {"model": "large", "tuner": "mira", "seed": seed, **options}
            rows = [row for rate in RATES for row in _runs(numbers, rate=rate, **wanted)]
            if len(rows) == len(RATES):
                best[way] = max(rows, key=lambda row: max(row["dev"][1:]))
        if len(best) == len(ways):
            for way, row in best.items():
                chosen[way].append(row)
    return chosen if len(chosen["serial"]) == len(SEEDS) else {}


def more_learners(numbers: Numbers) -> list[Finding]:
    """Return what many learners do at equal epochs."""
    runs = [
        _runs(numbers, model="large", tuner="mira", learners=20, parallel="async"),
        _runs(numbers, model="large", tuner="mira", learners=1),
    ]
    means = [[float(np.mean(r["dev"][1:])) for r in rows] for rows in runs]
    what = "Dev, mean of 5 epochs, 20 asynchronous learners minus one, large, 3 seeds"
    found = [Finding(what, *paired(*means), least=0.0)]
    if chosen := _with_chosen_rates(numbers):
        means = [[float(np.mean(r["dev"][1:])) for r in chosen[way]] for way in ("async", "serial")]
        what = f"η chosen on Dev for each, {len(means[0])} seeds"
        found.append(Finding(what, *paired(*means), least=0.0))
    return found


def order_of_learners(numbers: Numbers) -> list[Finding]:
    """Return the steps from SGD to MIRA to AROW."""

    def tests(**wanted: Any) -> list[float]:
        return [r["test"] for r in _runs(numbers, model="large", learners=4, **wanted)]

    sgd, mira = (tests(tuner=tuner, parallel="mixing") for tuner in ("sgd", "mira"))
    arow = tests(tuner="arow", rate=1.0, parallel="async")
    other = tests(tuner="mira", parallel="async")
    return [
        Finding("Test, large, MIRA minus SGD, mixed, 3 seeds", *paired(mira, sgd), least=0.0),
        Finding("AROW minus MIRA, asynchronous", *paired(arow, other), least=0.0),
    ]


def lexical_features(numbers: Numbers) -> list[Finding]:
    """Return what the large model gains over MERT on the small one."""
    (mert,) = select(numbers["hope-and-fear"]["quick"], run="small mert seed=1")
    rows = _runs(numbers, model="large", tuner="arow", rate=1.0, learners=4, parallel="async")
    gains = [row["test"] - mert["test"] for row in rows]
    what = f"Test, AROW with 11,376 features minus MERT with 11, {len(gains)} seeds of AROW"
    return [Finding(what, *mean(gains), least=1.2)]


# ---------------------------------------------------------------- Nakov et al. 2012

SETS = ("catalogs-nbest", "m30k-de-en")


def _length_rows(numbers: Numbers, data: str, label: str) -> list[dict[str, Any]]:
    return select(numbers["pro-length"]["quick"]["rows"], data=data, label=label)


def short_whatever(numbers: Numbers) -> list[Finding]:
    """Return lengths under sentence-level BLEU+1."""
    found = []
    names = {"PRO": "PRO", "`mira`, sent-BLEU+1": "MIRA", "`batch-mira`, sent-BLEU+1": "batch MIRA"}
    for data in SETS:
        for label, name in names.items():
            ratios = [r["tune_ratio"] for r in _length_rows(numbers, data, label)]
            what = f"{name}, {data}"
            found.append(Finding(what, *mean(ratios), most=1.0, shown="{:.3f}"))
    return found


def corpus_is_perfect(numbers: Numbers) -> list[Finding]:
    """Return lengths of PRO under corpus-level BLEU."""
    found = []
    for data in SETS:
        ratios = [r["tune_ratio"] for r in _length_rows(numbers, data, "PRO, corpus-BLEU")]
        found.append(Finding(data, *mean(ratios), least=0.99, most=1.01, shown="{:.3f}"))
    return found


def advice_gains(numbers: Numbers) -> list[Finding]:
    """Return what choosing by length gains."""
    found = []
    chosen = {"catalogs-nbest": "PRO, BP-smoothed", "m30k-de-en": "PRO, PC-grounded"}
    for data, label in chosen.items():
        plain, fixed = (
            [r["test_bleu"] for r in _length_rows(numbers, data, one)] for one in ("PRO", label)
        )
        what = f"Test BLEU of the fix whose length on Tune is closest to 1, {data}, 3 seeds"
        found.append(Finding(what, *paired(fixed, plain), least=0.0))
    return found


# ---------------------------------------------------------------- Nakov et al. 2013

POOLS = ("rare", "rare, seed 2", "rare, seed 3", "rare, seed 4")
FIXES = (
    "BLEU+1 max=10",
    "BLEU+1 max=20",
    "LEN max=5",
    "LEN max=10",
    "outliers BLEU+1 λ=2",
)


def _pool(numbers: Numbers, pool: str, label: str) -> dict[str, Any]:
    (row,) = select(
        numbers["pro-monsters"]["quick"], pool=pool, tuned="longest", label=label, seed=1
    )
    return row


def _test(numbers: Numbers, pool: str, label: str) -> float:
    return float(_pool(numbers, pool, label)["test"]["averaged"])


def monsters_cost(numbers: Numbers) -> list[Finding]:
    """Return what plain PRO loses in pools with monsters."""
    plain = [_test(numbers, pool, "PRO (baseline)") for pool in POOLS]
    fixed = [np.mean([_test(numbers, pool, one) for one in FIXES]) for pool in POOLS]
    what = "simulated loop: Test BLEU, plain PRO minus the mean of the † fixes, 4 pools"
    return [Finding(what, *paired(plain, [float(x) for x in fixed]), most=-1.5)]


def fixes_slay(numbers: Numbers) -> list[Finding]:
    """Return how often monsters survive, and what random acceptance gains."""
    rounds = [
        one["monsters"]
        for pool in POOLS
        for label in FIXES
        for one in _pool(numbers, pool, label)["rounds"]
    ]
    gains = paired(
        [_test(numbers, pool, "PRO, rand") for pool in POOLS],
        [_test(numbers, pool, "PRO (baseline)") for pool in POOLS],
    )
    what = f"simulated loop: rounds with monsters under the † fixes, of {len(rounds)} in 4 pools"
    return [
        Finding(what, *share(sum(rounds), len(rounds)), most=5.0, shown="{:.1f} %"),
        Finding("Test BLEU of random acceptance minus plain PRO, 4 pools", *gains, least=0.0),
    ]
