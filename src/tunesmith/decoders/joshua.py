"""Joshua 6: weights in a file or in joshua.config, n-best lists on standard output."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, DecoderError, digest_of
from tunesmith.decoders.external import ExternalDecoder, Shard
from tunesmith.decoders.program import check_program
from tunesmith.decoders.shared import (
    add_blank,
    check_extra,
    line_end,
    says_something,
    split,
    with_all_names,
)
from tunesmith.errors import FormatError, UsageError, shortened
from tunesmith.io.collector import Collector
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.io.text.utf8 import check_utf8
from tunesmith.io.weights.cdec import CdecWeights
from tunesmith.io.weights.files import WeightsFile, read_weights
from tunesmith.registry import option

#: Options of Joshua that are ours to give, as :func:`normal` has them.
OURS = frozenset(
    {
        "c",
        "config",
        "inputfile",
        "moses",
        "nbestlist",
        "outputformat",
        "showweights",
        "topn",
        "useuniquenbest",
        "weightoverwrite",
        "weightsfile",
    }
)
#: What a line of the list is made of: id, text, features, score.
OUTPUT = "%i ||| %s ||| %f ||| %c"
_INLINE = re.compile(rb"(\s*)(\S+)(\s+)(\S+)(\s*)")


@DECODERS.register("joshua")
@dataclass(frozen=True, kw_only=True)
class JoshuaDecoder(ExternalDecoder):
    """Joshua, version 6."""

    binary: str = option("joshua", "the program, a path or a name on the PATH", "FILE")
    config: str = option("", "the file joshua.config", "FILE")
    extra: str = option("", "further arguments of Joshua, such as '-m 8g -threads 4'", "ARGUMENTS")
    distinct: bool = option(True, "whether the texts of a list are all different")
    format: str | None = option("joshua", "format of the n-best list")

    weights_name: ClassVar[str] = "weights"
    reads_stdin: ClassVar[bool] = True
    writes_stdout: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.config:
            raise UsageError(
                "the decoder 'joshua' needs a joshua.config; give it with --decoder-config"
            )
        check_extra(self.extra, OURS, "Joshua", normal)

    def arguments(self, shard: Shard) -> list[str]:
        """Return the command; the program's own options, as -m, come first."""
        words = [self.binary, *split(self.extra), "-config", self.config]
        words += ["-weights-file", os.fspath(shard.weights)]
        file = JoshuaConfiguration.read(self.config)
        if file.inline:
            # Weights in joshua.config count more than those of a file, and these more than both.
            weights = CdecWeights().read(shard.weights.read_bytes(), os.fspath(shard.weights))
            pairs = [f"{name} {weights.get(name, 0.0)!r}" for name in file.inline]
            words += ["-weight-overwrite", " ".join(pairs)]
        words += ["-top-n", str(self.nbest_size), "-output-format", OUTPUT]
        return [*words, "-use-unique-nbest", "true" if self.distinct else "false"]

    def read_output(self, shard: Shard, collector: Collector) -> None:
        """Add a shard's candidates; some versions answer an empty line with an empty one."""
        if says_something(shard.output):
            super().read_output(shard, collector)
        add_blank(collector, shard.sentences, shard.output, blank_lines=False)

    def check(self) -> None:
        """Raise an error if the program or a file cannot be used."""
        check_program([self.binary])
        self._weights_file()

    def weights_bytes(self, weights: Weights) -> bytes:
        """Return the weights file."""
        for name in weights:
            if not name or name.startswith(("#", "//")) or any(c.isspace() for c in name):
                raise DecoderError(f"a feature of Joshua cannot be called '{name}'; rename it")
        return "".join(f"{name} {weights[name]!r}\n" for name in weights).encode()

    def start(self) -> Weights | None:
        """Return the weights of the weights file, and above them those of joshua.config."""
        weights = self._loaded_weights()
        return Weights.from_dict(weights) if weights else None

    def rewritten(self, weights: Weights) -> bytes | None:
        """Return joshua.config with other weights, or the weights file if it has them all."""
        config, file = JoshuaConfiguration.read(self.config), self._weights_file()
        weights = with_all_names(weights, self._loaded_weights())
        if config.inline:
            return config.rewritten(weights)
        return None if file is None else file.rewritten(weights)

    def configuration(self) -> dict[str, Any]:
        """Return the options, and the digests of joshua.config and of the weights file."""
        path = JoshuaConfiguration.read(self.config).weights_file
        paths = [self.config, *([path] if path else [])]
        return {**super().configuration(), "files": {path: digest_of(path) for path in paths}}

    def _loaded_weights(self) -> dict[str, float]:
        file = self._weights_file()
        return {**(file.weights if file else {}), **JoshuaConfiguration.read(self.config).inline}

    def _weights_file(self) -> WeightsFile | None:
        path = JoshuaConfiguration.read(self.config).weights_file
        return None if path is None else read_weights(path)


class JoshuaConfiguration:
    """A joshua.config: settings ``key = value``, and weights ``name value``.

    Parameters
    ----------
    path
        For errors.
    text
        The whole file.
    """

    def __init__(self, path: str, text: bytes) -> None:
        check_utf8(text, path, 1)
        self.text = text
        #: Where the other weights are, relative to where Joshua runs.
        self.weights_file: str | None = None
        #: The weights that stand in the file itself.
        self.inline: dict[str, float] = {}
        for number, line in enumerate(text.split(b"\n"), 1):
            code = line.strip()
            if not code or code.startswith(b"#"):
                continue
            key, equals, value = code.decode().partition("=")
            if equals:
                self._take(path, number, normal(key.strip()), value.strip())
            else:
                self._take_weight(path, number, code)

    @classmethod
    def read(cls, path: str) -> JoshuaConfiguration:
        """Read a file."""
        try:
            return cls(path, Path(path).read_bytes())
        except OSError as error:
            problem = (error.strerror or "it cannot be read").lower()
            raise FormatError(path, None, problem, "name a joshua.config") from None

    def _take(self, path: str, number: int, key: str, value: str) -> None:
        if key == "weightsfile":
            self.weights_file = value
        elif key == "moses":
            problem = "with 'moses', Joshua calls its features otherwise in lists than in weights"
            raise FormatError(path, number, problem, "take the line out")

    def _take_weight(self, path: str, number: int, code: bytes) -> None:
        fields = code.split()
        if len(fields) != 2:
            problem = f"'{shortened(code.decode())}' is no weight"
            raise FormatError(path, number, problem, "write name value, or key = value")
        name = fields[0].decode()
        self.inline[name] = float_or_nan(fields[1])
        if math.isnan(self.inline[name]):
            raise number_error(fields[1], path, number, f"the weight of '{shortened(name)}'")

    def rewritten(self, weights: Weights) -> bytes:
        """Return the file with other weights; those that have no line get one at the end."""
        lines = []
        for line in self.text.split(b"\n"):
            match = _INLINE.fullmatch(line)
            name = match.group(2).decode() if match else ""
            is_unchanged = b"=" in line or name.startswith("#") or name not in weights
            if match is None or is_unchanged or weights[name] == float_or_nan(match.group(4)):
                lines.append(line)
            else:
                value = repr(weights[name]).encode()
                lines.append(b"".join([*match.group(1, 2, 3), value, match.group(5)]))
        new = [name for name in weights if name not in self.inline]
        for name in new:
            if "=" in name or name.startswith("#") or any(c.isspace() for c in name):
                problem = f"'{shortened(name)}' cannot stand in a joshua.config"
                raise DecoderError(f"{problem}; give its weight in a weights-file")
        text, end = b"\n".join(lines), line_end(self.text)
        if new and not text.endswith(b"\n"):
            text += end
        return text + b"".join(f"{name} {weights[name]!r}".encode() + end for name in new)


def normal(key: str) -> str:
    """Return a key as Joshua compares them: without hyphens and underscores, in lower case."""
    return re.sub("[-_]", "", key).lower()
