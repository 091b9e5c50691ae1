from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.metrics.base import METRICS
from tunesmith.registry import Registry, option, options_of, parse_options


@dataclass(frozen=True)
class Thing:
    """A thing."""

    size: int = option(3, "how large")
    ratio: float = option(0.5, "how much")
    kind: Literal["red", "green"] = option("red", "which one")
    is_new: bool = option(False, "whether it is new")


def test_fields_are_options_with_types_choices_and_help():
    found = {o.flag: (o.type, o.choices, o.default, o.help) for o in options_of(Thing)}
    assert found == {
        "size": (int, (), 3, "how large"),
        "ratio": (float, (), 0.5, "how much"),
        "kind": (str, ("red", "green"), "red", "which one"),
        "is-new": (bool, (), False, "whether it is new"),
    }


def test_texts_become_values():
    given = {"size": "7", "ratio": "1e-3", "kind": "green", "is-new": "true"}
    assert Thing(**parse_options(Thing, given, "thing")) == Thing(7, 1e-3, "green", True)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"size": "x"}, UsageError, "give a whole number"),
        ({"ratio": "x"}, UsageError, "give a finite number"),
        ({"is-new": "yes"}, UsageError, "true or false"),
        ({"kind": "gren"}, UnknownNameError, "did you mean green"),
        ({"sice": "1"}, UnknownNameError, "did you mean size"),
    ],
)
def test_wrong_texts(given, error, message):
    with pytest.raises(error, match=message):
        parse_options(Thing, given, "thing")


def test_a_decorator_registers_and_names_the_class():
    registry: Registry[Thing] = Registry("thing", "tunesmith.report", "tunesmith.nothing")
    registry.register("thing")(Thing)
    assert registry.names() == ["thing"]
    assert registry.create("thing:size=9,is-new=true") == Thing(size=9, is_new=True)
    with pytest.raises(UnknownNameError, match="unknown thing 'thin'; did you mean thing"):
        registry.get("thin")


def test_entry_points_of_other_packages_are_found(monkeypatch):
    from importlib import metadata

    entry = metadata.EntryPoint("thing", "tests.test_registry:Thing", "tunesmith.things")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry] if group else [])
    registry: Registry[Thing] = Registry("thing", "tunesmith.report", "tunesmith.things")
    assert registry.create("thing").size == 3


def test_built_in_metrics_are_found():
    assert "bleu" in METRICS.names()
