from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Literal

import pytest

from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.metrics.base import METRICS
from tunesmith.registry import Options, Registry, numbers, option, options_of, parse_options


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


@dataclass(frozen=True)
class Bounded(Options):
    """A thing whose options have ranges."""

    name = "bounded"
    _owner_is = "thing"

    count: int | None = option(None, "how many", least=1, most=5)
    share: float = option(0.5, "how much", above=0, below=1)
    steps: tuple[float, ...] = option((1.0,), "how far", convert=numbers, least=0)
    kind: Literal["red", "green"] | None = option(None, "which one")
    state: int = field(default=0, compare=False, repr=False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"count": 0}, "count of thing 'bounded' is 0; give 1 or more"),
        ({"count": 6}, "count of thing 'bounded' is 6; give 5 or less"),
        ({"share": 0.0}, "share of thing 'bounded' is 0; give a number above 0"),
        ({"share": 1}, "share of thing 'bounded' is 1; give a number below 1"),
        ({"share": float("nan")}, "share of thing 'bounded' is nan; give a number above 0"),
        ({"steps": [1.0, -1]}, "steps of thing 'bounded' is -1; give 0 or more"),
        ({"steps": (2, 2.0)}, "steps 2 is given twice; give each once"),
        ({"steps": "far"}, "steps is 'far'; give numbers"),
        ({"steps": ()}, "there is no steps; give one or more"),
        ({"kind": "blue"}, "unknown kind of thing 'bounded' 'blue'; did you mean green or red?"),
    ],
)
def test_values_out_of_range(given, message):
    with pytest.raises(TunesmithError) as caught:
        Bounded(**given)
    assert str(caught.value) == message


def test_values_in_range():
    assert Bounded() == Bounded(None, 0.5, 1, None, state=3)
    assert Bounded(count=5, steps=[0, 2]).steps == (0.0, 2.0)
    assert "state" not in {o.field for o in options_of(Bounded)}


@dataclass(frozen=True, kw_only=True)
class Inherited:
    """What several things share."""

    names: tuple[str, ...] = option((), "which ones", "NAME")
    sizes: tuple[int, ...] = option((), "how large each")


@dataclass(frozen=True)
class Several(Inherited):
    """A thing with options that may be given again."""

    size: int = option(3, "how large")


def test_a_tuple_is_an_option_that_may_be_given_again():
    found = [(o.flag, o.type, o.several, o.metavar) for o in options_of(Several)]
    assert found == [
        ("size", int, False, ""),
        ("names", str, True, "NAME"),
        ("sizes", int, True, ""),
    ]
    given = {"names": ["a", "b"], "sizes": ["1", "2"], "size": "7"}
    assert Several(**parse_options(Several, given, "thing")) == Several(
        7, names=("a", "b"), sizes=(1, 2)
    )
    assert parse_options(Several, {"names": "a,b"}, "thing") == {"names": ("a,b",)}
    with pytest.raises(UsageError, match="sizes of thing is 'x'; give a whole number"):
        parse_options(Several, {"sizes": ["1", "x"]}, "thing")
    with pytest.raises(UsageError, match="size of thing is given more than once"):
        parse_options(Several, {"size": ["1", "2"]}, "thing")


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


GOOD = """
from dataclasses import dataclass
import numpy as np
from tunesmith.metrics.base import Metric
from tunesmith.registry import option

@dataclass(frozen=True)
class Words(Metric):
    most: int = option(9, "at most")
    stat_names = ("words", "all")
    needs_references = False
    def stats(self, hypothesis, references):
        return np.array([min(len(hypothesis.split()), self.most), 1])
    def score(self, stats):
        return stats[..., 0] / stats[..., 1]
    def signature(self):
        return f"words|{self.most}"

class Other:
    pass
"""


def test_a_class_of_a_file_is_taken_with_its_options(tmp_path):
    path = tmp_path / "my metric.v2.py"
    path.write_text(GOOD)
    metric = METRICS.create(f"{path}:Words:most=3")
    assert metric.stats("a b c d e", []).tolist() == [3, 1]
    assert METRICS.create(f"{path}:Words").most == 9
    assert metric.name == "Words"
    assert type(metric) is METRICS.get(f"{path}:Words")
    combined = METRICS.create(f"sum(bleu,0.5*{path}:Words:most=2)")
    assert combined.parts[1].most == 2


AGAIN = """
import pickle, sys
import tunesmith.registry
metric = pickle.loads(sys.stdin.buffer.read())
print(metric.name, metric.signature(), *metric.stats("a b c", []))
"""


@pytest.mark.long
def test_an_object_of_a_file_s_class_can_be_sent_to_another_process(tmp_path):
    (tmp_path / "my.py").write_text(GOOD)
    metric = METRICS.create(f"{tmp_path / 'my.py'}:Words:most=1")
    program = [sys.executable, "-c", AGAIN]
    sent = {"input": pickle.dumps(metric), "capture_output": True, "cwd": tmp_path}
    found = subprocess.run(program, **sent, check=True).stdout.decode()
    assert found.split() == ["Words", "words|1", "1", "1"]
    (tmp_path / "my.py").unlink()
    said = subprocess.run(program, **sent, check=False).stderr.decode()
    assert f"{tmp_path / 'my.py'}: a worker has no such file; put it where" in said


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (GOOD, "Word", "unknown class in .*bad.py 'Word'; did you mean Words"),
        (GOOD, "Other", "bad.py: Other is no Metric; derive it from that"),
        ("x = 1\ny = 1 / 0\n", "Words", "bad.py:2: ZeroDivisionError: division by zero; fix"),
        ("def f(:\n", "Words", "bad.py:1: SyntaxError"),
        ("import not_there_at_all\n", "Words", "bad.py:1: ModuleNotFoundError"),
        (None, "Words", "there is no such file"),
    ],
)
def test_files_that_are_wrong(tmp_path, text, name, message):
    path = tmp_path / "bad.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(TunesmithError, match=message):
        METRICS.create(f"{path}:{name}")


def test_a_broken_plug_in_of_someone_else_is_a_warning(monkeypatch):
    class Entry:
        name, value = "broken", "nowhere:Nothing"

        def load(self):
            raise ImportError("no module named nowhere")

    monkeypatch.setattr("tunesmith.registry.metadata.entry_points", lambda group: [Entry()])
    registry: Registry[Thing] = Registry("thing", "tunesmith.report", "tunesmith.nothing")
    with pytest.warns(UserWarning, match="thing 'broken' of nowhere:Nothing cannot be loaded"):
        assert registry.names() == []


def test_a_name_that_comes_with_us_is_not_taken_over():
    with pytest.raises(UsageError, match="the metric 'bleu' comes with tunesmith"):
        METRICS.register("bleu")(Thing)
    assert METRICS.create("bleu").stat_names[0] == "length"


@pytest.mark.long
def test_a_name_imports_the_file_that_is_called_so_and_no_other() -> None:
    code = """
import sys
from tunesmith.tuners.base import TUNERS
from tunesmith.metrics.base import METRICS
assert TUNERS.get("batch-mira").__name__ == "BatchMIRA"
assert METRICS.create("bleu:order=2").order == 2
assert "tunesmith.tuners.lp_mert" not in sys.modules
assert "tunesmith.metrics.chrf.metric" not in sys.modules
# The others are there as soon as they are asked for, and unknown names are told with all.
assert METRICS.create("sum(bleu,chrf)").name == "sum(bleu,chrf)"
assert "lp-mert" in TUNERS.names()
try:
    METRICS.get("ble")
except Exception as error:
    assert "bleu" in str(error), error
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
