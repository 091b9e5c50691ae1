"""Details of lighteval (``--save-details``): Parquet with a row for each prompt.

Its columns are objects: ``doc`` has the prompt, its choices and which of them are right,
``model_response`` the answers, or the log-probability of each choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tunesmith.data.candidates import GroupId
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.lists.evaluation.values import Values
from tunesmith.io.streams import RATIO_FROM, Source
from tunesmith.io.tables.arrow_types import room_of
from tunesmith.io.tables.base import group_id
from tunesmith.io.tables.parquet import OpenFile, reading_parquet

DOC, RESPONSE = "doc", "model_response"
#: What is read of each of them.
PARTS = {
    DOC: ("id", "query", "choices", "gold_index"),
    RESPONSE: ("text", "logprobs", "unconditioned_logprobs", "output_tokens"),
}
#: Features of choices, by their lists.
LISTS = {"logprobs": "logprob", "unconditioned_logprobs": "unconditioned"}
REMEDY = "give a file details_TASK_DATE.parquet, as lighteval writes it"


@FORMATS.register("lighteval")
class LightevalFormat(CandidateFormat):
    """Details of lighteval: answers, or choices with their log-probabilities."""

    def read(self, source: Source, collector: Collector) -> None:
        """Add all answers to the collector."""
        with reading_parquet(source) as file:
            if not is_details(file.schema):
                problem = "there are no columns 'doc' and 'model_response'"
                raise FormatError(source.name, None, problem, REMEDY)
            add_details(file, collector)


def is_details(schema: Any) -> bool:
    """Tell whether columns are those of details."""
    from pyarrow import types

    kinds = {_plain(field.name): field.type for field in schema}
    return all(part in kinds and types.is_struct(kinds[part]) for part in PARTS)


def _plain(name: str) -> str:
    return name.strip("_")


def add_details(file: OpenFile, collector: Collector) -> None:
    """Add the answers of a file that is open to a collector."""
    for row, record in enumerate(_rows(file)):
        place = file.name, row + 1
        doc, response = (Values(record[part], place, REMEDY) for part in (DOC, RESPONSE))
        doc_id = doc.record.get("id")
        group = row if doc_id in (None, "") else group_id(doc_id)
        if texts := response.texts("text"):
            _add_texts(group, texts, doc, response, collector)
        else:
            _add_choices(group, doc, response, collector)
        query = doc.record.get("query")
        if isinstance(query, str):
            collector.add_source(group, query)


def _rows(file: OpenFile) -> Iterator[dict[str, Any]]:
    """Yield the parts of each row as objects."""
    names = {_plain(name): name for name in file.schema.names}
    columns = [
        f"{names[part]}.{key}"
        for part, keys in PARTS.items()
        for key in keys
        if file.schema.field(names[part]).type.get_field_index(key) >= 0
    ]
    file.room.check(8 * sum(column.values for column in file.pages.values()))
    longest = max((column.largest for column in file.pages.values()), default=1)
    at_once = max(1, min(1 << 10, RATIO_FROM // max(longest, 1)))
    for batch in file.file.iter_batches(at_once, columns=columns):
        batch.validate(full=True)
        file.room.take(sum(room_of(column) for column in batch.columns))
        for row in batch.to_pylist():
            yield {part: row[name] or {} for part, name in names.items() if part in PARTS}


def _add_texts(
    group: GroupId, texts: list[str], doc: Values, response: Values, collector: Collector
) -> None:
    logprobs = response.record.get("logprobs") or []
    # Some models give one of each token instead.
    scores = response.numbers("logprobs") if len(logprobs) == len(texts) else []
    tokens = response.lists("output_tokens")
    for k, text in enumerate(texts):
        features = {"logprob": scores[k]} if scores else {}
        if len(tokens) == len(texts):
            features["tokens"] = float(len(tokens[k]))
        collector.add(group, text, features, place=doc.place)
    choices = doc.texts("choices")
    right = [choices[k] for k in _right(doc) if 0 <= k < len(choices) and choices[k].strip()]
    if right:
        collector.add_reference_texts(group, right, doc.place)


def _add_choices(group: GroupId, doc: Values, response: Values, collector: Collector) -> None:
    choices = doc.texts("choices")
    if not choices:
        raise doc.error("there are neither answers nor choices")
    lists = {name: response.numbers(name) for name in LISTS if response.record.get(name)}
    for name, values in lists.items():
        if len(values) != len(choices):
            raise doc.error(f"'{name}' has {len(values)} values and 'choices' {len(choices)}")
    if "logprobs" not in lists:
        raise doc.error("there are no answers, and no 'logprobs' of the choices")
    right = _right(doc)
    for k, choice in enumerate(choices):
        features = {LISTS[name]: values[k] for name, values in lists.items()}
        features["characters"] = float(len(choice.strip()))
        correct = {"correct": float(k in right)}
        collector.add(group, choice.strip(), features, correct, doc.place)


def _right(doc: Values) -> list[int]:
    """Return which choices are right."""
    index = doc.record.get("gold_index")
    several = index if isinstance(index, list) else [index]
    return [k for k in several if isinstance(k, int)]
