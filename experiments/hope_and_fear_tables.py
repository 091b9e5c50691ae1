"""The tables of hope_and_fear.py."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from forest_search_tables import deviation, line, table_head
from hope_and_fear_findings import findings
from hope_and_fear_known import Known, best_on_dev, label, way
from hope_and_fear_parts import MODELS, PROTOCOLS, Parts, all_runs
from hope_and_fear_parts import PARTS as ALL
from hope_and_fear_runs import Run

Row = dict[str, Any]
__all__ = ["all_of", "best_on_dev"]


def all_of(rows: Sequence[Row], parts: Parts) -> dict[str, str]:
    """Return all tables by name."""
    known = Known(rows)
    made = {
        "figure2": [
            *(one for tuner in ("sgd", "mira", "min-risk") for one in parts.by_rate(tuner)),
            parts.mert,
        ],
        "figure3a": parts.by_search(),
        "figure3b": parts.by_loss(),
        "figure5": parts.by_number(),
        "figure6a": parts.by_variance(),
        "figure6b": parts.by_confidence(),
    }
    found = {name: curves(known, runs) for name, runs in made.items()}
    seeds = parts.protocol.seeds
    by_way = [zip(*(parts.by_way(m, seed) for seed in seeds), strict=True) for m in MODELS]
    found["seeds"] = over_seeds(known, [list(same) for one in by_way for same in one])
    ordered = zip(*(parts.ordering(seed) for seed in seeds), strict=True)
    found["ordering"] = over_seeds(known, [list(same) for same in ordered])
    found["rates"] = chosen_rates(known, parts)
    found["table1"] = table1(known, parts)
    found["about"] = about(known)
    found["costs"] = costs(known, parts)
    found["findings"] = findings(known, parts)
    return found


def about(known: Known) -> str:
    """Show how large everything is."""
    if known.about is None:
        return ""
    row = known.about
    counts = ", ".join(f"{count} in {which}" for which, count in row["sentences"].items())
    names = ", ".join(f"`{name}`" for name in row["small"])
    lacking = row["runs"] - len(known)
    missing = f" **{lacking} of {row['runs']} runs have not been done yet.**" if lacking > 0 else ""
    return "\n".join(
        [
            f"- Text: {row['pairs']:,} pairs for the rules and the language model; sentences: "
            f"{counts}. {row['rules']:,} rules can apply to them.",
            f"- Small model: {row['features']['small']} features: {names}.",
            f"- Large model: {row['features']['large']:,} features: lexical ones of the "
            f"{row['lexical']:,} most frequent words of each side beside these.",
            f"- {row['epochs']} epochs; {row['learners']} learners where nothing else is said; "
            f"MERT with {row['restarts']} restarts.{missing}",
            f"- The model's own weights, with which nothing here begins: {row['own']['dev']:.2f} "
            f"on Dev, {row['own']['test']:.2f} on Test.",
        ]
    )


def curves(known: Known, runs: Sequence[Run]) -> str:
    """Show BLEU on Dev after each epoch, and on Test at the epoch that Dev chooses."""
    some = known.of(runs)
    if not some:
        return ""
    last = max(len(row["dev"]) for row in some) - 1
    lines = table_head(["", "start", *_epochs(last), "chosen", "Test"])
    for one in runs:
        if one in known:
            row = known[one]
            cells = [f"{score:.2f}" for score in row["dev"]]
            cells += [""] * (last + 1 - len(cells))
            lines.append(line([label(one), *cells, str(row["epoch"]), f"{row['test']:.2f}"]))
    return "\n".join(lines)


def over_seeds(known: Known, kinds: Sequence[Sequence[Run]]) -> str:
    """Show the same, as means over seeds, and how much seeds differ."""
    some = [found for runs in kinds if (found := known.of(runs))]
    if not some:
        return ""
    last = max(len(row["dev"]) for found in some for row in found) - 1
    heads = ["", "start", *_epochs(last), "dev.", "best", "Test", "dev.", "seeds"]
    lines = table_head(heads)
    for runs in kinds:
        found = known.of(runs)
        if found:
            cells = [_mean(row["dev"][k] for row in found) for k in range(last + 1)]
            cells += [deviation([row["dev"][-1] for row in found])]
            cells += [_mean(max(row["dev"][1:]) for row in found)]
            cells += [_mean(row["test"] for row in found)]
            cells += [deviation([row["test"] for row in found]), str(len(found))]
            lines.append(line([label(runs[0]), *cells]))
    return "\n".join(lines)


def chosen_rates(known: Known, parts: Parts) -> str:
    """Show MIRA on the large model with every η, and with the one that Dev chooses by seed.

    Only the seeds of which all runs are there take part.
    """
    seeds = [parts.by_way_and_rate(seed) for seed in parts.protocol.seeds]
    seeds = [ways for ways in seeds if all(one in known for some in ways for one in some)]
    if not seeds:
        return ""
    rates = [one.rate for one in seeds[0][0]]
    tried = ", ".join(f"{x:g}" for x in rates)
    heads = [f"{len(seeds)} seeds", *(f"η = {x:g}" for x in rates), f"η of {tried} by Dev"]
    lines = table_head([*heads, "best", "Test", "dev."])
    if known.about is not None and (begin := known.about.get("start")):
        untuned = [f"{begin['dev']:.2f}"] * len(rates)
        lines.append(line(["untuned", *untuned, "", untuned[0], f"{begin['test']:.2f}", ""]))
    for ways in zip(*seeds, strict=True):
        curves = [[known[one] for one in some] for some in ways]
        best = [best_on_dev(rows) for rows in curves]
        cells = [_mean(rows[k]["dev"][-1] for rows in curves) for k in range(len(rates))]
        cells += [", ".join(f"{row['rate']:g}" for row in best)]
        cells += [_mean(max(row["dev"][1:]) for row in best), _mean(row["test"] for row in best)]
        cells += [deviation([row["test"] for row in best])]
        lines.append(line([way(ways[0][0]), *cells]))
    return "\n".join(lines)


def table1(known: Known, parts: Parts) -> str:
    """Show Table 1: ours, the paper's beside it, and how sure the differences are."""
    tests = {test["chosen"]: test for test in known.tests}
    heads = ["model", "objective", "algorithm", "search", "learners", "epoch", "Dev", "Test"]
    heads += ["p: MERT", "p: row above", "paper: epoch", "Dev", "Test"]
    lines = table_head(heads)
    for one, runs in parts.table1():
        if not (some := known.of(runs)):
            continue
        best = best_on_dev(some)
        rate = {"MERT": "", "AROW": f" η₀ = {best['rate']:g}, λ = {best['confidence']:g}"}
        algorithm = one.algorithm + rate.get(one.algorithm, f" η = {best['rate']:g}")
        cells = [one.model, one.objective, algorithm, one.approximation, one.parallel]
        cells += [str(best["epoch"]), f"{max(best['dev'][1:]):.2f}", f"{best['test']:.2f}"]
        test = tests.get(best["run"], {})
        cells += [f"{test[key]:.3f}" if key in test else "" for key in ("first", "above")]
        if one.epoch:
            epoch = f"{one.epoch} ({one.rates})" if one.rates else str(one.epoch)
            cells += [epoch, f"{one.dev:.1f}", f"{one.test:.1f}"]
        else:
            cells += [""] * 3
        lines.append(line(cells))
    return "\n".join(lines)


def costs(known: Known, parts: Parts) -> str:
    """Show what a sentence costs, and from it how long the full protocol takes."""
    if known.about is None:
        return ""
    sizes = known.about["sentences"]
    lines = table_head(["", "ms for a sentence learnt from", "for one of Dev", "s for a whole run"])
    every = [one for one in all_runs(parts.protocol, ALL) if one in known]
    kinds: dict[tuple[str, str, str], list[Row]] = {}
    for one in every:
        if "costs" in known[one]:
            kinds.setdefault((one.model, one.tuner, one.way), []).append(known[one])
    for kind, rows in kinds.items():
        learn = 1000 * statistics.mean(row["costs"]["learn"] for row in rows) / sizes["tune"]
        decode = 1000 * statistics.mean(row["costs"]["decode"] for row in rows) / sizes["dev"]
        cpu = statistics.mean(row["cpu"] for row in rows)
        lines.append(line([", ".join(kind), f"{learn:.1f}", f"{decode:.1f}", f"{cpu:.0f}"]))
    if kinds:
        lines += ["", _expected(kinds, sizes, sum(known[one]["cpu"] for one in every), len(every))]
    return "\n".join(lines)


def _expected(kinds: Any, sizes: dict[str, int], cpu: float, runs: int) -> str:
    """Return how long the full protocol takes at these costs."""
    full = PROTOCOLS["full"]
    rows = [row for some in kinds.values() for row in some]
    learn = statistics.mean(row["costs"]["learn"] for row in rows) / sizes["tune"]
    decode = statistics.mean(row["costs"]["decode"] for row in rows) / sizes["dev"]
    count = len(all_runs(full, ALL))
    sentences = full.sizes.tune + full.sizes.held_out
    # The start and the end of a run: a decoding of Tune, of Dev and of Test.
    epochs = full.epochs * (sentences * learn + full.sizes.dev * decode)
    whole = count * (epochs + (sentences + full.sizes.dev + full.sizes.test) * decode) / 3600
    return (
        f"These {runs} runs took {cpu:.0f} s of processor time. At the same costs the full "
        f"protocol takes {whole:.1f} hours of it, {whole / 2:.1f} hours on two cores: {count} runs "
        f"of {full.epochs} epochs over {sentences:,} sentences."
    )


def _epochs(last: int) -> list[str]:
    return [str(k) for k in range(1, last + 1)]


def _mean(values: Iterable[float]) -> str:
    return f"{statistics.mean(values):.2f}"
