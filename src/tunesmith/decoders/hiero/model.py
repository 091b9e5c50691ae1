"""A trained model: the folder that ``tunesmith train`` makes, and that a decoder loads."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tunesmith.data.candidates import FileDigest
from tunesmith.data.weights import Weights
from tunesmith.decoders.hiero.grammar import Grammar
from tunesmith.decoders.hiero.language_model import LanguageModel
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io.weights import read_weights

SCHEMA = "tunesmith.hiero/1"

#: What a model folder holds: what it is, the rules, the language model as arrays and as text,
#: and the weights to begin with.
ABOUT, GRAMMAR, LM, ARPA, WEIGHTS = (
    "model.json",
    "grammar",
    "lm",
    "lm.arpa.gz",
    "weights.json",
)

_REMEDY = "train the model again"


@dataclass(frozen=True)
class SearchSettings:
    """How a model is searched unless a decoder is told otherwise.

    Attributes
    ----------
    span_limit
        Source words that a rule may cover, but for glue.
    pop_limit
        Hyperedges of a span and category.
    category, top
        The category of phrases, and that of a sentence.
    """

    span_limit: int = 15
    pop_limit: int = 200
    category: str = "X"
    top: str = "S"


@dataclass(frozen=True, eq=False)
class HieroModel:
    """Rules, a language model, and weights to begin with.

    Attributes
    ----------
    grammar
        All rules, glue among them; mapped, as is the language model.
    language_model
        Its feature is ``LanguageModel``.
    start
        The weights of all features.
    settings
        How it is searched.
    files
        What it was made of.
    made
        How it was made: numbers of pairs and rules, options; for those who look.
    """

    grammar: Grammar
    language_model: LanguageModel
    start: Weights
    settings: SearchSettings
    files: tuple[FileDigest, ...]
    made: Mapping[str, Any]

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> HieroModel:
        """Map a model; what is damaged is refused."""
        path = Path(folder)
        about = _read_about(path)
        try:
            settings = SearchSettings(**about["settings"])
            files = tuple(FileDigest(**file) for file in about["files"])
            made = dict(about["made"])
            if not all(
                isinstance(x, int) and x >= 0 for x in (settings.span_limit, settings.pop_limit)
            ):
                raise TypeError
        except (KeyError, TypeError, ValueError):
            problem = "it does not say how the model is searched"
            raise FormatError(str(path / ABOUT), None, problem, _REMEDY) from None
        for part in (GRAMMAR, LM):
            if not (path / part).is_dir():
                raise FormatError(str(path), None, f"there is no folder {part} in it", _REMEDY)
        return cls(
            Grammar.load(path / GRAMMAR),
            LanguageModel.read(path / LM),
            read_weights(path / WEIGHTS).weights,
            settings,
            files,
            made,
        )


def _read_about(path: Path) -> dict[str, Any]:
    file = path / ABOUT
    try:
        about = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        problem = "there is no model in it" if path.is_dir() else "there is no such folder"
        remedy = "name a folder that `tunesmith train` made"
        raise FormatError(str(path), None, problem, remedy) from None
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise FormatError(str(file), None, problem, "name a folder that can be read") from None
    except (ValueError, RecursionError):
        raise FormatError(str(file), None, "it is no JSON", _REMEDY) from None
    if not isinstance(about, dict) or about.get("schema") != SCHEMA:
        raise FormatError(str(file), None, f"its schema is not {SCHEMA}", _REMEDY)
    return about


def check_target(folder: str | os.PathLike[str]) -> None:
    """Raise an error if a model cannot be written there, before any work is done.

    A model that is there will be replaced, and so will an empty folder.
    """
    path = Path(folder)
    if os.fspath(folder) in {"", "-"}:
        raise TunesmithError(f"'{folder}' is no folder; name one for the model")
    if path.exists():
        is_fine = path.is_dir() and ((path / ABOUT).is_file() or not any(path.iterdir()))
        if not is_fine:
            raise TunesmithError(f"{path}: something else is there; name another folder")
    above = next(p for p in path.absolute().parents if p.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise TunesmithError(f"{path}: no permission to write there; name another folder")


@contextlib.contextmanager
def writing_model(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new folder that takes its name only when the block ends well.

    The block writes the grammar, the language model and :func:`write_about`.
    """
    check_target(folder)
    target = Path(folder).absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=target.parent, prefix=".tunesmith-"))
        try:
            yield made
            made.chmod(0o755)
            if target.exists():  # moved away first: never half of each
                old = Path(tempfile.mkdtemp(dir=target.parent, prefix=".tunesmith-"))
                target.rename(old / "old")
                made.rename(target)
                shutil.rmtree(old, ignore_errors=True)
            else:
                made.rename(target)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        problem = (error.strerror or "it cannot be written").lower()
        raise TunesmithError(f"{folder}: {problem}; name a folder that can be written") from None


def write_about(
    folder: Path,
    settings: SearchSettings,
    start: Mapping[str, float],
    files: tuple[FileDigest, ...],
    made: Mapping[str, Any],
) -> None:
    """Write what a model is, and the weights to begin with."""
    about = {
        "schema": SCHEMA,
        "settings": asdict(settings),
        "features": list(start),
        "files": [asdict(file) for file in files],
        "made": dict(made),
    }
    (folder / WEIGHTS).write_text(json.dumps(dict(start), indent=2) + "\n", encoding="utf-8")
    (folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
