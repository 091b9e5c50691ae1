"""How files are read: names of columns, and what stands for values that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from tunesmith.errors import FormatError, UsageError, nearest
from tunesmith.io.missing import Missing

#: Options that are on or off.
FLAGS = ("join_bpe", "detokenise_pieces", "drop_factors")


@dataclass(frozen=True)
class Reading:
    """How to read candidates if the defaults do not fit.

    Parameters
    ----------
    missing
        What replaces missing values: ``error``, ``zero``, ``mean``, ``worst``, ``drop`` or a
        number; for one column ``NAME=WAY``. Several are a list, or a mapping by name.
    id_column
        The name of the column of the group.
    text_column
        The name of the column of the text.
    index_column
        Columns that number rows and are not features.
    features
        Patterns of the columns that are features, such as ``"*_score"``. By default, every column
        of numbers without another meaning is a feature.
    join_bpe
        Join pieces of texts that end in ``@@``.
    detokenise_pieces
        Join SentencePiece's pieces of texts.
    drop_factors
        Reduce ``word|POS`` to ``word``, and drop marks of a segmentation such as ``|0-1|``.
    """

    missing: str | float | Sequence[str] | Mapping[str, str | float] | Missing = field(
        default_factory=Missing
    )
    id_column: str = "id"
    text_column: str = "text"
    index_column: Sequence[str] = ()
    features: Sequence[str] = ()
    join_bpe: bool = False
    detokenise_pieces: bool = False
    drop_factors: bool = False
    #: Columns to tune for, which are read like features at first.
    _columns: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    def __post_init__(self) -> None:
        missing = self.missing
        if isinstance(missing, Mapping):
            missing = Missing.parse([f"{name}={way}" for name, way in missing.items()])
        elif not isinstance(missing, Missing):
            several = [str(missing)] if isinstance(missing, str | int | float) else missing
            missing = Missing.parse(several)
        vars(self)["missing"] = missing
        for name in ("index_column", "features"):
            value = getattr(self, name)
            vars(self)[name] = (value,) if isinstance(value, str) else tuple(value)
        if self.id_column == self.text_column:
            raise UsageError(f"'{self.id_column}' is the column of ids and of texts; name another")

    @property
    def gaps(self) -> Missing:
        """What is done where a value is missing."""
        assert isinstance(self.missing, Missing)
        return self.missing

    def is_feature(self, name: str) -> bool:
        """Tell whether a column of numbers without another meaning is a feature."""
        if not self.features or name in self._columns:
            return True
        return any(fnmatchcase(name, pattern) for pattern in self.features)

    def check_names(self, names: Sequence[str], where: str) -> None:
        """Raise an error if a column that an option names is not there."""
        columns = [
            *self.index_column,
            *(self.text_column for _ in [0] if self.text_column != "text"),
        ]
        for name in columns:
            if name not in names:
                near = " or ".join(nearest(name, list(names)))
                problem = f"there is no column '{name}'"
                raise FormatError(where, None, problem, f"name one that is (near: {near})")
        for pattern in self.features:
            if not any(fnmatchcase(name, pattern) for name in names):
                problem = f"no column is called '{pattern}'"
                raise FormatError(where, None, problem, "name features that are there")

    def with_costs(self, costs: frozenset[str]) -> Reading:
        """Return the same, with the external scores of which less is better."""
        return replace(self, missing=replace(self.gaps, costs=costs))

    def including(self, columns: Iterable[str]) -> Reading:
        """Return the same, with columns that are read whatever the patterns of features are."""
        return replace(self, _columns=frozenset(columns) | self._columns)

    def record(self) -> dict[str, Any]:
        """Return what differs from the usual as plain values."""
        usual = Reading()
        changed: dict[str, Any] = {}
        if self.gaps.texts():
            changed["missing"] = self.gaps.texts()
        for name in ("id_column", "text_column"):
            if getattr(self, name) != getattr(usual, name):
                changed[name] = getattr(self, name)
        for name in ("index_column", "features"):
            if getattr(self, name):
                changed[name] = list(getattr(self, name))
        for name in FLAGS:
            if getattr(self, name):
                changed[name] = True
        return changed

    @classmethod
    def of_record(cls, record: Any) -> Reading:
        """Return what a record says; raise an error if it is none."""
        fields = {"missing", "id_column", "text_column", "index_column", "features", *FLAGS}
        if not isinstance(record, dict) or not record.keys() <= fields:
            raise UsageError("the result does not say how its files were read; tune again")
        for name, value in record.items():
            if name in FLAGS and isinstance(value, bool):
                continue
            texts = [value] if name in {"id_column", "text_column"} else value
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise UsageError("the result does not say how its files were read; tune again")
        return cls(**record)
