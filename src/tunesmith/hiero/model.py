"""A trained model: the folder that ``tunesmith train`` makes, and that a decoder loads."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.data.candidates import FileDigest
from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.hiero import store
from tunesmith.hiero.grammar.grammar import Grammar
from tunesmith.hiero.grammar.lexical import frequent_in_rules, most_frequent
from tunesmith.hiero.lm.language_model import LanguageModel
from tunesmith.io.weights.files import read_weights

SCHEMA = "tunesmith.hiero/1"
#: What all versions of it begin with.
_FAMILY = "tunesmith.hiero/"
WORDS_SCHEMA = "tunesmith.words/1"

#: What a model folder holds: what it is, the rules, the language model as arrays and as text, how
#: often words are in the text that it was trained on, the rules as text, and the weights to begin
#: with.
ABOUT, GRAMMAR, LM, ARPA, WORDS, TEXT, WEIGHTS = (
    "model.json",
    "grammar",
    "lm",
    "lm.arpa.gz",
    "words",
    "grammar.gz",
    "weights.json",
)
_NAMES = (ABOUT, GRAMMAR, LM, ARPA, WORDS, TEXT, WEIGHTS)

#: The arrays in ``words``.
_SIDES = ("source", "target")

_REMEDY = "train the model again"

T = TypeVar("T")
_Path = str | os.PathLike[str]


@dataclass(frozen=True)
class SearchSettings:
    """Default settings for searching with a model.

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
    digest
        What tells it from others: of its rules, its language model, the frequencies of words and
        its settings, not of when and from where it was made.
    counts : int64[V] each
        How often each word of the grammar is on the source side and on the target side of the
        text; None if that is not known.
    """

    grammar: Grammar
    language_model: LanguageModel
    start: Weights
    settings: SearchSettings
    files: tuple[FileDigest, ...]
    made: Mapping[str, Any]
    digest: str
    counts: tuple[Ints, Ints] | None = None

    def frequent(self, most: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the most frequent words of the source and of the target side.

        They are those of the text that it was trained on, whatever rules were left out since;
        where that is not known, those that most rules have.
        """
        if self.counts is None:
            return frequent_in_rules(self.grammar, most)
        words = self.grammar.vocabulary.words
        sources, targets = (most_frequent(words, counts, most) for counts in self.counts)
        return sources, targets

    @classmethod
    def load(cls, folder: _Path) -> HieroModel:
        """Map a model; what is damaged is refused, and so is what was exchanged, by its size."""
        path = Path(folder)
        header = _read_header(path)
        try:
            settings = SearchSettings(**header["settings"])
            files = tuple(FileDigest(**file) for file in header["files"])
            training = dict(header["made"])
            digest, sizes = str(header["digest"]), dict(header["sizes"])
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
        _check_sizes(path, sizes)
        grammar = _load_part(Grammar.load, path / GRAMMAR)
        return cls(
            grammar,
            _load_part(LanguageModel.read, path / LM),
            read_weights(path / WEIGHTS).weights,
            settings,
            files,
            training,
            _digest([digest, asdict(settings)]),
            _read_counts(path / WORDS, len(grammar.vocabulary)),
        )


def _load_part(load: Callable[[Path], T], path: Path) -> T:
    """Load a part of a model; a damaged one is to be trained again, not fixed by hand."""
    try:
        return load(path)
    except FormatError as error:
        raise FormatError(error.path, error.line, error.problem, _REMEDY) from None


def _check_sizes(path: Path, sizes: Mapping[str, int]) -> None:
    for name, size in sizes.items():
        file = path / name
        if file.is_file() and file.stat().st_size != size:
            problem = f"it has {file.stat().st_size} bytes and had {size} when it was made"
            raise FormatError(str(file), None, problem, _REMEDY)


def _read_counts(path: Path, words: int) -> tuple[Ints, Ints] | None:
    if not path.is_dir():
        return None

    def read(folder: Path) -> tuple[Ints, Ints]:
        store.read_header(folder, WORDS_SCHEMA)
        sources, targets = (store.load_array(folder, side, np.int64) for side in _SIDES)
        return sources, targets

    counts = _load_part(read, path)
    if any(side.shape != (words,) for side in counts):
        raise FormatError(str(path), None, "its words are not those of the grammar", _REMEDY)
    return counts


def write_counts(folder: Path, sources: Ints, targets: Ints) -> None:
    """Write how often each word of the grammar's vocabulary is on either side of the text."""
    arrays = dict(zip(_SIDES, (sources, targets), strict=True))
    store.save_arrays(folder / WORDS, arrays, {"schema": WORDS_SCHEMA})


def _read_header(path: Path) -> dict[str, Any]:
    file = path / ABOUT
    try:
        header = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        problem = "there is no model in it" if path.is_dir() else "there is no such folder"
        remedy = "name a folder that `tunesmith train` made"
        raise FormatError(str(path), None, problem, remedy) from None
    except NotADirectoryError:
        remedy = f"name the folder, {path.parent}" if path.name == ABOUT else "name a folder"
        raise FormatError(str(path), None, "this is a file", remedy) from None
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise FormatError(str(file), None, problem, "name a folder that can be read") from None
    except (ValueError, RecursionError):
        raise FormatError(str(file), None, "it is no JSON", _REMEDY) from None
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        raise FormatError(str(file), None, f"its schema is not {SCHEMA}", _REMEDY)
    return header


def check_target(folder: _Path, inputs: Sequence[_Path] = ()) -> None:
    """Raise an error if a model cannot be written there, before any work is done.

    A model that is there will be replaced, and so will an empty folder; nothing else is.

    Parameters
    ----------
    folder
        Where the model goes.
    inputs
        Files that are read; none may lie in what is replaced.
    """
    path = Path(os.path.realpath(folder))
    if os.fspath(folder) in {"", "-"}:
        raise TunesmithError(f"'{folder}' is no folder; name one for the model")
    for file in inputs:
        input_path = Path(os.path.realpath(file))
        if os.fspath(file) != "-" and path in (input_path, *input_path.parents):
            raise TunesmithError(
                f"{os.fspath(file)}: it is in {folder}, which would be replaced; name another "
                "folder for the model"
            )
    try:
        _check_replaceable(folder, path)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise TunesmithError(f"{folder}: {problem}; name another folder") from None
    above = next(p for p in path.parents if p.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise TunesmithError(f"{folder}: no permission to write there; name another folder")


def _check_replaceable(folder: _Path, path: Path) -> None:
    """Raise an error if what is there is neither a model of ours alone nor an empty folder."""
    if not path.exists():
        return
    if os.path.ismount(path):
        raise TunesmithError(f"{folder}: a disk is mounted there; name a folder below it")
    if path.is_dir() and not any(path.iterdir()):
        return
    if not path.is_dir() or not _is_model(path / ABOUT):
        raise TunesmithError(f"{folder}: something else is there; name another folder")
    for name in sorted(os.listdir(path)):
        other = None if name in _NAMES else name
        if other is None and (path / name).is_dir():
            inside = sorted(os.listdir(path / name))
            others = (n for n in inside if n != store.ABOUT and not n.endswith(".npy"))
            other = next((f"{name}/{n}" for n in others), None)
        if other is not None:
            raise TunesmithError(
                f"{folder}: {other} in it is no part of a model, and would be deleted; "
                "move it, or name another folder"
            )


def _is_model(path: Path) -> bool:
    """Tell whether a file says that a folder is a model of ours, of whatever version."""
    if not path.is_file():
        return False
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and str(header.get("schema")).startswith(_FAMILY)


@contextlib.contextmanager
def writing_model(folder: _Path) -> Iterator[Path]:
    """Give a new folder that takes its name only when the block ends well.

    The block writes the grammar, the language model and :func:`write_header`.
    """
    check_target(folder)
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(folder))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=".tunesmith-"))
        try:
            yield draft
            draft.chmod(0o755)
            _put_in_place(draft, target)
        except BaseException as error:
            shutil.rmtree(draft, ignore_errors=True)
            if isinstance(error, TunesmithError) and str(draft) in str(error):
                # Nobody knows the folder by that name.
                message = str(error).replace(str(draft), os.fspath(folder))
                raise TunesmithError(message) from None
            raise
    except OSError as error:
        problem = (error.strerror or str(error) or "it cannot be written").lower()
        raise TunesmithError(f"{folder}: {problem}; name a folder that can be written") from None


def _put_in_place(draft: Path, target: Path) -> None:
    """Give a folder its name; the model that has it is deleted when that is done.

    There is a moment in which neither has the name. A process killed just then leaves the old model
    beside, in a folder that begins with its name and ``.old-``.
    """
    if not target.exists():
        draft.rename(target)
        return
    check_target(target)  # again: training takes long, and files may have come
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{target.name}.old-"))
    old = aside / target.name
    try:
        target.rename(old)
        draft.rename(target)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        with contextlib.suppress(OSError):
            aside.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)


def write_header(
    folder: Path,
    settings: SearchSettings,
    start: Mapping[str, float],
    files: tuple[FileDigest, ...],
    training: Mapping[str, Any],
) -> None:
    """Write what a model is, when its other parts are there, and the weights to begin with."""
    header = {
        "schema": SCHEMA,
        "settings": asdict(settings),
        "features": list(start),
        "files": [asdict(file) for file in files],
        "made": dict(training),
        **_contents(folder),
    }
    (folder / WEIGHTS).write_text(json.dumps(dict(start), indent=2) + "\n", encoding="utf-8")
    (folder / ABOUT).write_text(json.dumps(header, indent=2) + "\n", encoding="utf-8")


def _contents(folder: Path) -> dict[str, Any]:
    """Return what identifies the arrays of a model: digests, and the size of each file."""
    contents: list[Any] = []
    sizes: dict[str, int] = {}
    for part in (GRAMMAR, LM, WORDS):
        if not (folder / part).is_dir():
            continue
        header = json.loads((folder / part / store.ABOUT).read_text(encoding="utf-8"))
        # Where the text was does not matter.
        contents.append([part, {key: value for key, value in header.items() if key != "files"}])
        for file in sorted((folder / part).glob("*.npy")):
            name = f"{part}/{file.name}"
            sizes[name] = file.stat().st_size
            with open(file, "rb") as opened:
                contents.append([name, hashlib.file_digest(opened, "sha256").hexdigest()])
    return {"digest": _digest(contents), "sizes": sizes}


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
