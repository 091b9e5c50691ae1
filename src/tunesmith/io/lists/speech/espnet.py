"""n-best lists as ESPnet's recognisers leave them: ``logdir/output.JOB/Nbest_recog/``.

Each of these folders has the n-th candidate of the job's utterances: files ``text``, ``token``
and ``score``, an utterance a line. A score may stand in ``tensor(...)``.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.forests.lattices.base import id_of
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.lists.speech.transcripts import Transcripts, read_transcripts
from tunesmith.io.streams import Source
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.registry import option

_RANK = re.compile(r"(\d+)best_recog")
_JOB = re.compile(r"output\.(\d+)")
_TENSOR = re.compile(r"tensor\(([^,()]+)(?:,.*)?\)")
#: Where the folders of ranks are, from what a user may name.
BELOW = ("", "*best_recog", "output.*/*best_recog", "logdir/output.*/*best_recog")


@FORMATS.register("espnet")
@dataclass(frozen=True)
class EspnetFormat(CandidateFormat):
    """n-best folders of ESPnet, such as logdir; features score and tokens."""

    references: str = option("", "transcripts: the id of an utterance and its words on each line")

    @staticmethod
    def files_in(folder: str) -> list[str]:
        """Return the texts of all jobs and ranks below a folder."""
        for below in BELOW:
            places = Path(folder).glob(below) if below else [Path(folder)]
            named = [(place, _order(place)) for place in places if _is_rank(place)]
            if named:
                named.sort(key=lambda pair: pair[1])
                return [os.fspath(_texts_of(place)) for place, _ in named]
        return []

    def read(self, source: Source, collector: Collector) -> None:
        """Add the candidates of one rank and job to the collector."""
        folder = os.path.dirname(source.path)
        beside = {name: os.path.join(folder, name) for name in ("score", "token")}
        if not os.path.isfile(beside["score"]):
            problem = "there is no file 'score' beside it"
            raise FormatError(source.name, None, problem, "give a folder as ESPnet leaves it")
        transcripts = {n: Transcripts(path) for n, path in beside.items() if os.path.isfile(path)}
        utterances = {}
        for name, (text, line) in read_transcripts(source).items():
            place = source.name, line
            features = {"score": _score(transcripts["score"], name, place)}
            if "token" in transcripts:
                features["tokens"] = float(len(_of(transcripts["token"], name, place)[0].split()))
            utterances[name] = id_of(name)
            collector.add(utterances[name], text, features, place=place)
        collector.files.extend(other.source.digest(self.name) for other in transcripts.values())
        if self.references:
            remedy = "name others: espnet:references=FILE"
            self._transcripts.add_to(collector, utterances, remedy)

    @cached_property
    def _transcripts(self) -> Transcripts:
        return Transcripts(self.references)


def _is_rank(place: Path) -> bool:
    """Tell whether a folder has the candidates of one rank."""
    return _RANK.fullmatch(place.resolve().name) is not None and _texts_of(place).is_file()


def _texts_of(place: Path) -> Path:
    """Return the file of texts; a model without a tokenizer writes tokens alone."""
    texts = place / "text"
    return texts if texts.is_file() else place / "token"


def _order(place: Path) -> tuple[int, int]:
    """Return the numbers of a folder's job and rank."""
    whole = place.resolve()
    job, rank = _JOB.fullmatch(whole.parent.name), _RANK.fullmatch(whole.name)
    return int(job[1]) if job else 0, int(rank[1]) if rank else 0


def _of(transcripts: Transcripts, name: str, place: tuple[str, int]) -> tuple[str, int]:
    if name not in transcripts.texts:
        problem = f"'{name}' is not in {transcripts.source.name}"
        raise FormatError(*place, problem, "copy that file again")
    return transcripts.texts[name]


def _score(scores: Transcripts, name: str, place: tuple[str, int]) -> float:
    text, line = _of(scores, name, place)
    tensor = _TENSOR.fullmatch(text.strip())
    number = (tensor[1] if tensor else text).strip().encode()
    value = float_or_nan(number)
    if math.isnan(value):
        raise number_error(number, scores.source.name, line, "a score")
    return value
