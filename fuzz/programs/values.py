"""Values for options, most of them valid."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from fuzz.programs.options import Flag
from fuzz.programs.sets import Drawn

METRICS = (
    *(
        "bleu",
        "sentence-bleu",
        "ter",
        "wer",
        "cer",
        "chrf",
        "chrf++",
        "bleu:order=2",
        "bleu:lowercase=true",
    ),
    *("bleu:smoothing=none", "bleu:smoothing=floor", "bleu:smoothing=add-k,smoothing-value=2"),
    *("bleu:reference-length=average", "bleu:reference-length=shortest", "column:m", "cost:m"),
    *(
        "sentence-bleu:smoothing=none",
        "sentence-bleu:grounded=true",
        "sentence-bleu:brevity=smoothed",
    ),
    *(
        "sentence-bleu:unclipped=true",
        "sentence-bleu:smoothing=lin-och",
        "chrf:beta=1,word-order=1",
    ),
    *(
        "chrf:whitespace=true",
        "chrf:eps-smoothing=true",
        "ter:normalized=true",
        "ter:no-punct=true",
    ),
    *(
        "sum(0.5*bleu,0.5*chrf)",
        "harmonic(bleu,chrf)",
        "min(bleu,ter)",
        "sum(wer,cer)",
        "bleu:order=0",
    ),
    *(
        "bleu:order=99",
        "bleu:tokenize=13a",
        "bleu:tokenize=x",
        "chrf:beta=nan",
        "sum()",
        "sum(bleu",
        "x",
    ),
    *(
        "bleu:reference-length-scale=0.5",
        "bleu:reference-length-scale=-1",
        "column:f0",
        "column:",
        "cost:x",
    ),
)
#: Those that are sums over sentences.
SUMS = ("sentence-bleu", "sentence-bleu:grounded=true", "wer", "cer", "ter", "column:m")
OBJECTIVES = (
    *("document", "metric", "sentence", "bleu+1", "unsmoothed", "grounded", "brevity-smoothed"),
    *(
        "scaled",
        "scaled-literal",
        "unclipped",
        "unclipped-scaled",
        "brevity-smoothed-grounded",
        "x",
    ),
)
FORMATS = (
    "moses",
    "cdec",
    "joshua",
    "travatar",
    "marian",
    "jsonl",
    "csv",
    "tsv",
    "parquet",
    "arrow",
)
OTHER_FORMATS = (
    "fairseq",
    "kaldi",
    "nemo",
    "parallel",
    "moses-data",
    "nemo:per-source=2",
    "x",
    "json",
)
FOREST_FORMATS = (
    "cdec-forest",
    "moses-hypergraph",
    "joshua-hypergraph",
    "plf",
    "htk",
    "kaldi-lattice",
)
WEIGHTS_FORMATS = ("json", "moses", "moses-ini", "cdec", "travatar", "yaml")
ENDINGS = (
    ".json",
    ".txt",
    ".nbest",
    ".jsonl",
    ".csv",
    ".arrow",
    ".parquet",
    ".gz",
    "",
    ".jsonl.zst",
)
#: What is no value of anything, or an extreme one.
ODD = (
    "",
    " ",
    "x",
    "-1",
    "0",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e-400",
    "1.5",
    "=",
    ":",
    ",",
    "\u00e9",
    "a=b=c",
)
INTEGERS = (0, 1, 1, 2, 2, 3, 5, 10)
NUMBERS = ("0", "0.01", "0.1", "0.5", "1", "1", "2", "10", "100", "-1", "1e-9", "1e9")
#: Options whose huge values must not take long.
MAY_BE_HUGE = {"seed", "list-size", "window", "inbox", "local-best", "sentences"}
HUGE = ("2147483648", "9223372036854775808", "1" + "0" * 30)

Choose = Callable[[random.Random, Drawn], str]


def _file(*keys: str) -> Choose:
    def choose(rng: random.Random, drawn: Drawn) -> str:
        if rng.random() < 0.04:
            return rng.choice([*drawn.files["other"], "/nowhere/x", drawn.files["candidates"][0]])
        return rng.choice([path for key in keys for path in drawn.files[key]])

    return choose


def _one(*values: str) -> Choose:
    return lambda rng, _: rng.choice(values)


def _name(rng: random.Random, drawn: Drawn) -> str:
    return rng.choice([*drawn.names, *drawn.names, "m", "s", "nothing"])


def _names(between: str) -> Choose:
    return lambda rng, drawn: between.join(
        _name(rng, drawn) for _ in range(rng.choice((2, 2, 1, 3)))
    )


def _pattern(rng: random.Random, drawn: Drawn) -> str:
    return rng.choice([*drawn.names, "f*", "*", "f?", "[", "x*", "f[0-1]"])


def _score(rng: random.Random, drawn: Drawn) -> str:
    return f"{rng.choice(('s', 's', 'm', 'f0', ''))}={_file('scores')(rng, drawn)}"


def _system(rng: random.Random, drawn: Drawn) -> str:
    paths = [_file("hypotheses", "weights")(rng, drawn) for _ in range(rng.choice((1, 1, 2)))]
    return f"{rng.choice('AB')}={','.join(paths)}"


def _out(rng: random.Random, drawn: Drawn) -> str:
    folder = drawn.files["candidates"][0].rpartition("/")[0]
    return f"{folder}/out{rng.choice(ENDINGS)}"


def _range(rng: random.Random, _: Drawn) -> str:
    return f"{rng.choice(('-1', '0', '', '2', 'x'))}:{rng.choice(('1', '3', '', '-2', 'nan'))}"


BY_NAME: dict[str, Choose] = {
    "candidates": _file("candidates", "candidates", "jsonl"),
    "dev-candidates": _file("dev", "jsonl"),
    "test-candidates": _file("dev", "candidates"),
    "forests": _file("forests"),
    "dev-forests": _file("forests"),
    "test-forests": _file("forests"),
    **dict.fromkeys(("references", "dev-references", "test-references"), _file("references")),
    "hypotheses": _file("hypotheses"),
    **dict.fromkeys(("weights", "start", "prior", "direction"), _file("weights")),
    **dict.fromkeys(("scores", "dev-scores", "test-scores"), _score),
    "system": _system,
    **dict.fromkeys(("metric", "statistics"), _one(*METRICS)),
    "objective": _one(*OBJECTIVES),
    "format": _one(*FORMATS, *OTHER_FORMATS, *FOREST_FORMATS),
    "to": _one(*FORMATS, *OTHER_FORMATS, *FOREST_FORMATS, *WEIGHTS_FORMATS),
    "out": _out,
    "sentences-out": _out,
    "normalise": _one("none", "l1", "l2", "f0", "f1", "x"),
    "directions": _one("coordinate", "powell", "random", "gradient", "x"),
    "sample": _one("uniform", "uniform:pairs=10", "all", "x", "uniform:pairs=0"),
    "select": _one(
        "difference:least=0.1",
        "length:most=3",
        "outliers:of=1,deviations=1",
        "all",
        "stochastic:of=5",
        "x",
    ),
    "accept": _one("greatest", "greatest:pairs=5", "random:pairs=5", "all", "greatest:pairs=0"),
    "learn": _one("logistic", "hinge", "x"),
    "prune": _one(
        "posterior:0.1", "beam:1", "density:3", "beam:-1", "beam:nan", "x:1", "posterior:2", "beam"
    ),
    "memory": _one("1GiB", "100MB", "100MB", "1k", "0", "-1", "1e3G"),
    "engine": _one("threads", "threads", "x"),
    "threads": _one("1", "1", "1", "1", "0", "-1"),
    "workers": _one("1", "0", "x"),
    "time-limit": _one("0.05", "0.1", "0.2", "0", "-1", "nan", "x"),
    "range": _range,
    "feature": _name,
    "column": _name,
    "fixed-feature": _name,
    "plane": _names(","),
    "features": _names(","),
    "tie": _names("="),
    "scale-together": _names(","),
    "contender": _one("mert:restarts=1", "batch-mira", "pro", "x", "mira:epochs=1"),
    **dict.fromkeys(("keep", "drop", "core"), _pattern),
    **dict.fromkeys(
        ("fix", "initial", "feature-rate"),
        lambda rng, drawn: f"{_pattern(rng, drawn)}={rng.choice((*NUMBERS, 'nan', ''))}",
    ),
    "bound": lambda rng, drawn: f"{_pattern(rng, drawn)}={_range(rng, drawn)}",
}
#: What would take long, reach others, or is no business of a program.
LEFT_OUT = {"help", "version", "log", "address", "worker-timeout", "debug"}


def value_of(rng: random.Random, flag: Flag, drawn: Drawn) -> str:
    """Draw a value for an option that takes one."""
    if rng.random() < 0.06:
        return rng.choice(ODD)
    if flag.name in BY_NAME:
        return BY_NAME[flag.name](rng, drawn)
    metavar = flag.metavar or ""
    if "|" in metavar:
        return rng.choice([*metavar.split("|"), "x"] if rng.random() < 0.1 else metavar.split("|"))
    if metavar.startswith("NUMBER") or metavar == "X":
        several: Sequence[str] = rng.choices(NUMBERS, k=rng.choice((1, 1, 2, 3)))
        return ",".join(several) if metavar.endswith(",...") else several[0]
    if flag.name in MAY_BE_HUGE and rng.random() < 0.1:
        return rng.choice(HUGE)
    return str(rng.choice(INTEGERS))
