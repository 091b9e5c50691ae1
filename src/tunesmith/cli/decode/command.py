"""``tunesmith decode``: translate with the hierarchical decoder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.decode.inputs import Block, blocks_of, shown
from tunesmith.cli.decode.outputs import (
    OutputLines,
    forest_writer_of,
    list_writer_of,
    write_forests,
)
from tunesmith.cli.options.common import Strict, check_not_read, names_of, one_standard_input
from tunesmith.cli.options.derived import check_underived
from tunesmith.cli.options.forests import Memory, Pruning, check_size, set_memory
from tunesmith.cli.tune.options import Owned, construct, files, files_of, with_options
from tunesmith.errors import UsageError, WeightNamesError

if TYPE_CHECKING:
    from tunesmith.data.weights import Weights
    from tunesmith.hiero import HieroDecoder

DECODER = "hiero"


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
            help="Sentences, one per line, split into words (- is standard input), or lattices "
            "(--lattice-input); "
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
            "scores, instead of only the best one, as text.",
            metavar="INTEGER",
            show_default=False,
        ),
    ] = None,
    unique: Annotated[
        bool | None,
        typer.Option(
            "--unique/--no-unique",
            help="Write each text of a list only once; otherwise write the best "
            "derivations. [default: yes]",
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
    alignments: Annotated[
        bool,
        typer.Option(
            "--alignments",
            help="Write word alignments after each translation, as Moses does: ||| "
            "0-0 1-2. They come from the rules; a rule without an alignment has "
            "none.",
        ),
    ] = False,
    trace: Annotated[
        str | None,
        files(
            "Write how each translation was derived, as JSON lines: its rules, the words that each "
            "covers, and alignments.",
            "FILE",
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
        str, typer.Option("--out", "-o", help="Where to write texts or lists.", metavar="FILE")
    ] = "-",
    memory: Memory = None,
    strict: Strict = False,
) -> None:
    """Translate with a hierarchical model, to texts, lists or forests.

    The model is a folder written by `tunesmith train` (--model), a grammar and language models
    (--grammar and --lm), or a joshua.config (--joshua).
    """
    from tunesmith.decoders.base import DECODERS
    from tunesmith.io.streams import check_writable, writing
    from tunesmith.io.weights.files import read_weights

    _check(nbest, unique, forest, prune, to, out)
    _check_traces(alignments, trace, forest, out)
    read = [input_path, weights, *files_of(DECODERS, DECODER, decoder_options)]
    one_standard_input(*read)
    for flag, path in (("--out", out), ("--forest", forest), ("--trace", trace)):
        if path is not None:
            _check_not_read(flag, path, read, decoder_options)
    set_memory(memory)
    pruning = None if prune is None else Pruning.of(prune)
    forest_writer = None if forest is None else forest_writer_of(forest, to)
    list_writer = None if nbest is None else list_writer_of(out, to, alignments)
    for path in (out, trace) if forest is None else ():
        if path is not None:
            check_writable(path)
    options = decoder_options if nbest is None else {**decoder_options, "nbest_size": str(nbest)}
    decoder: HieroDecoder = construct(DECODERS.get(DECODER), options, f"decoder '{DECODER}'")  # type: ignore[assignment]
    if weights is None and not (decoder.model or decoder.joshua):
        raise UsageError("a grammar and a language model have no weights; give --weights")
    file_weights = None if weights is None else read_weights(weights).weights
    if file_weights is not None:
        check_underived(file_weights, weights)
    blocks = blocks_of(input_path, decoder)
    first = next(blocks)
    decoder_weights = _start_weights(session, decoder) if file_weights is None else file_weights
    blocks = _matched(session, chain([first], blocks), decoder, decoder_weights, strict, weights)
    every = shown(chain([next(blocks)], blocks), input_path)
    if forest_writer is not None and forest is not None:
        write_forests(decoder, decoder_weights, every, forest_writer, forest, pruning)
        return
    with contextlib.ExitStack() as stack:
        traces = None if trace is None else stack.enter_context(writing(trace))
        file = stack.enter_context(writing(out))
        lines = OutputLines(
            decoder, decoder_weights, nbest, unique is not False, list_writer, alignments, traces
        )
        for block in every:
            for line in lines.of(block):
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


def _check_traces(alignments: bool, trace: str | None, forest: str | None, out: str) -> None:
    """Raise an error if alignments or traces have no place."""
    if forest is not None and (alignments or trace is not None):
        flag = "--alignments" if alignments else "--trace"
        raise UsageError(f"{flag} goes with texts and lists; drop it, or --forest")
    if trace is not None and (trace == "-" or os.path.realpath(trace) == os.path.realpath(out)):
        raise UsageError("--trace has a file of its own; name one")


def _check_not_read(
    flag: str, path: str, read: Sequence[str | None], decoder_options: dict[str, Any]
) -> None:
    """Raise an error if the output would take the place of what is read."""
    from tunesmith.hiero.model import ABOUT, WEIGHTS

    # NAME=FILE is a language model too.
    named = [path.partition("=")[2] for path in decoder_options.get("lm", ())]
    model = [
        os.path.join(decoder_options["model"], name)
        for name in (ABOUT, WEIGHTS)
        if "model" in decoder_options
    ]
    check_not_read(flag, path, [*read, *named, decoder_options.get("model"), *model])


def _start_weights(session: Session, decoder: HieroDecoder) -> Weights:
    """Return the weights that a model has, and say so."""
    start = decoder.start()
    where = decoder.model or decoder.joshua
    if not start:
        raise UsageError(f"{where} has no weights; give --weights")
    session.say(f"weights: those that {where} begins with")
    return start


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
            used.matched(names, strict)

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
