"""``tunesmith train``: from parallel text to a model of the hierarchical decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith._version import __version__
from tunesmith.cli.app import Session
from tunesmith.cli.options.common import Json, one_standard_input, print_json
from tunesmith.cli.options.forests import Memory, set_memory

if TYPE_CHECKING:
    from tunesmith.hiero.training.train import TrainingReport

SCHEMA = "tunesmith.train/1"


def run(
    *,
    session: Session,
    source: Annotated[
        str, typer.Option(help="Source sentences, one per line, split into words.", metavar="FILE")
    ],
    target: Annotated[str, typer.Option(help="Their translations, line by line.", metavar="FILE")],
    out: Annotated[
        str,
        typer.Option(help="Folder for the model; an existing model is replaced.", metavar="FOLDER"),
    ],
    alignment: Annotated[
        str | None,
        typer.Option(
            help="Word alignments, such as 0-0 1-2, one pair of sentences per line; "
            "by default words are aligned here.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    aligner: Annotated[
        str, typer.Option(help="How words are aligned.", metavar="ibm1|ibm2|hmm|fast-align")
    ] = "hmm",
    iterations: Annotated[
        int, typer.Option(help="Training iterations of each alignment model.", metavar="INTEGER")
    ] = 5,
    symmetrise: Annotated[
        str,
        typer.Option(
            help="How both directions are combined: intersection, union, grow-diag, "
            "grow-diag-final, grow-diag-final-and.",
            metavar="NAME",
        ),
    ] = "grow-diag-final-and",
    max_phrase: Annotated[
        int,
        typer.Option(help="Most words of an initial phrase, on either side.", metavar="INTEGER"),
    ] = 10,
    max_symbols: Annotated[
        int,
        typer.Option(help="Most words and nonterminals of a source side.", metavar="INTEGER"),
    ] = 5,
    max_nonterminals: Annotated[
        int, typer.Option(help="Nonterminals of a rule: 0, 1 or 2.", metavar="INTEGER")
    ] = 2,
    min_gap: Annotated[
        int,
        typer.Option(
            help="Fewest source words that a nonterminal covers when extracted.", metavar="INTEGER"
        ),
    ] = 1,
    loose: Annotated[
        bool, typer.Option("--loose", help="Words at the ends of phrases need no link.")
    ] = False,
    adjacent: Annotated[
        bool,
        typer.Option("--adjacent", help="Nonterminals may be neighbours on the source side."),
    ] = False,
    keep_best: Annotated[
        int, typer.Option(help="Target sides to keep for each source side.", metavar="INTEGER")
    ] = 30,
    min_count: Annotated[
        int,
        typer.Option(
            help="Drop rules that were extracted fewer times than this.", metavar="INTEGER"
        ),
    ] = 1,
    filter_by: Annotated[
        list[str],
        typer.Option(
            "--filter",
            help="Source text that will be translated: rules that cannot apply to any are left "
            "out; repeat it for several.",
            metavar="FILE",
            show_default=False,
        ),
    ] = [],  # noqa: B006  (typer's way; never changed)
    order: Annotated[int, typer.Option(help="Order of the language model.", metavar="INTEGER")] = 5,
    lm_text: Annotated[
        list[str],
        typer.Option(
            help="More target text for the language model; repeat it for several.",
            metavar="FILE",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    lm: Annotated[
        str | None,
        typer.Option(
            help="A language model to use, ARPA or KenLM's probing binary; by default one is "
            "estimated.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    span_limit: Annotated[
        int,
        typer.Option(
            help="Source words that a rule may cover when the model is used.", metavar="INTEGER"
        ),
    ] = 15,
    text: Annotated[
        bool, typer.Option("--text", help="Write the rules as text too: grammar.gz.")
    ] = False,
    memory: Memory = None,
    as_json: Json = False,
) -> None:
    """Train a hierarchical model on parallel text: rules, language model, starting weights."""
    from tunesmith.hiero.model import SearchSettings
    from tunesmith.hiero.training.rules.extract import Extraction
    from tunesmith.hiero.training.rules.table import RuleTable
    from tunesmith.hiero.training.train import Recipe, train

    one_standard_input(source, target, alignment, lm, *filter_by, *lm_text)
    set_memory(memory)
    extraction = Extraction(max_phrase, max_symbols, max_nonterminals, min_gap, not loose, adjacent)
    rules = RuleTable(extraction, keep_best, min_count, span_limit)
    settings = SearchSettings(span_limit=span_limit)
    recipe = Recipe(aligner, iterations, symmetrise, rules, order, settings)
    trained = train(
        source,
        target,
        out,
        recipe,
        alignment=alignment,
        lm_texts=lm_text,
        lm=lm,
        filters=filter_by,
        as_text=text,
    )
    if trained.left_out:
        session.say(f"{trained.left_out} rules with ||| or [X] as a word are not in the text form")
    if as_json:
        print_json(_object(trained, out, session))
    else:
        typer.echo(_lines(trained, out))


def _object(trained: TrainingReport, out: str, session: Session) -> dict[str, Any]:
    from tunesmith.hiero.training.train import as_json

    return {
        "schema": SCHEMA,
        "signature": f"train|version:tunesmith-{__version__}",
        "model": out,
        **as_json(trained),
        "warnings": session.warnings,
    }


def _lines(trained: TrainingReport, out: str) -> str:
    by_gaps = ", ".join(f"{number} with {k}" for k, number in enumerate(trained.rules))
    seconds = ", ".join(f"{step} {value:.1f} s" for step, value in trained.seconds.items())
    skipped = trained.empty + trained.long
    return "\n".join(
        [
            f"pairs:    {trained.pairs}" + (f" ({skipped} left out)" if skipped else ""),
            f"rules:    {sum(trained.rules)} ({by_gaps} nonterminals)",
            f"n-grams:  {' + '.join(map(str, trained.ngrams)) or 'as given'}",
            f"time:     {sum(trained.seconds.values()):.1f} s ({seconds})",
            f"model:    {out} ({trained.size / 1e6:.1f} MB)",
            f"next:     tunesmith tune --decoder hiero --model {out} --tuner mira "
            "--source tune.src --references tune.trg",
        ]
    )
