"""cdec: weights in a file of their own, k-best lists on standard output."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, DecoderError, Sentence, digest_of
from tunesmith.decoders.external import ExternalDecoder, Shard
from tunesmith.decoders.program import check_program
from tunesmith.decoders.shared import add_blank, check_extra, says_something, split, with_all_names
from tunesmith.errors import FormatError, UsageError, shortened
from tunesmith.io.collector import Collector
from tunesmith.io.weights.files import WeightsFile, read_weights
from tunesmith.registry import option

#: Options of cdec that are ours to give.
OURS = frozenset(
    {
        "c",
        "config",
        "i",
        "input",
        "k",
        "k_best",
        "mr_mira_compat",
        "r",
        "unique_k_best",
        "w",
        "weights",
        "weights2",
        "weights3",
    }
)
#: A name with an equals sign and a blank after it, which cdec would misread.
_EQUALS = re.compile(rb"^([^\s#]\S*=\S*) +(\S+\s*)$")
_SEGMENT = re.compile(r"<seg((?:\s[^>]*)?)>(.*)</seg>")
_ID = re.compile(r"""\sid\s*=\s*("[^"]*"|\S+)""")


@DECODERS.register("cdec")
@dataclass(frozen=True, kw_only=True)
class CdecDecoder(ExternalDecoder):
    """cdec, with any formalism that gives k-best lists."""

    binary: str = option("cdec", "the program, a path or a name on the PATH", "FILE")
    ini: str = option("", "the file cdec.ini", "FILE")
    weights: str | None = option(
        None, "weights to start from; default: the file that 'weights' in cdec.ini names", "FILE"
    )
    extra: str = option("", "further arguments of cdec, such as '--quiet'", "ARGUMENTS")
    distinct: bool = option(True, "whether the texts of a list are all different")
    format: str | None = option("cdec", "format of the k-best list")

    weights_name: ClassVar[str] = "weights"
    writes_stdout: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.ini:
            raise UsageError("the decoder 'cdec' needs a cdec.ini; give it with --decoder-ini")
        check_extra(self.extra, OURS, "cdec")

    def arguments(self, shard: Shard) -> list[str]:
        """Return a command as cdec's own tuners give it."""
        words = [self.binary, *split(self.extra), "-c", self.ini, "-w", os.fspath(shard.weights)]
        words += ["-i", os.fspath(shard.input), "-k", str(self.nbest_size)]
        return [*words, "-r"] if self.distinct else words

    def input_bytes(self, sentences: Sequence[Sentence]) -> bytes:
        """Return a line with its id for each sentence that has words.

        cdec does not count empty lines, so that the ids must be told. A sentence that comes as
        ``<seg id="7" grammar="g.7.gz"> ... </seg>`` keeps all but its id.
        """
        lines = []
        for place, sentence in enumerate(sentences):
            attributes, text = marked_up(sentence.text)
            for mark in ("|||", "</seg>"):
                if mark in text:
                    raise UsageError(
                        f"sentence {sentence.id} has '{mark}' in it, of which cdec would make "
                        "something else; escape it"
                    )
            if text.strip():
                lines.append(f'<seg id="{place}"{attributes}> {text.strip()} </seg>\n')
        return "".join(lines).encode()

    def read_output(self, shard: Shard, collector: Collector) -> None:
        """Add a shard's candidates; cdec writes an empty line where it finds no translation."""
        if says_something(shard.output):
            super().read_output(shard, collector)
        add_blank(collector, shard.sentences, shard.output, blank_lines=True)

    def check(self) -> None:
        """Raise an error if the program or a file cannot be used."""
        check_program([self.binary])
        self._file()

    def weights_bytes(self, weights: Weights) -> bytes:
        """Return the weights file.

        With a tab: of ``a=b 1``, cdec would make the feature ``a`` with the weight 0.
        """
        for name in weights:
            if not name or name.startswith("#") or any(c.isspace() for c in name):
                raise DecoderError(f"a feature of cdec cannot be called '{name}'; rename it")
        return "".join(f"{name}\t{weights[name]!r}\n" for name in weights).encode()

    def start(self) -> Weights | None:
        """Return the weights of the weights file, if there is one."""
        file = self._file()
        return None if file is None else file.weights

    def rewritten(self, weights: Weights) -> bytes | None:
        """Return the weights file with other weights."""
        file = self._file()
        if file is None:
            return None
        weights = with_all_names(weights, file.weights)
        lines = file.rewritten(weights).splitlines(keepends=True)
        return b"".join(_EQUALS.sub(rb"\1\t\2", line) for line in lines)

    def configuration(self) -> dict[str, Any]:
        """Return the options, and the digests of cdec.ini and of the weights file."""
        paths = [self.ini, *filter(None, [self._weights_path()])]
        return {**super().configuration(), "files": {path: digest_of(path) for path in paths}}

    def _weights_path(self) -> str | None:
        """Return where the weights to start from are."""
        path = None
        for number, key, value in settings(self.ini):
            if key in ("weights2", "weights3"):
                # They would stay as they are, in all rounds.
                problem = f"'{key}' gives a later pass weights of its own"
                remedy = "take the line out: a pass without takes those of the pass before"
                raise FormatError(self.ini, number, problem, remedy)
            if key == "weights" and path is None:
                path = value
        return self.weights or path

    def _file(self) -> WeightsFile | None:
        path = self._weights_path()
        return None if path is None else read_weights(path)


def marked_up(sentence: str) -> tuple[str, str]:
    """Return the attributes, but for the id, and the text of what may be ``<seg ...>``."""
    match = _SEGMENT.fullmatch(sentence.strip())
    if match is None:
        return "", sentence
    return _ID.sub("", match.group(1)).rstrip(), match.group(2)


def settings(path: str) -> Iterator[tuple[int, str, str]]:
    """Yield the lines ``key = value`` of a cdec.ini, each with its number."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise FormatError(path, None, problem, "name a cdec.ini") from None
    for number, line in enumerate(text.split("\n"), 1):
        key, equals, value = line.partition("#")[0].partition("=")
        if equals:
            yield number, key.strip(), value.strip()
        elif key.strip() and not key.lstrip().startswith("["):
            problem = f"'{shortened(key.strip())}' is no setting"
            raise FormatError(path, number, problem, "write key=value")
