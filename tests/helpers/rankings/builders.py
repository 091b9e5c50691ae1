"""Random runs and judgements, and metrics of rankings written down again as plainly as possible."""

from __future__ import annotations

import math

import numpy as np

#: What this package and trec_eval call the same metric.
TREC = {
    "ndcg": "ndcg",
    "ndcg@3": "ndcg_cut_3",
    "ndcg@20": "ndcg_cut_20",
    "ap": "map",
    "ap@4": "map_cut_4",
    "rr": "recip_rank",
    "p@3": "P_3",
    "p@30": "P_30",
    "recall@3": "recall_3",
    "success@1": "success_1",
    "success@5": "success_5",
    "rprec": "Rprec",
    "bpref": "bpref",
}
#: Beside these, what trec_eval lacks.
OTHERS = ("rr@2", "err", "err@3", "ndcg@3:gains=exponential", "ap:relevant=2", "success@2")


def random_runs(seed, queries=3, runs=2, documents=12, values=6, grades=4):
    """Return runs with ties and documents that they lack, and graded judgements of some."""
    rng = np.random.default_rng(seed)
    names = [f"d{k}" for k in range(documents)]
    found = {
        f"r{d}": {
            f"q{q}": {
                str(name): float(rng.integers(0, values))
                for name in rng.choice(names, rng.integers(1, documents + 1), replace=False)
            }
            for q in range(queries)
        }
        for d in range(runs)
    }
    every = [*names, "never-1", "never-2"]
    qrels = {
        f"q{q}": {
            str(name): int(rng.integers(0, grades))
            for name in rng.choice(every, rng.integers(1, documents + 2), replace=False)
        }
        for q in range(queries)
    }
    return found, qrels


def orders(task, weights):
    """Return the documents of each query, best first: by score, then by name, both descending."""
    scores, rankings = task.features.dot(np.asarray(weights, float)), task.rankings
    found = {}
    for q, query in enumerate(rankings.queries):
        rows = range(rankings.start[q], rankings.start[q + 1])
        pairs = sorted(((scores[i], rankings.documents[i]) for i in rows), reverse=True)
        found[query] = [name for _, name in pairs]
    return found


def plain_value(metric, order, judged):
    """Return a metric of one query, as its definition has it."""
    measure, _, rest = metric.partition("@")
    measure, _, options = (
        f"{measure}:{rest.partition(':')[2]}".partition(":") if rest else (metric.partition(":"))
    )
    cut = int(rest.partition(":")[0]) if rest else len(order)
    least = int(options.partition("=")[2]) if "relevant" in options else 1
    grades = [judged.get(name, -1) for name in order]
    relevant = sum(grade >= least for grade in judged.values())
    hits = [grade >= least for grade in grades]
    if not any(grade > 0 for grade in judged.values()):
        return 0.0
    if measure == "ndcg":

        def gain(grade):
            return max(2.0**grade - 1 if "exp" in options else grade, 0)

        ideal = sorted(map(gain, judged.values()), reverse=True)
        cut = cut if rest else max(len(order), len(ideal))
        sums = [
            sum(g / math.log2(r + 2) for r, g in enumerate(gains[:cut]))
            for gains in ([*map(gain, grades)], ideal)
        ]
        return sums[0] / sums[1]
    if measure == "err":
        stay, total = 1.0, 0.0
        for rank, grade in enumerate(grades[:cut], 1):
            chance = (2.0 ** max(grade, 0) - 1) / 16
            total += stay * chance / rank
            stay *= 1 - chance
        return total
    if relevant == 0:
        return 0.0
    if measure == "ap":
        return sum(sum(hits[: r + 1]) / (r + 1) for r in range(min(cut, len(order))) if hits[r]) / (
            relevant
        )
    if measure == "rr":
        return next((1 / r for r, hit in enumerate(hits[:cut], 1) if hit), 0.0)
    assert measure == "success"
    return float(any(hits[:cut]))
