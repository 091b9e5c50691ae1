"""From parallel text to a model: words aligned, rules extracted, n-grams counted."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tunesmith._version import __version__
from tunesmith.arrays import Ints
from tunesmith.data.candidates import FileDigest
from tunesmith.data.rows import offsets
from tunesmith.errors import UsageError
from tunesmith.hiero.grammar.grammar import Grammar, glue, joined
from tunesmith.hiero.lm.arpa import MAX_ORDER
from tunesmith.hiero.lm.language_model import LanguageModel
from tunesmith.hiero.model import (
    ARPA,
    GRAMMAR,
    LM,
    TEXT,
    SearchSettings,
    check_target,
    write_counts,
    write_header,
    writing_model,
)
from tunesmith.hiero.training.align import (
    ITERATIONS,
    align,
    check_aligner,
    read_alignment,
)
from tunesmith.hiero.training.links import Links
from tunesmith.hiero.training.lm.kneser_ney import estimate_files
from tunesmith.hiero.training.parallel_text import LONGEST, ParallelText
from tunesmith.hiero.training.rules.arrays import NAMES
from tunesmith.hiero.training.rules.source_filter import SentenceArrays, read_sentences
from tunesmith.hiero.training.rules.table import RuleTable
from tunesmith.hiero.training.symmetrise import check_way, symmetrised
from tunesmith.hiero.training.text_form import write_grammar_text
from tunesmith.progress import tell

#: Initial weights. All probabilities have the same weight, and those of a rule share one; the
#: word penalty about makes up for what the language model takes for a word.
START = {
    "LanguageModel": 1.0,
    "LanguageModel_OOV": -1.0,
    "WordPenalty": -2.0,
    "RuleCount": 0.0,
    "PassThrough": -5.0,
    **dict.fromkeys(NAMES[:2], 0.5),
    **dict.fromkeys(NAMES[2:4], 0.25),
    "Singleton": 0.0,
    "Glue": 0.0,
}


@dataclass(frozen=True)
class Recipe:
    """How a model is made.

    Attributes
    ----------
    aligner, iterations, symmetrise
        How words are aligned; as they are by default where an alignment is given.
    rules
        Which rules are extracted and kept.
    order
        Words of an n-gram at most; as it is by default where a language model is given.
    settings
        How the model will be searched.
    """

    aligner: str = "hmm"
    iterations: int = ITERATIONS
    symmetrise: str = "grow-diag-final-and"
    rules: RuleTable = field(default_factory=RuleTable)
    order: int = 5
    settings: SearchSettings = field(default_factory=SearchSettings)


#: What of a recipe is of no use where an alignment is given.
_ALIGNING = ("aligner", "iterations", "symmetrise")


@dataclass(frozen=True)
class TrainingReport:
    """What came of a training.

    Attributes
    ----------
    pairs, empty, long
        Sentence pairs that were used, and that were not.
    links
        Links between words.
    rules
        How many with 0, 1 and 2 nonterminals.
    ngrams
        How many of each order; none where a language model was given.
    left_out
        Rules that could not be written as text.
    seconds
        By step.
    size
        Bytes of the folder.
    """

    pairs: int
    empty: int
    long: int
    links: int
    rules: tuple[int, ...]
    ngrams: tuple[int, ...]
    left_out: int
    seconds: dict[str, float]
    size: int


def train(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    out: str | os.PathLike[str],
    recipe: Recipe | None = None,
    *,
    alignment: str | os.PathLike[str] | None = None,
    lm_texts: Sequence[str | os.PathLike[str]] = (),
    lm: str | os.PathLike[str] | None = None,
    filters: Sequence[str | os.PathLike[str]] = (),
    as_text: bool = False,
) -> TrainingReport:
    """Train a model on parallel text.

    Parameters
    ----------
    source, target
        Files with one sentence per line, plain or compressed.
    out
        The folder for the model; it appears when all is done.
    recipe
        How it is made.
    alignment
        Links of all pairs, instead of aligning words here.
    lm_texts
        More text for the language model.
    lm
        A language model to use, an ARPA or binary file, instead of estimating one.
    filters
        Source texts; rules that can apply to none of their sentences are left out.
    as_text
        Write the rules as text too.
    """
    settled = recipe or Recipe()
    inputs = [source, target, *lm_texts, *filters, *(p for p in (alignment, lm) if p is not None)]
    check_target(out, inputs)
    _check(settled, source, target, alignment, lm_texts, lm)
    clock = _Clock()
    with writing_model(out) as folder:
        # What is wrong with a file is said before anything takes long.
        text = ParallelText.read(source, target)
        alignment_read = None if alignment is None else read_alignment(alignment, text)
        sentences = read_sentences(filters, text.vocabulary) if filters else None
        counts = [
            np.bincount(side.ids, minlength=len(text.vocabulary))
            for side in (text.source, text.target)
        ]
        _tell_of(text)
        if sentences is not None:
            _tell_of_languages(sentences[0], *counts)
        clock.done("reading")
        order, ngrams, files = _language_model(folder, settled.order, target, lm_texts, lm)
        clock.done("language model")
        links = _links(text, settled) if alignment_read is None else alignment_read[0]
        clock.done("alignment")
        rules = settled.rules.grammar(text, links, None if sentences is None else sentences[0])
        numbers = _by_nonterminals(rules)
        left_out = write_grammar_text(rules, folder / TEXT) if as_text else 0
        joined([rules, glue(settled.settings.category, settled.settings.top)]).save(
            folder / GRAMMAR
        )
        del rules
        write_counts(folder, *counts)
        clock.done("rules")
        trained = TrainingReport(
            pairs=len(text),
            empty=text.empty,
            long=text.long,
            links=len(links.places),
            rules=numbers,
            ngrams=ngrams,
            left_out=left_out,
            seconds=clock.seconds,
            size=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        )
        used = {**asdict(settled), "order": order}
        if alignment_read is not None:
            used |= dict.fromkeys(_ALIGNING)
        provenance = {"version": __version__, "recipe": used, **asdict(trained)}
        files = (
            *text.files,
            *([] if alignment_read is None else [alignment_read[1]]),
            *files,
            *(() if sentences is None else sentences[1]),
        )
        write_header(folder, settled.settings, START, files, provenance)
    return trained


def _check(
    recipe: Recipe,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    alignment: str | os.PathLike[str] | None,
    lm_texts: Sequence[str | os.PathLike[str]],
    lm: str | os.PathLike[str] | None,
) -> None:
    """Raise an error for what cannot be, before anything is read."""
    if os.fspath(target) == "-" and lm is None:
        raise UsageError("the target side is read twice; give a file, not standard input")
    if os.path.exists(source) and os.path.exists(target) and os.path.samefile(source, target):
        raise UsageError(
            f"{os.fspath(source)} is given as source and as target; give the two sides of a text"
        )
    if lm is not None and lm_texts:
        raise UsageError("a language model and text for one are given; give one of them")
    if not 1 <= recipe.order <= MAX_ORDER:
        raise UsageError(f"--order is {recipe.order}; give 1 to {MAX_ORDER}")
    if lm is not None:
        _check_unused(recipe, ("order",), "--lm gives a language model")
    if alignment is None:
        check_way(recipe.symmetrise)
        check_aligner(recipe.aligner, recipe.iterations)
    else:
        _check_unused(recipe, _ALIGNING, "--alignment gives the links")


def _check_unused(recipe: Recipe, names: Sequence[str], why: str) -> None:
    """Raise an error for an option that would do nothing."""
    for name in names:
        if getattr(recipe, name) != getattr(Recipe, name):
            raise UsageError(
                f"--{name} is {getattr(recipe, name)}, but {why}; leave one of them out"
            )


class _Clock:
    """Seconds of one step after the other."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    def done(self, step: str) -> None:
        now = time.perf_counter()
        self.seconds[step] = round(now - self._since, 3)
        self._since = now


def _tell_of(text: ParallelText) -> None:
    if text.empty:
        tell(f"{text.empty} pairs with an empty side are left out", is_detail=False)
    if text.long:
        warnings.warn(
            f"{text.long} pairs with more than {LONGEST} words on a side are left out",
            stacklevel=3,
        )


def _tell_of_languages(sentences: SentenceArrays, sources: Ints, targets: Ints) -> None:
    """Warn if the sentences to be translated are more like the target side than the source side."""
    words = sentences.words[sentences.words >= 0]
    in_source, in_target = (np.count_nonzero(side[words]) for side in (sources, targets))
    if in_target > in_source:
        warnings.warn(
            f"of {len(sentences.words)} words of the filter's texts {in_source} are in the source "
            f"side and {in_target} in the target side; the two may have been exchanged",
            stacklevel=3,
        )


def _links(text: ParallelText, recipe: Recipe) -> Links:
    to_source, to_target = align(text, recipe.aligner, recipe.iterations)
    start = text.source.start, text.target.start
    return symmetrised(to_source, to_target, *start, recipe.symmetrise)


def _by_nonterminals(rules: Grammar) -> tuple[int, ...]:
    """Count rules by how many nonterminals they have."""
    before = offsets(rules.arrays.targets < 0)
    arities = np.diff(before[rules.arrays.target_start])
    return tuple(np.bincount(arities, minlength=3).tolist())


def _language_model(
    folder: Path,
    order: int,
    target: str | os.PathLike[str],
    lm_texts: Sequence[str | os.PathLike[str]],
    lm: str | os.PathLike[str] | None,
) -> tuple[int, tuple[int, ...], tuple[FileDigest, ...]]:
    """Write the language model; return its order, its n-grams and its source files."""
    if lm is not None:
        lm_read = LanguageModel.read(lm)
        lm_read.save(folder / LM)
        return lm_read.order, (), lm_read.files
    estimated = estimate_files([target, *lm_texts], order)
    estimated.write_arpa(folder / ARPA)
    model = LanguageModel.read(folder / ARPA)
    # The folder has another name while it is made.
    files = tuple(replace(file, path=ARPA) for file in model.files)
    replace(model, files=files).save(folder / LM)
    return model.order, estimated.sizes, tuple(_digest(path) for path in lm_texts)


def _digest(path: str | os.PathLike[str]) -> FileDigest:
    from tunesmith.io.streams import Source

    source = Source(path)
    for _ in source.pieces():
        pass
    return source.digest("text")


def as_json(trained: TrainingReport) -> dict[str, Any]:
    """Return what came of a training, for JSON."""
    report = asdict(trained)
    report["rules"] = {str(k): number for k, number in enumerate(trained.rules)}
    return report
