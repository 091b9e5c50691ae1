"""Moses: weights in moses.ini, n-best lists in a file."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, DecoderError, digest_of
from tunesmith.decoders.external import FULL, ExternalDecoder, Shard, full, writing_to
from tunesmith.decoders.moses_ini import Function, MosesConfiguration, shown_functions
from tunesmith.decoders.processes import Processes, end_of, log_tail
from tunesmith.decoders.program import check_program
from tunesmith.decoders.shared import add_blank, check_extra, says_something, split, with_all_names
from tunesmith.errors import FormatError, UsageError, one_line, shortened
from tunesmith.io.collector import Collector
from tunesmith.registry import option

#: Options of Moses that are ours to give.
OURS = frozenset(
    {
        "config",
        "f",
        "i",
        "input-file",
        "n-best-list",
        "show-weights",
        "weight",
        "weight-file",
        "weight-overwrite",
        "wf",
    }
)
#: The file with the weights of sparse features, beside moses.ini.
SPARSE = "sparse-weights"
#: How far a weight may be from the six digits that are shown of it.
ROUNDING = 2e-5
#: Seconds that showing the weights may take if no limit is given: far more than it needs.
SHOW_LIMIT = 600.0


@DECODERS.register("moses")
@dataclass(frozen=True, kw_only=True)
class MosesDecoder(ExternalDecoder):
    """Moses, from version 1 on, phrase-based or with a chart; its moses.ini is rewritten."""

    binary: str = option("moses", "the program, a path or a name on the PATH", "FILE")
    ini: str = option("", "the file moses.ini, with features, and weights to start from", "FILE")
    extra: str = option("", "further arguments of Moses, such as '-threads 4'", "ARGUMENTS")
    distinct: bool = option(True, "whether the texts of a list are all different")
    format: str | None = option("moses", "format of the n-best list")

    weights_name: ClassVar[str] = "moses.ini"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.ini:
            raise UsageError("the decoder 'moses' needs a moses.ini; give it with --decoder-ini")
        check_extra(self.extra, OURS, "Moses")

    @property
    def _command(self) -> tuple[str, ...]:
        return self.binary, *split(self.extra)

    def arguments(self, shard: Shard) -> list[str]:
        """Return a command as mert-moses.pl gives it."""
        words = [*self._command, "-f", os.fspath(shard.weights)]
        sparse = shard.weights.with_name(SPARSE)
        if sparse.exists():
            words += ["-weight-file", os.fspath(sparse)]
        words += ["-n-best-list", os.fspath(shard.output), str(self.nbest_size)]
        words += ["distinct"] if self.distinct else []
        return [*words, "-input-file", os.fspath(shard.input)]

    def read_output(self, shard: Shard, collector: Collector) -> None:
        """Add a shard's candidates, an empty one where there was no word."""
        if says_something(shard.output):
            super().read_output(shard, collector)
        add_blank(collector, shard.sentences, shard.output, blank_lines=False)

    def check(self) -> None:
        """Raise an error if the program or moses.ini cannot be used."""
        self._model()

    def start(self) -> Weights:
        """Return the weights of all features that lists have, those of moses.ini first."""
        return self._model().start()

    def weights_bytes(self, weights: Weights) -> bytes:
        """Return moses.ini with the weights, but for those of sparse features."""
        return self._model().rewritten(weights, with_sparse=False)

    def beside_weights(self, weights: Weights) -> dict[str, bytes]:
        """Return the file with the weights of sparse features, if there are any."""
        model = self._model()
        sparse = model.sparse(weights)
        if not sparse and model.file.weight_file is None:
            return {}
        return {SPARSE: "".join(f"{name} {sparse[name]!r}\n" for name in sparse).encode()}

    def rewritten(self, weights: Weights) -> bytes:
        """Return moses.ini with all weights."""
        return self._model().rewritten(weights, with_sparse=True)

    def configuration(self) -> dict[str, Any]:
        """Return the options, and the digests of moses.ini and of what weights it names."""
        files = {self.ini: digest_of(self.ini)}
        weight_file = MosesConfiguration.read(self.ini).weight_file
        if weight_file is not None:
            files[weight_file] = digest_of(weight_file)
        return {**super().configuration(), "files": files}

    def _model(self) -> MosesModel:
        file = MosesConfiguration.read(self.ini)
        command = (*self._command, "-f", self.ini, "-show-weights")
        limit = SHOW_LIMIT if self.time_limit is None else self.time_limit
        return MosesModel(file, show_functions(command, limit, file.text))


class MosesModel:
    """Which weights the features of the lists have, in moses.ini.

    Parameters
    ----------
    file
        The moses.ini.
    functions
        What Moses makes of it.
    """

    def __init__(self, file: MosesConfiguration, functions: Sequence[Function]) -> None:
        self.file = file
        self.functions = {function.name: function for function in functions}
        #: Of each weight of a dense feature: its function, and which of its values, from 0.
        self.places: dict[str, tuple[str, int]] = {}
        for function in functions:
            self._check(function)
            entry = file.entries.get(function.name)
            width = len(function.shown) if entry is None else len(entry.values)
            for name, place in function.places(width).items():
                if name in self.places:
                    raise DecoderError(
                        f"{file.path}: '{name}' is a value of '{self.places[name][0]}' and of "
                        f"'{function.name}' in lists; call one of them otherwise, by name="
                    )
                self.places[name] = function.name, place
        self._check_sparse()

    def _check(self, function: Function) -> None:
        entry = self.file.entries.get(function.name)
        if entry is None or not function.tuneable:
            return
        where, name = self.file.path, function.name
        if len(entry.values) != len(function.shown):
            raise DecoderError(
                f"{where}: '{name}' has {len(entry.values)} weights and Moses shows "
                f"{len(function.shown)}; give as many"
            )
        for value, seen in zip(entry.values, function.shown, strict=True):
            if seen is not None and abs(value - seen) > ROUNDING * max(1.0, abs(value)):
                raise DecoderError(
                    f"{where}: '{name}' has the weight {value:g} and Moses takes {seen:g}; give "
                    "weights in [weight] alone"
                )

    def _check_sparse(self) -> None:
        """Raise an error if a sparse feature has several weights, or the name of a dense one."""
        entries = {n: e for n, e in self.file.entries.items() if n not in self.functions}
        for name, entry in entries.items():
            if len(entry.values) != 1:  # Moses refuses it too
                problem = f"'{shortened(name)}' is no feature function and has several weights"
                remedy = "give one, as sparse features have"
                raise FormatError(self.file.path, entry.line + 1, problem, remedy)
        for name in (*entries, *self.file.sparse_file):
            if name in self.places:
                raise DecoderError(
                    f"{self.file.path}: '{name}' is a value of '{self.places[name][0]}' and has a "
                    "weight as a sparse feature; give it among the weights of "
                    f"'{self.places[name][0]}' alone"
                )

    def start(self) -> Weights:
        """Return the weights of all features that lists have."""
        weights: dict[str, float] = {}
        for name, (owner, place) in self.places.items():
            function, entry = self.functions[owner], self.file.entries.get(owner)
            if not function.tuneable:
                continue
            seen = function.shown[place]
            weights[name] = entry.values[place] if entry is not None else float(seen or 0.0)
        weights.update(self.file.sparse_file)
        for name, entry in self.file.entries.items():
            if name not in self.functions:
                weights[name] = entry.values[0]
        if not weights:
            raise DecoderError(f"{self.file.path}: no feature of it can be tuned; give one")
        return Weights.from_dict(weights)

    def sparse(self, weights: Weights) -> dict[str, float]:
        """Return the weights that are not those of a dense feature, and check their names."""
        sparse = {name: weights[name] for name in weights if name not in self.places}
        for name in sparse:
            # Moses calls a sparse feature after its function.
            owned = any(name.startswith(f"{owner}_") for owner in self.functions)
            if not owned or any(c.isspace() for c in name):
                raise DecoderError(
                    f"'{shortened(name)}' is no feature of {self.file.path}; give weights of its "
                    f"features, as {', '.join(list(self.places)[:3])}"
                )
        return sparse

    def rewritten(self, weights: Weights, with_sparse: bool) -> bytes:
        """Return moses.ini with other weights; sparse ones that have no line get one, or not.

        What can be tuned and is not given is 0, whatever stands in moses.ini.
        """
        weights = with_all_names(weights, self.start())
        lines: dict[str, dict[int, float]] = {}
        new: dict[str, list[float]] = {}
        for name, (owner, place) in self.places.items():
            if name not in weights:  # it is not tuned
                continue
            if owner in self.file.entries:
                lines.setdefault(owner, {})[place] = weights[name]
                continue
            if owner not in new:
                new[owner] = self._defaults(owner)
            new[owner][place] = weights[name]
        for name, value in self.sparse(weights).items():
            if name in self.file.entries:
                lines[name] = {0: value}
            elif with_sparse and (value or name in self.file.sparse_file):
                new[name] = [value]
        for name in new:
            if "#" in name:
                raise DecoderError(
                    f"'{shortened(name)}' cannot stand in a moses.ini, where # begins a comment; "
                    "take the weights of sparse features from the work directory as a weight-file"
                )
        return self.file.rewritten(lines, new)

    def _defaults(self, owner: str) -> list[float]:
        """Return the weights of a function that moses.ini gives none to."""
        values = self.functions[owner].shown
        if None in values:
            raise DecoderError(
                f"{self.file.path}: '{owner}' has values that are not tuned, and no weights; give "
                "them in [weight]"
            )
        return [float(value or 0.0) for value in values]


@lru_cache(maxsize=8)
def show_functions(command: tuple[str, ...], limit: float, ini: bytes) -> list[Function]:
    """Return the functions that Moses shows for a moses.ini; its text is the key of the cache."""
    check_program(command)
    quoted = f"'{shlex.join(command)}'"
    with writing_to(tempfile.gettempdir()):
        temporary = tempfile.TemporaryDirectory(prefix="tunesmith-", ignore_cleanup_errors=True)
    with temporary as name:
        stdout, stderr = Path(name, "stdout"), Path(name, "stderr")
        code = _run(command, limit, stdout, stderr)
        output = stdout.read_text(encoding="utf-8", errors="replace")
        words = one_line(log_tail(stderr)) or "nothing"
    if code is None:
        raise DecoderError(
            f"{quoted} took longer than {limit:g} seconds and was ended; its last words: {words}; "
            "give it more with --decoder-time-limit"
        )
    if code != 0:
        raise DecoderError(f"{quoted} {end_of(code)}; its last words: {words}; fix it")
    functions = shown_functions(output)
    if not functions:
        raise DecoderError(
            f"{quoted} shows no weights as Name= value; use Moses from version 1 on (its last "
            f"words: {words})"
        )
    return functions


def _run(command: Sequence[str], limit: float, stdout: Path, stderr: Path) -> int | None:
    """Run a command alone; return its code, None if it took too long."""
    with Processes(limit) as processes:
        try:
            processes.start(0, command, None, stdout, stderr)
        except OSError as error:
            if error.errno in FULL:
                raise full(error, stdout) from None
            problem = (error.strerror or str(error)).lower()
            raise DecoderError(
                f"'{shlex.join(command)}': {problem}; name a Moses that can be started"
            ) from None
        return processes.wait()[1]
