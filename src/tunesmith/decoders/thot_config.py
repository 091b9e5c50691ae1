"""Configuration files of Thot, as sil-machine writes and reads them.

A line is an option: ``-tm FILE`` and ``-lm FILE`` (the beginnings of the names of the model's
files, relative to the configuration), ``-W``, ``-A``, ``-S``, ``-h``, ``-nomon`` and ``-be`` for
the search, ``-tmw`` with the weights. Other options are for online learning or for the alignment
of given sentences, and have no influence on a translation.
"""

from __future__ import annotations

import glob
import math
import numbers
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import FormatError

#: What Thot's eight features are, in its order.
FEATURES = (
    "WordPenalty",
    "LanguageModel",
    "TargetSegmentLength",
    "SourceJump",
    "SourceSegmentLength",
    "PhraseTargetGivenSource",
    "PhraseSourceGivenTarget",
    "SentenceLength",
)
#: The least size of a weight: Thot takes a smaller one, and 0, for this.
LEAST = np.float32(1e-6)
#: The largest number that Thot holds, and the largest whole one that is safe in all its types.
MOST, MOST_WHOLE = float(np.finfo(np.float32).max), 2**31 - 1
#: Its estimates of what is left to translate: none, with phrases and language, with jumps too.
HEURISTICS = (0, 4, 6)
#: What some editors begin a file with.
MARK = "\ufeff"


@dataclass(frozen=True)
class ThotConfig:
    """What a configuration file says.

    Attributes
    ----------
    path
        The file.
    translation_model, language_model
        Beginnings of the names of the model's files.
    w, a, s, heuristic, non_monotonicity, breadth_first
        The search, with sil-machine's defaults where the file says nothing.
    weights
        In the order of ``FEATURES``; None if the file has none.
    """

    path: Path
    translation_model: Path
    language_model: Path
    w: float = 0.4
    a: int = 10
    s: int = 10
    heuristic: int = 6
    non_monotonicity: int = 0
    breadth_first: bool = True
    weights: tuple[float, ...] | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ThotConfig:
        """Read a file, and make sure that the model is where it says."""
        place = Path(path)
        options: dict[str, tuple[int, str]] = {}
        for number, line in enumerate(_lines(place), 1):
            name, value = _option(line)
            if name:
                options[name] = number, value
        fields = {
            field: _number(place, options[name], f"-{name}", field, kind)
            for name, (field, kind) in _NUMBERS.items()
            if name in options
        }
        return cls(
            place,
            _prefix(place, options, "tm", ".ttable"),
            _prefix(place, options, "lm", ""),
            **fields,  # type: ignore[arg-type]
            breadth_first="be" not in options,
            weights=_weights(place, *options["tmw"]) if "tmw" in options else None,
        )

    def files(self) -> list[Path]:
        """Return all files of the model."""
        paths = {
            Path(path)
            for prefix in (self.translation_model, self.language_model)
            for path in glob.glob(f"{glob.escape(os.fspath(prefix))}*")
        }
        return sorted(path for path in paths if path.is_file())

    def with_weights(self, weights: Floats) -> bytes:
        """Return the file with other weights, each in single precision, to the last bit."""
        option = "-tmw " + " ".join(repr(float(str(np.float32(w)))) for w in weights)
        text = _text(self.path)
        mark = MARK if text.startswith(MARK) else ""
        lines = re.findall(r"[^\n]*\n|[^\n]+", text.removeprefix(MARK))
        at = [k for k, line in enumerate(lines) if _option(line)[0] == "tmw"]
        if at:
            # The last is the one that counts.
            lines[at[-1]] = option + _end(lines[at[-1]])
            lines = [line for k, line in enumerate(lines) if k not in at[:-1]]
        else:
            end = (_end(lines[0]) if lines else "") or "\n"
            if lines and not _end(lines[-1]):
                lines[-1] += end
            lines.append(option + end)
        return (mark + "".join(lines)).encode()

    def alignment(self) -> str | None:
        """Return which alignment model was trained, if the model says so."""
        description = Path(f"{self.translation_model}_swm.yml")
        if not description.is_file():
            return None
        for line in _lines(description):
            name, _, value = line.partition(":")
            if name.strip() == "model":
                return _ALIGNMENTS.get(value.strip())
        return None


#: Options that are numbers: field and type of each.
_NUMBERS: dict[str, tuple[str, type[int] | type[float]]] = {
    "W": ("w", float),
    "A": ("a", int),
    "S": ("s", int),
    "h": ("heuristic", int),
    "nomon": ("non_monotonicity", int),
}

#: The least value of settings that cannot be 0.
LEAST_OF = {"nbest_size": 1, "a": 1, "s": 1}

#: How a model's own description calls its alignment.
_ALIGNMENTS = {
    "ibm1": "ibm1",
    "ibm2": "ibm2",
    "hmm": "hmm",
    "fastAlign": "fast-align",
    "ibm3": "ibm3",
    "ibm4": "ibm4",
}


def single_precision(weights: Floats) -> Floats:
    """Return weights as Thot keeps them: in single precision, none smaller than 1e-6."""
    single = np.asarray(weights, np.float64).astype(np.float32)
    least = np.copysign(LEAST, np.where(single == 0, np.float32(1), single))
    return np.where(np.abs(single) < LEAST, least, single).astype(np.float64)


def expected_value(setting: str, value: object) -> str | None:
    """Say what a setting of the search should be; None if a value is that.

    Thot's module refuses some numbers with an error of its own, and takes others for infinite.
    """
    if setting == "heuristic":
        return None if _is(value, numbers.Integral) and value in HEURISTICS else "0, 4 or 6"
    least, most = LEAST_OF.get(setting, 0), MOST if setting == "norm" else MOST_WHOLE
    whole = setting not in ("w", "norm")
    kind = numbers.Integral if whole else numbers.Real
    if _is(value, kind) and least <= value <= most:  # type: ignore[operator]
        return None
    return f"a whole number from {least} to {most}" if whole else f"a number from 0 to {most:.10g}"


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _end(line: str) -> str:
    """Return the end of a line: of one kind or the other, or none."""
    return line[len(line.rstrip("\r\n")) :]


def _lines(path: Path) -> list[str]:
    # At line feeds alone: splitlines() knows others, which may occur in names of files.
    return _text(path).removeprefix(MARK).split("\n")


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise FormatError(os.fspath(path), None, problem, "name a file of Thot's") from None
    except UnicodeDecodeError:
        raise FormatError(
            os.fspath(path), None, "this is no text", "name a file of Thot's"
        ) from None


def _option(line: str) -> tuple[str, str]:
    """Split a line into the name of an option and its value; a comment has neither."""
    name, _, value = line.strip().partition(" ")
    return ("", "") if name.startswith("#") else (name.removeprefix("-"), value.strip())


def _number(
    path: Path, option: tuple[int, str], name: str, field: str, kind: type[int] | type[float]
) -> float:
    line, text = option
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if (expected := expected_value(field, value)) is not None:
        raise FormatError(os.fspath(path), line, f"{name} is '{text}'", f"give {expected}")
    return value


def _prefix(path: Path, options: dict[str, tuple[int, str]], name: str, ending: str) -> Path:
    line, value = options.get(name, (None, ""))
    if not value:
        kind = "translation" if name == "tm" else "language"
        problem = f"there is no -{name} with the {kind} model"
        raise FormatError(os.fspath(path), line, problem, "name a configuration of Thot")
    prefix = path.parent / value
    if not Path(f"{prefix}{ending}").is_file():
        problem = f"-{name} is {value}, and there is no file {prefix}{ending}"
        raise FormatError(os.fspath(path), line, problem, "name a model that is there")
    return prefix


def _weights(path: Path, line: int, text: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split())
    except ValueError:
        values = ()
    if len(values) != len(FEATURES) or not all(map(math.isfinite, values)):
        problem = f"-tmw is '{text}'"
        raise FormatError(os.fspath(path), line, problem, f"give {len(FEATURES)} weights")
    return values
