"""Results as tables for a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from tunesmith.errors import TunesmithError

if TYPE_CHECKING:
    from tunesmith.tuners.certify import Certified
    from tunesmith.tuners.fitting.result import OtherScores, Scores, TuneResult
    from tunesmith.tuners.replicates import Replicates

#: Weights that a table shows; the largest come first where there are more.
MOST = 40
#: Settings that a table shows, about.
MOST_SETTINGS = 20
#: Letters that are left of names where a table is narrow.
NARROW = 10
#: Letters of a metric's name that is not folded.
LONG = 16
#: Scores that differ by less are the same.
SAME = 1e-8
#: What a path says of each setting beside the setting itself.
OF_EVERY_SETTING = {
    *("score", "dev_score", "test_score", "length_ratio", "penalty", "nonzero"),
    *("line_searches", "seconds", "chosen", "failed", "unfinished"),
}


def result_table(result: TuneResult) -> Group:
    """Lay out scores and weights."""
    path = [] if result.path is None else [path_table(result)]
    rounds = _rounds_with_pairs(result)
    pairs = [pairs_table(result, rounds)] if rounds else []
    loop = [] if result.rounds is None else [loop_table(result)]
    members = [] if result.committee is None else [committee_table(result)]
    return Group(
        verdict_line(result),
        score_table(result),
        *members,
        *path,
        *loop,
        *pairs,
        weight_table(result),
        *([] if result.lenpen is None else [lenpen_line(result)]),
        _summary(result),
    )


def verdict_line(result: TuneResult) -> Text:
    """Say what held-out sentences say of the result."""
    groups, digits = (
        ("queries", 4) if "|normalisation:" in result.signature else ("sentences", None)
    )
    in_loop = result.rounds is not None
    return Text(
        result.verdict.text(result.metric, in_loop, groups=groups, digits=digits), style="bold"
    )


def committee_table(result: TuneResult) -> Table:
    """Lay out the members of a committee, and how far it went from the start."""
    committee = result.committee or {}
    table = Table(title="committee", title_justify="left", title_style="bold")
    table.add_column("member")
    table.add_column("held-out", justify="right")
    table.add_column("seconds", justify="right")
    table.add_column("share", justify="right", no_wrap=True)
    for entry in committee["members"]:
        note = f"{entry['share']:.0%}" if entry["takes_part"] else "stays out"
        if entry.get("failed"):
            note = "failed"
        score = "" if entry["score"] is None else shown_score(entry["score"])
        table.add_row(Text(entry["member"]), score, f"{entry['seconds']:.1f}", note)
    if committee["steps"]:
        step = committee["step"]
        text = f"{step:.0%} of the way from the start to the members' average"
        if step == 0.0:
            text = "the start is kept: no step away from it gains beyond chance"
        table.caption, table.caption_justify = Text(text), "left"
    return table


def loop_table(result: TuneResult) -> Table:
    """Lay out what each round of a loop came to."""
    rounds = result.rounds or []
    table = Table(title="rounds", title_justify="left", title_style="bold")
    heads = {"score": "tune", "dev_score": "dev", "test_score": "test"}
    scores = [name for name in heads if rounds[0][name] is not None]
    # Live nothing is kept from round to round, and nothing is promised.
    has_new = rounds[0]["new"] is not None
    promise = "on forests" if "|forests:" in result.signature else "on lists"
    new, promised = (["new"], [promise]) if has_new else ([], [])
    for column in ["round", *new, *(heads[name] for name in scores), *promised, "seconds"]:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for entry in rounds:
        score = entry["list_score"]
        seconds = entry["decode_seconds"] + (entry["tune_seconds"] or 0.0)
        table.add_row(
            str(entry["round"]),
            *([str(entry["new"])] if has_new else []),
            *(shown_score(entry[name]) for name in scores),
            *(["" if score is None else shown_score(score)] if has_new else []),
            f"{seconds:.1f}",
            "chosen" if entry["chosen"] else "",
        )
    table.caption, table.caption_justify = Text(f"it ended: {result.stopped}"), "left"
    return table


def path_table(result: TuneResult) -> Table:
    """Lay out what each setting of a tuner came to."""
    path = result.path or []
    settings = sorted(
        (name for name in path[0] if name not in OF_EVERY_SETTING), key="length_scale".__eq__
    )
    scores = [name for name in ("score", "dev_score", "test_score") if path[0][name] is not None]
    table = Table(title="path", title_justify="left", title_style="bold")
    heads = {"score": "tune", "dev_score": "dev", "test_score": "test"}
    # What algorithms and objectives differ in; strengths of a penalty in neither, as a rule.
    differ = bool({"tuner", "objective"} & {*settings})
    lengths = differ and any(entry["length_ratio"] is not None for entry in path)
    more = [*(["length\nratio"] if lengths else []), "nonzero", *(["seconds"] if differ else [])]
    for name in [*settings, *scores, *more]:
        head = heads.get(name, name.replace("_", " "))
        # Where there is no room for all, names are folded, and numbers stay whole.
        if isinstance(path[0].get(name), str):
            table.add_column(head, min_width=NARROW, overflow="fold")
        else:
            table.add_column(head, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    chosen = "best on dev" if result.reason is None else "chosen"
    for entry in _some(path):
        table.add_row(
            *(_setting(entry[name]) for name in settings),
            *(shown_score(entry[name]) for name in scores),
            *([_ratio(entry["length_ratio"])] if lengths else []),
            str(entry["nonzero"]),
            *([f"{entry['seconds']:.1f}"] if differ else []),
            ", ".join(_about_setting(entry, chosen)),
        )
    if result.reason is not None:
        table.caption, table.caption_justify = Text(f"chosen is {result.reason}"), "left"
    return table


def _about_setting(entry: dict[str, Any], chosen: str) -> Iterator[str]:
    """Yield what there is to say of a setting beside its scores."""
    if entry["chosen"]:
        yield chosen
    elif entry.get("failed"):
        yield "failed"
    if entry.get("unfinished"):
        yield "unfinished"


def _some(path: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what there is room for: of many settings each so many-th, and what was chosen."""
    step = -(-len(path) // MOST_SETTINGS)
    last = len(path) - 1
    return [e for k, e in enumerate(path) if k % step == 0 or k == last or e["chosen"]]


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.4f}"


def _setting(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def pairs_table(result: TuneResult, rounds: list[dict[str, Any]]) -> Table:
    """Lay out what a ranker learnt from, as Table 1 of "A tale about PRO and monsters" does."""
    score = "BLEU+1" if result.metric.partition(":")[0] == "bleu" else "score"
    in_loop = any("loop_round" in entry for entry in rounds)
    columns = {
        "run": "run",
        "loop_round": "round",
        "round": "its round" if in_loop else "round",
        "pairs_per_sentence": "pairs a sentence",
        "positive_length": "length pos",
        "negative_length": "neg",
        "reference_length": "ref",
        "positive_score": f"{score} pos",
        "negative_score": "neg",
    }
    shown = rounds[-MOST_SETTINGS:]
    title = "pairs: averages over positives and negatives"
    table = Table(title=title, title_justify="left", title_style="bold")
    known = [key for key in columns if any(key in entry for entry in shown)]
    if in_loop and len({entry.get("round") for entry in shown}) == 1:
        known = [
            key for key in known if key != "round"
        ]  # the tuner has one round in each of the loop's
    for key in known:
        table.add_column(columns[key], justify="right")
    for entry in shown:
        table.add_row(*(_mean(key, entry[key]) if key in entry else "" for key in known))
    if len(shown) < len(rounds):
        table.caption = f"the last {len(shown)} of {len(rounds)}"
    return table


def _rounds_with_pairs(result: TuneResult) -> list[dict[str, Any]]:
    """Return the rounds of the setting that was chosen, if its history tells of pairs."""
    chosen = next((entry for entry in result.path or [] if entry["chosen"]), {})
    # A round that was picked belongs to those before it.
    setting = {k: v for k, v in chosen.items() if k not in {*OF_EVERY_SETTING, "round"}}
    rounds = [entry for entry in result.history if "pairs" in entry]
    return [e for e in rounds if all(e.get(key, v) == v for key, v in setting.items())]


def _mean(key: str, value: float) -> str:
    if key.endswith("score"):
        return shown_score(value)
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def score_table(result: TuneResult) -> Table:
    """Lay out the scores before and after, and the oracle; other metrics below."""
    oracle = _oracle(result.oracle_score, result.oracle_exact, result.score)
    every: list[tuple[str, str, TuneResult | OtherScores | Scores | None, str]] = [
        (result.metric, "tune", result, oracle),
        (result.metric, "dev", result.dev, ""),
        (result.metric, "test", result.test, ""),
    ]
    for other in result.others:
        sets = ("tune", other), ("dev", other.dev), ("test", other.test)
        every += [(other.metric, name, scores, "") for name, scores in sets]
    rows = [(metric, name, scores, best) for metric, name, scores, best in every if scores]
    has_ratio = any(scores.length_ratio is not None for _, _, scores, _ in rows)
    # Names are shown as they are, whatever brackets they hold.
    title = None if result.others else Text(result.metric)
    table = Table(title=title, title_justify="left", title_style="bold")
    # Where there is little room, long names of metrics are folded, and the last heading.
    if result.others:
        table.add_column("metric", no_wrap=all(len(row[0]) <= LONG for row in rows))
    table.add_column("set", no_wrap=True)
    for column in ("before", "after", "change", "oracle"):
        table.add_column(column, justify="right", no_wrap=True)
    if has_ratio:
        table.add_column("length ratio", justify="right")
    for metric, name, scores, best in rows:
        shown = [Text(metric, overflow="fold")] if result.others else []
        ratio = [_ratio(scores.length_ratio)] if has_ratio else []
        before, after = scores.initial_score, scores.score
        change = _change(before, after, more_is_better(result, metric))
        table.add_row(*shown, name, shown_score(before), shown_score(after), change, best, *ratio)
    return table


def more_is_better(result: TuneResult, metric: str) -> bool | None:
    """Tell whether more of a metric is better; None if that is unknown."""
    from tunesmith.metrics.base import METRICS

    if metric == result.metric and result.verdict.gain is not None:
        return result.verdict.higher_is_better
    try:
        return METRICS.create(metric).higher_is_better
    except TunesmithError:  # a metric of another task
        return None


def _change(before: float, after: float, more: bool | None) -> Text:
    """Show a change with its sign; colour and a word say whether it is for the better."""
    text = shown_change(before, after)
    if more is None or not text.strip("+-0."):
        return Text(text)
    is_better = (after > before) == more
    return Text(f"{text} better" if is_better else f"{text} worse", "green" if is_better else "red")


def _oracle(oracle: float, exact: bool, score: float) -> str:
    """Show an oracle; one that is not exact is a bound, of an error rate from above."""
    sign = "" if exact else "≤ " if oracle < score else "≥ "
    return f"{sign}{shown_score(oracle)}"


def shown_score(score: float) -> str:
    """Show a score; one that is not in per cent, as a rule, with more digits."""
    return f"{score:.2f}" if abs(score) > 1 else f"{score:.4f}"


def shown_change(before: float, after: float) -> str:
    """Show how a score changed, with its sign: the difference of what is shown of both."""
    shown = shown_score(before), shown_score(after)
    difference = float(shown[1]) - float(shown[0])
    digits = min(len(score.partition(".")[2]) for score in shown)
    return f"{round(difference, digits) + 0.0:+.{digits}f}"  # no negative zero


def weight_table(result: TuneResult) -> Table:
    """Lay out the weights before and after."""
    table = Table(title="weights", title_justify="left", title_style="bold")
    table.add_column("feature")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    start, weights = ({**of} for of in (result.start, result.weights))
    if result.lenpen is not None:
        start, weights = (_undivided(of, result.lenpen["length"]) for of in (start, weights))
    names = list(weights)
    if len(names) > MOST:
        names = sorted(names, key=lambda name: -abs(weights[name]))[:MOST]
    for name in names:
        before = start.get(name, 0.0)
        table.add_row(Text(name, overflow="fold"), f"{before:.6g}", f"{weights[name]:.6g}")
    if len(names) < len(weights):
        table.caption = f"the largest {len(names)} of {len(weights)}"
    return table


def _undivided(weights: dict[str, float], length: str) -> dict[str, float]:
    """Return weights by the names of features, whether these are divided by a length or not."""
    from tunesmith.derived.lengths import without_quotients

    return without_quotients(weights, length)[0] or {}


def lenpen_line(result: TuneResult) -> Text:
    """Say what scores are divided by."""
    lenpen = result.lenpen or {}
    text = f"lenpen: scores are divided by {lenpen['length']}^{lenpen['exponent']:g}"
    if lenpen["plain"]:
        text += f", but {', '.join(lenpen['plain'])}"
    return _line(f"{text} ({lenpen['low']:.6g} to {lenpen['high']:.6g} choose alike)")


def _summary(result: TuneResult) -> Text:
    scores = ", ".join(shown_score(run["score"]) for run in result.runs or ())
    proof = "" if result.certificate is None else f"\n{_proof(result.certificate)}"
    searches = f"{result.line_searches} line searches in " if result.line_searches else ""
    stopped = f"{result.stopped}\n" if result.interrupted and not result.rounds else ""
    return _line(
        f"{stopped}{result.tuner}: {searches}{result.seconds:.2f} s, seed {result.seed}, "
        + _who(result)
        + (f"\nruns: {scores}" if scores else "")
        + proof
    )


def _who(result: TuneResult) -> str:
    """Say who worked."""
    if not result.workers:
        return "1 thread" if result.threads == 1 else f"{result.threads} threads"
    workers = "worker" if result.workers == 1 else "workers"
    return f"{result.workers} {workers} ({result.engine})"


def _line(text: str) -> Text:
    """Return text that stays on its lines, however narrow the terminal is."""
    return Text(text, no_wrap=True, overflow="ignore")


def _proof(certificate: dict[str, Any]) -> str:
    """Say what a certificate proves."""
    where = f" within {certificate['within']}" if "within" in certificate else ""
    if certificate["optimal"]:
        verdict = f"proven: no weights{where} do better"
    elif certificate.get("tie"):
        verdict = (
            "leads below the tolerance decide: of weights that count, none does better than "
            f"{shown_score(certificate['clear_bound'])}"
        )
    elif certificate["bound"] is None:
        verdict = "nothing is proven"
    else:
        verdict = (
            f"no weights{where} do better than {shown_score(certificate['bound'])}: "
            f"the gap is {shown_score(certificate['gap'])}"
        )
    total = str(certificate["total"])
    # 12 and more digits are hard to read; a power stands as it is.
    many = total if "^" in total or len(total) < 12 else f"10^{len(total) - 1}"
    return f"{verdict} ({certificate['tested']} tested of {many})"


def certified_table(result: Certified) -> Group:
    """Lay out what weights reach, what others do, and what none can."""
    table = Table(title=Text(result.metric), title_justify="left", title_style="bold")
    for column in ("these weights", "best found", "bound", "gap", "oracle"):
        table.add_column(column, justify="right")
    proof = result.certificate
    shown = (result.score, result.found_score, proof["bound"], proof["gap"], result.oracle_score)
    table.add_row(*(shown_score(value) for value in shown))
    curve = []
    if result.curve is not None:
        angles = Table(title="by the angle to these weights", title_justify="left")
        for column in ("degrees", "bound", "gap", "gap in %"):
            angles.add_column(column, justify="right")
        for point in result.curve:
            share = 100.0 * point["gap"] / abs(result.score) if result.score else 0.0
            numbers = (shown_score(point["bound"]), shown_score(point["gap"]), f"{share:.2f}")
            angles.add_row(f"{point['degrees']:g}", *numbers)
        curve = [angles]
    seconds = sum(curve_point["seconds"] for curve_point in result.curve or [proof])
    text = f"{_proof(proof)}, in {seconds:.2f} s"
    if not proof["optimal"] and abs(result.found_score - proof["bound"]) < SAME:
        text += "\nthe best weights found reach the bound"
    return Group(table, *curve, _line(text))


def replicates_table(replicates: Replicates) -> Group:
    """Lay out how the scores of independent runs spread."""
    seeds = [result.seed for result in replicates.results]
    table = Table(title=f"{len(seeds)} runs", title_justify="left", title_style="bold")
    table.add_column("metric", min_width=NARROW, overflow="fold")
    table.add_column("set")
    for column in ("mean", "deviation", "min", "max"):
        table.add_column(column, justify="right", no_wrap=True)
    for spread in replicates.spreads():
        digits = 2 if abs(spread.mean) > 1 else 4
        numbers = (spread.mean, spread.deviation, spread.minimum, spread.maximum)
        shown = [f"{value:.{digits}f}" for value in numbers]
        table.add_row(Text(spread.metric), spread.set, *shown)
    chosen = replicates.results[replicates.chosen]
    return Group(
        table,
        _line(
            f"seeds {seeds[0]} to {seeds[-1]}; the run in the middle by the {replicates.by} score "
            f"has seed {chosen.seed}:"
        ),
        chosen,
    )


def as_text(result: object) -> str:
    """Return what prints itself as a table, without colours."""
    out = io.StringIO()
    Console(file=out, width=100, no_color=True).print(result, crop=False)
    return out.getvalue().rstrip()
