"""What to be careful about: in the scores of a run, its lengths, its weights and its sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from tunesmith.errors import TunesmithError
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.registry import IN_FILE
from tunesmith.report.page.rounds import number
from tunesmith.report.page.run.files import CALLED
from tunesmith.report.page.run.record import RunRecord
from tunesmith.report.page.view import Caution, RoundsView, SurfaceCurve, Surfaces
from tunesmith.report.page.words import metric_name
from tunesmith.tuners.fitting.guards import metric_bias, overlap, told_overlap
from tunesmith.tuners.pro.gathering import has_monsters

#: Ratios of output to reference length that need no caution: BLEU's
#: brevity penalty costs less than 3 % of the score, and lengths differ by as much between
#: references.
SHORT, LONG = 0.97, 1.03
#: A weight is fragile if a change by this share of it loses this share of what tuning has
#: gained. Nobody knows a weight better than to a per cent: rounding in a configuration file, or
#: another sample of sentences, changes it by more.
STEP, LOSS = 0.01, 0.2
#: How many fragile weights are named.
NAMED = 3

#: What the warnings of a run are about.
KINDS = {
    "overlap": re.compile(r"sentences of the .* are in the|is in the .* set and in the"),
    "metric": re.compile(r"metric bias"),
    "test": re.compile(r"test set (is scored with|has been scored)"),
    "monsters": re.compile(r"^monsters|monsters win"),
}


def cautions_of(
    record: RunRecord, rounds: RoundsView | None, surfaces: Surfaces | None
) -> tuple[Caution, ...]:
    """Return what to be careful about, the gravest first."""
    cautions = [
        *_overfitting(record),
        *_falling(record, rounds),
        *_overlaps(record),
        *_choosing(record.result),
        *_bias(record),
        *_lengths(record),
        *_monsters(record),
        *_fragile(record, surfaces),
        *_unproven(record),
    ]
    kinds = {caution.kind for caution in cautions} & {"overlap", "test", "metric", "monsters"}
    stated = [caution for caution in _warnings_of(record.result) if caution.kind not in kinds]
    return tuple(dict.fromkeys([*cautions, *stated]))


def shown(metric: Metric, score: float) -> str:
    """Return a score with as many digits as its scale calls for."""
    return f"{score:.2f}" if metric.scale == 100.0 else f"{score:.4f}"


def _sign(metric: Metric) -> float:
    return 1.0 if metric.higher_is_better else -1.0


def _scores(entry: Any) -> tuple[float, float] | None:
    """Return the scores before and after."""
    scores = entry if isinstance(entry, Mapping) else {}
    before, after = (number(scores.get(key)) for key in ("initial_score", "score"))
    return None if before is None or after is None else (before, after)


def _overfitting(record: RunRecord) -> Iterator[Caution]:
    """Tell of sets on which it became worse while it became better on the tuning set."""
    metric, sign = record.metric, _sign(record.metric)
    name = metric_name(metric.name)
    scores = _scores(record.result)
    if scores is None or sign * (scores[1] - scores[0]) <= 0.0:
        return
    for which in ("dev", "test"):
        held_out = _scores(record.result.get(which))
        if held_out is not None and sign * (held_out[1] - held_out[0]) < 0.0:
            a, b, c, d = (shown(metric, value) for value in (*scores, *held_out))
            yield Caution(
                "overfitting",
                f"{name} became better on the tuning set ({a} to {b}) and worse on the "
                f"{CALLED[which]} ({c} to {d}): a sign that the weights fit these sentences "
                "and not the task.",
                "Tune on more sentences or with fewer features, hold the weights back with a "
                "penalty (--penalty), or keep the starting weights.",
            )


def _falling(record: RunRecord, rounds: RoundsView | None) -> Iterator[Caution]:
    """Warn of a held-out score that falls from some round on while the tuning score rises."""
    if rounds is None or rounds.unit not in {"round", "epoch"} or rounds.chosen is None:
        return
    sign = _sign(record.metric)
    tune, dev = (rounds.series.get(name, ()) for name in ("tune", "dev"))
    pairs = [
        (k, t, d)
        for k, (t, d) in enumerate(zip(tune, dev, strict=False))
        if t is not None and d is not None
    ]
    if len(pairs) < 2:
        return
    best = max(pairs, key=lambda pair: sign * pair[2])
    chosen = next((pair for pair in pairs if pair[0] == rounds.chosen), None)
    if chosen is None or chosen[0] <= best[0]:
        return
    if sign * (chosen[2] - best[2]) < 0.0 < sign * (chosen[1] - best[1]):
        values = (best[1], chosen[1], best[2], chosen[2])
        a, b, c, d = (shown(record.metric, value) for value in values)
        option = "--final dev" if record.result.get("rounds") else "--pick dev"
        yield Caution(
            "overfitting",
            f"From {rounds.unit} {rounds.names[best[0]]} to {rounds.names[chosen[0]]}, which was "
            f"chosen, the tuning set goes from {a} to {b} and the held-out set from {c} to {d}.",
            f"Take the {rounds.unit} that is best on the held-out set: {option}.",
        )


def _overlaps(record: RunRecord) -> Iterator[Caution]:
    """Tell of sentences that two sets have in common."""
    for first, second in combinations(record.sets, 2):
        shared = overlap(record.sets[first].lists, record.sets[second].lists)
        text = told_overlap(shared, CALLED[second], CALLED[first])
        if text is not None:
            yield _split("overlap", text)


def _choosing(result: Mapping[str, Any]) -> Iterator[Caution]:
    """Tell of a test set that was looked at more than once."""
    path = [
        point for point in result.get("path") or () if number(point.get("test_score")) is not None
    ]
    if len(path) > 1:
        yield Caution(
            "test",
            f"The test set was scored with each of {len(path)} settings.",
            "Choose by the held-out set alone: the best of several test scores says too much.",
        )
    count = result.get("test_scored")
    if isinstance(count, int) and count > 1:
        yield Caution(
            "test",
            f"The test set has been scored {count} times, with other settings each time.",
            "Choose by a held-out set, and report a test set that was scored once.",
        )


def _bias(record: RunRecord) -> Iterator[Caution]:
    """Caution if a model's scores are tuned for, and nothing else is reported."""
    if "tune" not in record.sets or not any(record.result.get(w) for w in ("dev", "test")):
        return
    others: list[Metric] = []
    for other_metric in record.result.get("others") or ():
        spec = str(other_metric.get("metric"))
        try:
            others += [] if IN_FILE.match(spec) else [METRICS.create(spec)]
        except TunesmithError:
            return
    text = metric_bias(record.metric, record.sets["tune"].lists.candidates, others)
    if text is not None:
        yield _split("metric", text)


def _lengths(record: RunRecord) -> Iterator[Caution]:
    """Tell of outputs that are shorter or longer than references."""
    for which, called in CALLED.items():
        scores = record.result if which == "tune" else record.result.get(which) or {}
        ratio = number(scores.get("length_ratio"))
        if ratio is None or SHORT <= ratio <= LONG:
            continue
        penalty = number(scores.get("brevity_penalty"))
        cost = ""
        if penalty is not None and penalty < 1.0:
            cost = f" The brevity penalty of {penalty:.3f} takes {100 * (1 - penalty):.1f} % off."
        word = "shorter" if ratio < 1.0 else "longer"
        yield Caution(
            "length",
            f"The output on the {called} is {abs(100 * (ratio - 1)):.1f} % {word} than the "
            f"references (ratio {ratio:.3f}).{cost}",
            "Look at the weight of the feature that counts words, and see that references and "
            "candidates are tokenised alike.",
        )


def _monsters(record: RunRecord) -> Iterator[Caution]:
    """Tell of negatives of PRO that are far too long and score nothing."""
    keys = ("negative_length", "reference_length", "positive_score", "negative_score")
    for entry in record.result.get("history") or ():
        values = [number(entry.get(key)) for key in keys]
        if None in values or not has_monsters(entry, record.metric):
            continue
        yield Caution(
            "monsters",
            f"In step {entry.get('step')} PRO learnt from monsters: its negatives have "
            f"{values[0]:.0f} words where references have {values[1]:.0f}, and score "
            f"{values[3]:.1f} where positives score {values[2]:.1f}.",
            "Leave pairs out whose members differ much in length: --select length:most=10.",
        )
        return


def _fragile(record: RunRecord, surfaces: Surfaces | None) -> Iterator[Caution]:
    """Warn of weights at the edge of their plateau, with a step down next to it."""
    scores = _scores(record.result)
    if surfaces is None or scores is None:
        return
    gained = abs(scores[1] - scores[0])
    lost = [(_loss(curve, _sign(record.metric)), curve) for curve in surfaces.curves]
    fragile = [(loss, c) for loss, c in lost if gained > 0.0 and loss >= LOSS * gained]
    if not fragile:
        return
    fragile.sort(key=lambda pair: -pair[0])
    metric = record.metric
    parts = [f"{c.feature} (down by {shown(metric, loss)})" for loss, c in fragile[:NAMED]]
    more = f" and {len(fragile) - NAMED} more" if len(fragile) > NAMED else ""
    yield Caution(
        "edge",
        f"On the edge of their plateau, so that a change by {100 * STEP:.0f} % loses much of the "
        f"gain of {shown(metric, gained)}: {', '.join(parts)}{more}.",
        "Such a gain may not hold for other sentences: look at the curve, tune with --smoothing "
        "mean or with more sentences, and write weights with all their digits.",
    )


def _loss(curve: SurfaceCurve, sign: float) -> float:
    """Return by how much a change of the weight by a small share makes the metric worse."""
    if curve.edge is None or curve.edge > STEP or curve.weight == 0.0:
        return 0.0
    edges, scores = curve.close_edges, curve.close_scores
    if not scores:
        edges, scores = curve.edges, curve.scores
    if not scores:
        return 0.0
    ends = sorted((curve.weight * (1 - STEP), curve.weight * (1 + STEP)))
    first, last = np.searchsorted(edges, ends[0], "right"), np.searchsorted(edges, ends[1], "left")
    worst = min(sign * score for score in scores[first : last + 1])
    return max(0.0, sign * curve.score - worst)


def _unproven(record: RunRecord) -> Iterator[Caution]:
    """Tell of a certificate that leaves something open."""
    certificate = record.result.get("certificate")
    if not isinstance(certificate, dict) or certificate.get("optimal") is not False:
        return
    best, bound = (number(certificate.get(key)) for key in ("best", "bound"))
    if best is not None and bound is not None:
        word = "more" if record.metric.higher_is_better else "less"
        yield Caution(
            "certificate",
            f"The weights are not proven to be the best: they reach {best:.4f}, and no weights "
            f"reach {word} than {bound:.4f} (means over sentences).",
            "Give the search more time, or be content with the bound.",
        )


def _warnings_of(result: Mapping[str, Any]) -> Sequence[Caution]:
    """Return what the run itself has warned of."""
    cautions = []
    for text in result.get("warnings") or ():
        kind = next((name for name, like in KINDS.items() if like.search(str(text))), "said")
        cautions.append(_split(kind, str(text)))
    return cautions


def _split(kind: str, text: str) -> Caution:
    """Take a message apart: what is so, and what to do."""
    problem, _, remedy = text.partition("; ")
    return Caution(kind, _sentence(problem), _sentence(remedy))


def _sentence(text: str) -> str:
    """Return a message as a sentence; a name that it begins with stays as it is."""
    text = text.strip()
    first = text.partition(" ")[0].rstrip(",:")
    if first.isalpha() and metric_name(first) == first:
        text = text[0].upper() + text[1:]
    return text if not text or text[-1] in ".?!" else f"{text}."
