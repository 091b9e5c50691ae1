"""Which engine a user means, and what is said of what no engine can be."""

from __future__ import annotations

import sys

import pytest

from tunesmith.errors import MissingExtraError, UnknownNameError, UsageError
from tunesmith.parallel.choice import ENGINES, engine_of
from tunesmith.parallel.engine import current_engine, working_on
from tunesmith.parallel.local import threads
from tunesmith.parallel.remote.processes import ProcessEngine


def test_threads_are_an_engine_like_any_other():
    with threads(3), engine_of() as engine, working_on(engine):
        assert current_engine() is engine
        assert (engine.name, engine.workers) == ("threads", 3)


@pytest.mark.parametrize(("given", "expected"), [(None, 3), (5, 5)])
def test_processes_are_as_many_as_threads_unless_told(given, expected):
    with threads(3):
        engine = engine_of("processes", given, timeout=7.0)
    assert isinstance(engine, ProcessEngine)
    assert (engine.workers, engine.timeout) == (expected, 7.0)
    engine.close()


def test_an_unknown_engine_has_its_nearest_names():
    with pytest.raises(UnknownNameError, match="unknown engine 'process'; did you mean processes"):
        engine_of("process")
    with pytest.raises(UnknownNameError, match=" or ".join(sorted(ENGINES))):
        engine_of("zzz")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("threads", 2), "the engine threads has no workers; give --threads N"),
        (("threads", None, "a:1"), "the engine threads has no address; give --engine ray"),
        (("processes", 2, "a:1"), "the engine processes has no address; give --engine ray"),
        (("processes", 0), "workers is 0; give 1 or more"),
        (("ray", -1), "workers is -1; give 1 or more"),
        (("processes", 1, None, 0.0), "timeout is 0; give more than 0 seconds"),
        (("processes", 1, None, float("nan")), "timeout is nan; give more than 0 seconds"),
        (("ray", 1, None, -2.0), "timeout is -2; give more than 0 seconds"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, message):
    with pytest.raises(UsageError) as caught:
        engine_of(*arguments)
    assert str(caught.value).startswith(message)


def test_ray_that_is_not_installed_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tunesmith\[ray\]'"):
        engine_of("ray", 1)
