"""Weights of runs and of rankers against ranx, fastrank and LightGBM, on public data.

Nothing of the data is shipped. ``--robust03`` is the folder examples/robust03 of the repository
joaopalotti/trectools, 17 runs of TREC 2003 on 100 topics, with its folders runs and qrel, or all
files in one; ``--lambdarank`` the folder examples/lambdarank of microsoft/LightGBM; ``--voicepath``
the file voicepath_data.csv of XiHegrt/E01Loss. The others are packages of PyPI: ranx, fastrank,
lightgbm, pytrec_eval-terrier, scikit-learn; ``--ranklib`` is the class path of RankLib, whose
processor seconds are those of the program less those of one that stops after reading.

Times are processor seconds of the search alone: data are in memory on all sides, and kernels are
compiled. Scores are those of trec_eval, for everybody's weights, after min-max normalisation with
0 for documents that a run did not return. Topics are split in halves three times, at random.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tunesmith as ts
from tunesmith.tuners.fusion.weights import best_weights

#: Runs with documents for all ranks up to 1000.
FULL = 90_000
#: What trec_eval calls our metrics.
TREC = {
    "ap": "map",
    "ndcg": "ndcg",
    "ndcg@10": "ndcg_cut_10",
    "rr": "recip_rank",
    "p@10": "P_10",
    "recall@100": "recall_100",
    "success@5": "success_5",
    "rprec": "Rprec",
    "bpref": "bpref",
}
SPLITS = 3
#: Turns in which all ways are timed, and the seconds from which one turn is enough.
TURNS, LONG = 7, 30.0

Scores = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]


def read_robust03(folder: Path) -> tuple[dict[str, Scores], Qrels]:
    """Read all runs and the judgements."""
    runs: dict[str, Scores] = {}
    for path in sorted(folder.rglob("input.*.gz")):
        run: Scores = {}
        with gzip.open(path, "rt") as lines:
            for line in lines:
                query, _, document, _, score, *_ = line.split()
                run.setdefault(query, {})[document] = float(score)
        runs[path.name.removeprefix("input.").removesuffix(".gz")] = run
    qrels: Qrels = {}
    for line in next(folder.rglob("robust03_qrels.txt")).read_text().splitlines():
        query, _, document, grade = line.split()
        qrels.setdefault(query, {})[document] = int(grade)
    return runs, qrels


def timed(work: Callable[[], Any], repetitions: int = 2) -> tuple[Any, float]:
    """Return a result and the processor seconds of the last repetition."""
    for _ in range(repetitions):
        begun = time.process_time()
        found = work()
        seconds = time.process_time() - begun
    return found, seconds


def interleaved(ways: dict[str, Callable[[], Any]], turns: int) -> dict[str, tuple[Any, float]]:
    """Return the result of each way and its median processor seconds, over turns in which all run.

    What takes longer than ``LONG`` seconds has one turn; all others have a first one that does not
    count, because kernels may be compiled in it.
    """
    results: dict[str, Any] = {}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns + 1):
        for name, work in ways.items():
            if turn > 0 and seconds[name][0] > LONG:
                continue
            results[name], took = timed(work, 1)
            if isinstance(results[name], tuple):  # another program, which says its seconds
                results[name], took = results[name]
            seconds[name].append(took)
    return {
        name: (results[name], float(np.median(took[1:] or took))) for name, took in seconds.items()
    }


def parity(runs: dict[str, Scores], qrels: Qrels) -> None:
    """Count the values of queries that differ from trec_eval's in any bit."""
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(TREC.values()))
    compared = differ = rounded = 0
    for name, run in runs.items():
        # trec_eval keeps scores in single precision.
        single = {q: {d: float(np.float32(s)) for d, s in of.items()} for q, of in run.items()}
        found = evaluator.evaluate(run)
        for given, is_single in ((run, False), (single, True)):
            rankings = ts.from_runs({name: given}, qrels)
            for ours, theirs in TREC.items():
                task = ts.RankingTask(rankings, ours, "none")
                expected = [found[query][theirs] for query in rankings.queries]
                wrong = int((task.values(np.ones(1)) != expected).sum())
                compared += 0 if is_single else len(expected)
                differ += wrong if is_single else 0
                rounded += 0 if is_single else wrong
    print(
        f"trec_eval: {compared} values of queries, {differ} differ in any bit; {rounded} do "
        "where scores are not rounded to single precision first",
        flush=True,
    )


def halves(topics: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield topics to train on and to test on."""
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(len(topics))
        half = len(topics) // 2
        yield [topics[k] for k in order[:half]], [topics[k] for k in order[half:]]


def part(runs: dict[str, Scores], qrels: Qrels, names: list[str], topics: list[str]) -> ts.Rankings:
    """Return some runs on some topics."""
    chosen = {name: {q: runs[name][q] for q in topics} for name in names}
    return ts.from_runs(chosen, {q: qrels[q] for q in topics})


def of_ranx(
    runs: dict[str, Scores], qrels: Qrels, names: list[str], topics: list[str], metric: str
) -> Callable[[], np.ndarray]:
    """Return ranx' search over its grid of tenths."""
    import ranx

    relevant = {q: {d: g for d, g in qrels[q].items() if g > 0} or {"": 1} for q in topics}
    judged = ranx.Qrels(relevant)
    given = [ranx.Run({q: runs[name][q] for q in topics}, name=name) for name in names]

    def search() -> np.ndarray:
        best = ranx.optimize_fusion(
            qrels=judged,
            runs=given,
            norm="min-max",
            method="wsum",
            metric=metric,
            show_progress=False,
        )
        return np.array(best["weights"], float)

    return search


def of_coordinate_ascent(
    task: ts.RankingTask, restarts: int, least: float = -np.inf
) -> Callable[[], np.ndarray]:
    """Return coordinate ascent (Metzler and Croft 2007) with the steps of RankLib.

    From equal weights, features in random order: each is set to 0, and moved up and down by steps
    that double, 25 times; the best is kept, until none helps by 0.001. Mixes are scored by our own
    evaluation, which is faster than RankLib's.
    """
    names = task.names
    tries, first_step, share, tolerance = 25, 0.001, 0.05, 0.001

    def steps_from(weight: float) -> Iterator[float]:
        yield -weight
        for sign in (-1.0, 1.0):
            step = sign * first_step
            if weight != 0.0 and first_step > 0.5 * abs(weight):
                step = sign * share * abs(weight)
            total = step
            for _ in range(tries):
                yield total
                step *= 2.0
                total += step

    def ascend(rng: np.random.Generator) -> tuple[float, np.ndarray]:
        weights = np.full(len(names), 1.0 / len(names))
        score = before = task.score_at(weights)
        while True:
            for k in rng.permutation(len(names)):
                best, moved = score, weights
                for step in steps_from(float(weights[k])):
                    changed = weights.copy()
                    changed[k] += step
                    if changed[k] < least:
                        continue
                    if changed.any() and (value := task.score_at(changed)) > best:
                        best, moved = value, changed / np.abs(changed).sum()
                score, weights = best, moved
            if score - before < tolerance:
                return score, weights
            before = score

    def search() -> np.ndarray:
        rng = np.random.default_rng(1)
        return max((ascend(rng) for _ in range(restarts)), key=lambda result: result[0])[1]

    return search


def of_ranklib(
    task: ts.RankingTask, qrels: Qrels, metric: str, classes: str, restarts: int
) -> Callable[[], tuple[np.ndarray, float]]:
    """Return RankLib's coordinate ascent, on normalised features; it says its seconds itself."""
    rankings, features = task.rankings, task.features.dense
    measure = {"map": "MAP"}.get(metric, metric.upper())

    def write(folder: Path) -> None:
        with (folder / "train").open("w") as rows:
            for q, query in enumerate(rankings.queries):
                for i in range(rankings.start[q], rankings.start[q + 1]):
                    values = " ".join(f"{d}:{v:.7g}" for d, v in enumerate(features[:, i], 1))
                    rows.write(f"{max(int(rankings.grades[i]), 0)} qid:{query} {values}\n")
        lines = [
            f"{query} 0 {document} {grade}\n"
            for query in rankings.queries
            for document, grade in qrels[query].items()
        ]
        (folder / "qrels").write_text("".join(lines))

    def seconds(folder: Path, *options: str) -> float:
        """Train, and return the processor seconds of the program."""
        command = ["java", "-XX:+UseSerialGC", "-Xmx3g", "-cp", classes]
        command += ["ciir.umass.edu.eval.Evaluator", "-train", str(folder / "train")]
        command += ["-qrel", str(folder / "qrels"), "-ranker", "4", "-metric2t", measure]
        before = os.times()
        subprocess.run(
            [*command, *options, "-save", str(folder / "model")], check=True, capture_output=True
        )
        after = os.times()
        return (
            after.children_user
            + after.children_system
            - (before.children_user + before.children_system)
        )

    def search() -> tuple[np.ndarray, float]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(folder)
            reading = seconds(folder, "-r", "1", "-i", "0")
            took = seconds(folder, "-r", str(restarts)) - reading
            pairs = (folder / "model").read_text().splitlines()[-1].split()
        weights = dict(pair.split(":") for pair in pairs)
        return np.array([float(weights[str(d + 1)]) for d in range(len(features))]), took

    return search


def of_fastrank(task: ts.RankingTask, qrels: Qrels, measure: str) -> Callable[[], np.ndarray]:
    """Return fastrank's coordinate ascent with its defaults, on normalised features."""
    import fastrank

    rankings = task.rankings
    numbers = {query: k for k, query in enumerate(rankings.queries)}
    query = np.repeat(np.arange(rankings.groups), np.diff(rankings.start))
    features = np.ascontiguousarray(task.features.dense.T, np.float32)
    grades = np.maximum(rankings.grades, 0).astype(np.float64)
    data = fastrank.CDataset.from_numpy(features, grades, query.astype(np.int64))
    judged = {str(numbers[q]): {d: float(g) for d, g in qrels[q].items()} for q in numbers}
    request = fastrank.TrainRequest.coordinate_ascent()
    request.measure = measure
    request.judgments = fastrank.CQRel.from_dict(judged)
    request.params.normalize = False
    request.params.quiet = True
    request.params.seed = 1

    def search() -> np.ndarray:
        return np.array(data.train_model(request).to_dict()["Linear"]["weights"], float)

    return search


def compare(
    runs: dict[str, Scores],
    qrels: Qrels,
    counts: list[int],
    metric: str,
    others: list[str],
    splits: int,
    restarts: int,
    ranklib: str | None,
    turns: int,
) -> None:
    """Tune some of the runs on half of the topics, in every way, and score the other half."""
    topics = sorted(qrels)
    full = [name for name, run in runs.items() if sum(map(len, run.values())) > FULL]
    print(f"{metric}: training topics | other topics; processor seconds, as a ratio to tunesmith")
    for count in counts:
        for split, (train, test) in itertools.islice(enumerate(halves(topics)), splits):
            rng = np.random.default_rng(100 * count + split)
            names = sorted(rng.choice(full, count, replace=False).tolist())
            here, there = (part(runs, qrels, names, some) for some in (train, test))
            task, other = (ts.RankingTask(some, metric) for some in (here, there))

            def ours(rankings: ts.Rankings = here) -> np.ndarray:
                return best_weights(ts.RankingTask(rankings, metric), 1)[0]

            def ours_of_any_sign(rankings: ts.Rankings = here) -> np.ndarray:
                return best_weights(ts.RankingTask(rankings, metric), 1, allow_negative=True)[0]

            ways: dict[str, Callable[[], Any]] = {"tunesmith": ours}
            if count > 5:
                ways["tunesmith, any sign"] = ours_of_any_sign
            if "ranx" in others and count <= 5:
                ways["ranx"] = of_ranx(runs, qrels, names, train, metric)
            if "coordinate-ascent" in others and count > 5:
                ways["ascent, any sign"] = of_coordinate_ascent(task, restarts)
                ways["ascent, 0 or more"] = of_coordinate_ascent(task, restarts, least=0.0)
            if ranklib is not None and count > 5:
                ways["RankLib"] = of_ranklib(task, qrels, metric, ranklib, restarts)
            if "fastrank" in others and count > 5:
                ways["fastrank"] = of_fastrank(task, qrels, metric)
            results = interleaved(ways, turns)
            for name, (weights, seconds) in results.items():
                scores = f"{task.score_at(weights):.4f} | {other.score_at(weights):.4f}"
                print(
                    f"{count} runs, split {split}  {name:20} {scores}  {seconds:8.3f}"
                    f"  {seconds / results['tunesmith'][1]:6.1f}",
                    flush=True,
                )
            equal = np.full(count, 1.0 / count)
            scores = f"{task.score_at(equal):.4f} | {other.score_at(equal):.4f}"
            print(f"{count} runs, split {split}  {'equal weights':20} {scores}", flush=True)
            alone = int(np.argmax([task.score_at(unit) for unit in np.eye(count)]))
            one = np.eye(count)[alone]
            scores = f"{task.score_at(one):.4f} | {other.score_at(one):.4f}"
            print(f"{count} runs, split {split}  {'best run':20} {scores}", flush=True)


def verdicts(runs: dict[str, Scores], qrels: Qrels) -> None:
    """Say what folds say of pairs of runs, and of all with 1000 documents."""
    full = [name for name, run in runs.items() if sum(map(len, run.values())) > FULL]
    rng = np.random.default_rng(7)
    sets = [("ndcg@10", sorted(rng.choice(full, 2, replace=False).tolist())) for _ in range(6)]
    for metric, names in [*sets, ("map", full)]:
        fused = ts.fuse(part(runs, qrels, names, sorted(qrels)), metric)
        equal = next(one for one in fused.baselines if one.name == "equal weights")
        shown = ", ".join(names) if len(names) == 2 else f"{len(names)} runs"
        print(
            f"{metric} {shown}: held out {fused.held_out:.4f}, equal weights "
            f"{equal.held_out:.4f}; {fused.verdict.recommendation} {fused.verdict.gain:+.4f} "
            f"({fused.verdict.low:+.4f} to {fused.verdict.high:+.4f})",
            flush=True,
        )


def voicepath(path: Path) -> None:
    """Prove the fewest errors of a line on 704 rows of two features."""
    from sklearn.linear_model import LogisticRegression

    rows = np.loadtxt(path, delimiter=",")
    features, classes = rows[:, :2], rows[:, 2].astype(int)
    task = ts.TuningSet(
        ts.from_two_classes(features, classes), ts.ClassMetric.of("accuracy", [0, 1])
    )
    result, seconds = timed(lambda: ts.Plane().fit(task))
    certificate = result.certificate
    assert certificate is not None
    errors = round(len(rows) * (1.0 - result.score))
    print(f"plane: {errors} errors, proven: {certificate['optimal']}, {seconds:.1f} s")
    usual = LogisticRegression(C=1e6).fit(features, classes).predict(features)
    print(f"logistic regression: {int((usual != classes).sum())} errors", flush=True)


def lambdarank(folder: Path) -> None:
    """Tune a linear ranker with an l2 penalty, and train LambdaMART, on the same queries."""
    import lightgbm as lgb
    from sklearn.datasets import load_svmlight_file

    metric = "ndcg@5:gains=exponential"
    train, test = (ts.read_letor(folder / name) for name in ("rank.train", "rank.test"))
    print(f"lambdarank: {train!r}, {test!r}")
    rng = np.random.default_rng(1)
    order = rng.permutation(train.groups)
    held = train.groups // 5
    rest, dev = (train.with_queries(np.sort(some)) for some in (order[held:], order[:held]))
    judged = ts.RankingTask(test, metric, "none")
    begun = time.process_time()
    tuner = ts.MERT(penalty="l2-normalized", strength=(1e-5, 1e-4, 1e-3, 1e-2), restarts=0)
    result = tuner.fit(
        ts.RankingTask(rest, metric, "none"), dev=ts.RankingTask(dev, metric, "none")
    )
    linear = judged.score_at(result.weights.matched(judged.names))
    print(f"mert, l2 chosen on {held} queries: {linear:.4f}, {time.process_time() - begun:.1f} s")
    sizes = [np.loadtxt(folder / f"rank.{name}.query", int) for name in ("train", "test")]
    X, y = load_svmlight_file(str(folder / "rank.train"), zero_based=False)  # noqa: N806
    begun = time.process_time()
    model = lgb.LGBMRanker(random_state=1, verbose=-1, n_jobs=2)
    model.fit(X, y, group=sizes[0])
    other, _ = load_svmlight_file(
        str(folder / "rank.test"), zero_based=False, n_features=X.shape[1]
    )
    starts = np.concatenate([[0], np.cumsum(sizes[1])])
    predicted, grades = model.predict(other), load_svmlight_file(str(folder / "rank.test"))[1]
    runs, qrels = {}, {}
    for q, (low, high) in enumerate(itertools.pairwise(starts)):
        names = [f"d{k:04}" for k in range(high - low)]
        runs[f"q{q}"] = dict(zip(names, predicted[low:high].tolist(), strict=True))
        qrels[f"q{q}"] = dict(zip(names, grades[low:high].astype(int).tolist(), strict=True))
    lambdamart = ts.RankingTask(ts.from_runs({"lambdamart": runs}, qrels), metric, "none")
    score = lambdamart.score_at(np.ones(1))
    print(f"lightgbm, defaults: {score:.4f}, {time.process_time() - begun:.1f} s", flush=True)


def main() -> None:
    """Run what there is data for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robust03", type=Path, help="folder of runs and judgements")
    parser.add_argument("--runs", type=int, nargs="*", default=[2, 3, 4, 5, 15])
    parser.add_argument("--metrics", nargs="*", default=["map", "ndcg@10"])
    parser.add_argument("--others", nargs="*", default=["ranx", "coordinate-ascent"])
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--restarts", type=int, default=5, help="of coordinate ascent")
    parser.add_argument("--ranklib", help="class path of RankLib, to be measured too")
    parser.add_argument("--turns", type=int, default=TURNS, help="in which all ways are timed")
    parser.add_argument("--no-parity", action="store_true", help="leave out trec_eval")
    parser.add_argument("--lambdarank", type=Path, help="folder of LightGBM's example")
    parser.add_argument("--voicepath", type=Path, help="file of rows of two classes")
    parser.add_argument("--no-verdicts", action="store_true", help="leave out what folds say")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.voicepath:
        voicepath(options.voicepath)
    if options.lambdarank:
        lambdarank(options.lambdarank)
    if options.robust03:
        runs, qrels = read_robust03(options.robust03)
        if not options.no_parity:
            parity(runs, qrels)
        for metric in options.metrics:
            compare(
                *(runs, qrels, options.runs, metric),
                *(options.others, options.splits, options.restarts, options.ranklib, options.turns),
            )
        if not options.no_verdicts:
            verdicts(runs, qrels)


if __name__ == "__main__":
    main()
