"""How files are read: names of columns, and what stands for values that are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from tunesmith.errors import FormatError, UsageError, nearest
from tunesmith.io.missing import Missing

#: Options that are on or off.
FLAGS = ("join_bpe", "detokenise_pieces", "drop_factors")


@dataclass(frozen=True)
class Use:
    """What candidates are read for, where reading depends on it.

    Attributes
    ----------
    columns
        External scores that are read whatever patterns say of features.
    costs
        Those of which less is better.
    compares
        Whether texts are compared with references.
    ignores_case
        Whether upper and lower case are alike then.
    """

    columns: frozenset[str] = frozenset()
    costs: frozenset[str] = frozenset()
    compares: bool = True
    ignores_case: bool = False


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
    use
        What the candidates are for; the metrics of a command say so.
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
    use: Use = field(default=Use(), repr=False)

    def __post_init__(self) -> None:
        missing = self.missing
        if isinstance(missing, Mapping):
            missing = Missing.parse([f"{name}={way}" for name, way in missing.items()])
        elif not isinstance(missing, Missing):
            several = [str(missing)] if isinstance(missing, str | int | float) else missing
            missing = Missing.parse(several)
        costs = missing.costs | self.use.costs
        vars(self)["missing"] = replace(missing, costs=costs)
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
        """Tell whether a column of numbers without another meaning is read."""
        is_named = any(fnmatchcase(name, pattern) for pattern in self.features)
        return not self.features or is_named or name in self.use.columns

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

    def used_for(self, use: Use) -> Reading:
        """Return the same for candidates of which it is known what they are for."""
        return replace(self, use=use)

    def with_columns(self, names: Sequence[str]) -> Reading:
        """Return the same with some columns that are read whatever patterns say of features."""
        return replace(self, use=replace(self.use, columns=self.use.columns.union(names)))

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
