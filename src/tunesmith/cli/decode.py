"""``tunesmith decode``: translate with the hierarchical decoder."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import Strict, check_not_read, names_of, one_standard_input
from tunesmith.cli.options.derived import check_underived
from tunesmith.cli.options.forests import Memory, Pruning, check_size, set_memory
from tunesmith.cli.tune.options import Owned, construct, files, files_of, with_options
from tunesmith.errors import FormatError, UsageError, WeightNamesError

if TYPE_CHECKING:
    from tunesmith.data.weights import Weights
    from tunesmith.decoders.base import Sentence
    from tunesmith.hiero import HieroDecoder
    from tunesmith.io.forests.base import ForestFormat
    from tunesmith.io.lists.base import CandidateFormat
    from tunesmith.io.streams import Source

DECODER = "hiero"
#: An id that is a number; formats have no place for longer ones.
NUMBER = re.compile("[0-9]{1,18}")
#: What other decoders read as more than words: lattices, ends of a sentence, and elements of XML.
_LATTICE = re.compile(r"\(\s*\(\s*\(\s*['\"].*\)\s*,?\s*\)$")
_SENTENCE = re.compile(r"<s>(\s.*)?\s</s>")
_MARKUP = re.compile(
    r"<[A-Za-z][\w.-]*(\s+[\w:.-]+\s*=\s*(\"[^\"]*\"|'[^']*'))+\s*/?>|</(?!s>)[A-Za-z][\w.-]*>"
)
#: What lists and forests are where no ending and no option says so.
LISTS, FORESTS = "cdec", "moses-hypergraph"

#: Makes lines of some sentences.
Translate = Callable[[Sequence["Sentence"]], Iterable[str]]
#: Sentences that are translated at once, with how many came before them.
Block = tuple[int, list["Sentence"]]


def command(arguments: Sequence[str]) -> Callable[..., None]:
    """Return the command with the options of the decoder."""
    from tunesmith.hiero import HieroDecoder
    from tunesmith.registry import options_of

    options = {o.field: o for o in options_of(HieroDecoder) if o.field != "nbest_size"}
    decode = with_options(run, Owned("decoder_options", options))
    decode.__doc__ = run.__doc__
    return decode


def run(
    *,
    session: Session,
    input_path: Annotated[
        str,
        typer.Option(
            "--input",
            help="Sentences, one per line, split into words (- is standard input); "
            '<seg id="7" grammar="FILE"> around them, as of cdec, gives a sentence its id and '
            "rules of its own.",
            metavar="FILE",
        ),
    ],
    weights: Annotated[
        str | None,
        files(
            "Weights, in any format [default: those that the model begins with].",
            "FILE",
            "--weights",
            "-w",
        ),
    ] = None,
    decoder_options: dict[str, Any],
    nbest: Annotated[
        int | None,
        typer.Option(
            help="Write the N best translations of each sentence, with features and "
            "scores; without, only the best one, as text.",
            metavar="INTEGER",
            show_default=False,
        ),
    ] = None,
    unique: Annotated[
        bool | None,
        typer.Option(
            "--unique/--no-unique",
            help="Write no text of a sentence twice in its list; otherwise the best derivations, "
            "whatever they say. [default: yes]",
            show_default=False,
        ),
    ] = None,
    forest: Annotated[
        str | None,
        files(
            "Write all derivations that were searched, as forests: a file (.arrow, .jsonl.gz), or "
            "a new folder with one file per sentence.",
            "PATH",
        ),
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(
            help="Leave out hyperedges of the forests: posterior:P (less likely), beam:X (no "
            "derivation within X of the best score), density:N (at most N for each word).",
            show_default=False,
            metavar="KIND:VALUE",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Format of lists [default: that of the ending of --out, or cdec], or of forests "
            "[default: that of the ending, or moses-hypergraph for a folder].",
            metavar="FORMAT",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", help="Where texts or lists go.", metavar="FILE")
    ] = "-",
    memory: Memory = None,
    strict: Strict = False,
) -> None:
    """Translate with a hierarchical model: texts, lists of the best translations, or forests.

    The model is a folder that `tunesmith train` construct (--model), or it is put together by hand
    (--grammar and --lm), or a joshua.config names it.
    """
    from tunesmith.decoders.base import DECODERS
    from tunesmith.io.streams import writing
    from tunesmith.io.weights.files import read_weights

    _check(nbest, unique, forest, prune, to, out)
    read = [input_path, weights, *files_of(DECODERS, DECODER, decoder_options)]
    one_standard_input(*read)
    _check_not_read(forest, out, read, decoder_options)
    set_memory(memory)
    pruning = None if prune is None else Pruning.of(prune)
    forest_writer = None if forest is None else _forest_writer(forest, to)
    list_writer = None if nbest is None else _list_writer(out, to)
    if forest is None:
        _check_writable(out)
    options = decoder_options if nbest is None else {**decoder_options, "nbest_size": str(nbest)}
    decoder: HieroDecoder = construct(DECODERS.get(DECODER), options, f"decoder '{DECODER}'")  # type: ignore[assignment]
    if weights is None and not (decoder.model or decoder.joshua):
        raise UsageError("a grammar and a language model have no weights; give --weights")
    given = None if weights is None else read_weights(weights).weights
    if given is not None:
        check_underived(given, weights)
    blocks = _blocks(input_path)
    first = next(blocks)
    held = _begun(session, decoder) if given is None else given
    blocks = _matched(session, chain([first], blocks), decoder, held, strict, weights)
    every = _shown(chain([next(blocks)], blocks), input_path)
    if forest_writer is not None and forest is not None:
        _write_forests(decoder, held, every, forest_writer, forest, pruning)
        return
    translate = _texts(decoder, held)
    if list_writer is not None and nbest is not None:
        translate = _lists(decoder, held, list_writer, nbest, unique is not False)
    with writing(out) as file:
        for block in every:
            for line in translate(block):
                file.write(line.encode() + b"\n")
            decoder.forget()
            if out == "-":
                file.flush()


def _check(
    nbest: int | None,
    unique: bool | None,
    forest: str | None,
    prune: str | None,
    to: str | None,
    out: str,
) -> None:
    """Raise an error if options do not go together."""
    if nbest is not None and forest is not None:
        raise UsageError("--nbest and --forest are both given; give one of them")
    if nbest is not None:
        check_size(nbest)
    if unique is not None and nbest is None:
        raise UsageError("--unique goes with --nbest; give it, or drop both")
    if prune is not None and forest is None:
        raise UsageError("--prune goes with --forest; give it, or drop both")
    if to is not None and nbest is None and forest is None:
        raise UsageError("--to goes with --nbest or --forest; translations are plain text")
    if forest is not None and out != "-":
        raise UsageError("--out is for texts and lists; forests go where --forest says")


def _check_not_read(
    forest: str | None, out: str, read: Sequence[str | None], own: dict[str, Any]
) -> None:
    """Raise an error if the output would take the place of what is read."""
    from tunesmith.hiero.model import ABOUT, WEIGHTS

    # NAME=FILE is a language model too.
    named = [path.partition("=")[2] for path in own.get("lm", ())]
    model = [os.path.join(own["model"], name) for name in (ABOUT, WEIGHTS) if "model" in own]
    flag, path = ("--out", out) if forest is None else ("--forest", forest)
    check_not_read(flag, path, [*read, *named, own.get("model"), *model])


def _check_writable(out: str) -> None:
    from tunesmith.io.streams import check_writable

    check_writable(out)


def _list_writer(out: str, to: str | None) -> CandidateFormat:
    """Return who writes lists, part by part."""
    from tunesmith.io.lists.base import FORMATS, CandidateFormat
    from tunesmith.io.write import format_of

    name = to
    if name is None:
        try:
            name = format_of(out)
        except UsageError:
            name = LISTS
    writer = FORMATS.create(name)
    kind = type(writer)
    if kind.lines is CandidateFormat.lines or kind.write is not CandidateFormat.write:
        raise UsageError(
            f"lists are written line by line, and format '{writer.name}' is none of lines; write "
            "cdec, moses or jsonl, and convert it"
        )
    return writer


def _forest_writer(path: str, to: str | None) -> ForestFormat:
    """Return the writer of forests; raise an error if they cannot be written."""
    from tunesmith.io.compression import without_suffix
    from tunesmith.io.forests.base import FOREST_FORMATS, ForestFormat
    from tunesmith.io.forests.folders import check_new_folder
    from tunesmith.io.forests.write import forest_format_of

    if to is None:
        try:
            to = forest_format_of(path)
        except UsageError:
            if path == "-" or "." in os.path.basename(path):
                raise UsageError(
                    f"the ending of '{path}' is of no format of forests; name one with --to"
                ) from None
            to = FORESTS
    writer = FOREST_FORMATS.create(to)
    if type(writer).write is ForestFormat.write:
        raise UsageError(f"format '{to}' can be read only; name another one with --to")
    single = writer.single_endings
    if single and not without_suffix(path).lower().endswith(single):
        check_new_folder(path)
    else:
        _check_writable(path)
    return writer


def _begun(session: Session, decoder: HieroDecoder) -> Weights:
    """Return the weights that a model has, and say so."""
    own = decoder.start()
    where = decoder.model or decoder.joshua
    if not own:
        raise UsageError(f"{where} has no weights; give --weights")
    session.say(f"weights: those that {where} begins with")
    return own


def _matched(
    session: Session,
    blocks: Iterator[Block],
    decoder: HieroDecoder,
    weights: Weights,
    strict: bool,
    path: str | None,
) -> Iterator[Block]:
    """Yield all blocks, and say which features and weights do not belong together.

    Sentences with rules of their own may bring features at any time. So what is not used at all
    is known at the end, where there are such sentences.
    """
    from tunesmith.data.weights import Weights as Held
    from tunesmith.hiero.grammar.text import segment

    def tell(new: Set[str], unused: bool) -> None:
        names = tuple(name for name in decoder.names if name in weights or name in new)
        used = weights if unused else Held.from_dict({n: weights[n] for n in names if n in weights})
        with _names_of(path):
            used.matched(names, strict, unused_are="not used")

    count, have_rules = 0, False
    for block in blocks:
        decoder.meet(block[1])
        new = set(decoder.names[count:])
        if count == 0:
            have_rules = any("grammar" in segment(sentence.text)[0] for sentence in block[1])
            tell(new, unused=not have_rules)
            session.note(f"{len(decoder.names)} features")
        elif new:
            tell(new, unused=False)
        count = len(decoder.names)
        yield block
    if have_rules:
        tell(set(), unused=True)


@contextlib.contextmanager
def _names_of(path: str | None) -> Iterator[None]:
    """Name the weights file in an error about names; they are those of a model here."""
    try:
        with names_of(path):
            yield
    except WeightNamesError as error:
        raise WeightNamesError(str(error).replace("these lists", "this model")) from None


def _blocks(path: str) -> Iterator[Block]:
    """Yield sentences, some at a time, with how many came before; blank lines are sentences.

    From standard input, those that have arrived do not wait for others.
    """
    from tunesmith.decoders.base import DecoderError, Sentence, block_size
    from tunesmith.hiero.grammar.text import segment
    from tunesmith.io.streams import Source

    size = block_size()
    source = Source(path, is_live=path == "-")
    names: set[int | str] | None = None
    held: list[Sentence] = []
    count = 0
    for lines in _lines(source):
        for line in lines:
            try:
                own = segment(line)[0].get("id", "")
            except DecoderError as error:
                wrong, _, remedy = str(error).partition("; ")
                raise FormatError(source.name, count + 1, wrong, remedy) from None
            if count == 0 and own:
                names = set()
            name: int | str = int(own) if NUMBER.fullmatch(own) else own or count
            problem = _wrong_name(names, name, bool(own))
            if problem:
                remedy = "give each one of its own, or none"
                raise FormatError(source.name, count + 1, problem, remedy)
            not_words = _not_words(line)
            if not_words:
                problem, remedy = not_words
                raise FormatError(source.name, count + 1, problem, remedy)
            held.append(Sentence(name, line))
            count += 1
            if len(held) == size:
                yield count - size, held
                held = []
        if held and path == "-":
            yield count - len(held), held
            held = []
    if held:
        yield count - len(held), held


def _not_words(line: str) -> tuple[str, str] | None:
    """Return what a line is that other decoders read as more than words, and a remedy."""
    from tunesmith.hiero.grammar.text import segment

    text = segment(line)[1].strip()
    if _LATTICE.match(text):
        return "it is a lattice (PLF), and words are decoded", "give the sentence as words"
    if _SENTENCE.fullmatch(text):
        return "it stands between <s> and </s>", "leave them out; the language model adds them"
    markup = _MARKUP.search(text)
    if markup:
        return f"'{markup[0]}' is markup", "take the elements out; rules are what translates"
    return None


def _wrong_name(names: set[int | str] | None, name: int | str, is_given: bool) -> str:
    """Say what is wrong with the id of a sentence, and take note of it."""
    if (names is not None) != is_given:
        return "some sentences have an id and others have none"
    if names is None:
        return ""
    if name in names:
        return f"two sentences have the id {name}"
    names.add(name)
    return ""


def _lines(source: Source) -> Iterator[list[str]]:
    """Yield all lines, blank ones too, as they come."""
    from tunesmith.io.text.utf8 import check_utf8

    source.check_line_ends()
    number = 1
    for block in source.blocks():
        check_utf8(block, source.name, number)
        lines = block.decode().split("\n")
        if not lines[-1]:
            lines.pop()
        number += len(lines)
        yield [line.removesuffix("\r") for line in lines]


def _shown(
    blocks: Iterator[Block],
    path: str,
) -> Iterator[list[Sentence]]:
    """Yield the sentences of all blocks, and let progress count through them."""
    from tunesmith.io.streams import Source
    from tunesmith.progress import is_shown, part_of

    total = None
    if is_shown() and os.path.isfile(path):
        total = sum(map(len, _lines(Source(path))))
    for before, sentences in blocks:
        with part_of(before, total):
            yield sentences


def _texts(decoder: HieroDecoder, weights: Weights) -> Translate:
    """Return what makes the best translation of each sentence."""
    return lambda sentences: decoder.translate(weights, sentences)


def _lists(
    decoder: HieroDecoder, weights: Weights, writer: CandidateFormat, size: int, unique: bool
) -> Translate:
    """Return what makes the lines of lists."""
    import numpy as np

    from tunesmith.inference.forests.lists import kbest_lists

    def lines(sentences: Sequence[Sentence]) -> Iterator[str]:
        if unique:
            found = decoder.decode(weights, sentences)
        else:
            forests = decoder.forests(weights, sentences)
            found = kbest_lists(forests, weights.aligned(forests.names), size, unique=False)
        scores = found.features.dot(weights.aligned(found.features.names))
        try:
            yield from writer.lines(found, np.arange(len(found)), scores)
        except UsageError as error:  # of what the format has no place for
            raise UsageError(str(error).replace("; write jsonl", "; give --to jsonl")) from None

    return lines


def _write_forests(
    decoder: HieroDecoder,
    weights: Weights,
    blocks: Iterator[list[Sentence]],
    writer: ForestFormat,
    path: str,
    pruning: Pruning | None,
) -> None:
    """Write the forests of all sentences; what memory does not hold waits on disk."""
    from tunesmith.data.forests import Forests
    from tunesmith.loop.forests import ForestCollector, Words

    words, collected = Words(), ForestCollector()
    ids: list[int | str] = []
    texts: list[str] = []
    for block in blocks:
        found: Forests = decoder.forests(weights, block)
        if pruning is not None:
            found = pruning.pruned(found, weights.aligned(found.names))
        whole = found.in_memory()
        collected.add(words.renumbered(whole.arrays, whole.vocabulary))
        ids += whole.ids
        texts += whole.sources or ()
        decoder.forget()
    whole_set = collected.finish(ids, decoder.names, words.all, tuple(texts))
    try:
        writer.write(whole_set, path)
    except UsageError as error:  # of what the format has no place for
        remedy = "; give --forest FILE.arrow"
        raise UsageError(re.sub("; write [^;]*arrow[^;]*$", remedy, str(error))) from None
