"""Progress bars of notebooks: what they show, when, and that they leave nothing behind."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from tunesmith import notebook
from tunesmith.notebook import NotebookBars, notebook_bars, with_bars
from tunesmith.progress import is_shown, progress, shown_by


@pytest.fixture
def kernel(monkeypatch):
    """A notebook's kernel that keeps what is displayed."""
    shown: list[str] = []
    module, display = ModuleType("IPython"), ModuleType("IPython.display")
    module.get_ipython = lambda: SimpleNamespace(kernel=object())
    display.HTML = str
    handle = SimpleNamespace(update=shown.append)
    display.display = lambda text, display_id: (shown.append(text), handle)[1]
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    clock = [100.0]
    monkeypatch.setattr(notebook.time, "monotonic", lambda: clock[0])
    return SimpleNamespace(shown=shown, clock=clock, module=module)


def test_bars_come_after_a_second_and_go_at_the_end(kernel):
    with notebook_bars():
        progress("tuning", 1, 10)
        assert kernel.shown == []
        kernel.clock[0] += 9.0
        progress("tuning", 3, 10, "<best> 41.2")
        (drawn,) = kernel.shown
        assert '<progress value="3" max="10"' in drawn
        assert "tuning, 3 of 10, 0:00:21 left, &lt;best&gt; 41.2" in drawn
        kernel.clock[0] += 0.1
        progress("tuning", 4, 10)  # too soon to draw again
        assert len(kernel.shown) == 1
        kernel.clock[0] += 1.0
        progress("tuning", 10, 10)
        progress("evaluating", 0, None)
        kernel.clock[0] += 1.0
        progress("evaluating", 0, None)
        assert "tuning" not in kernel.shown[-1]
        assert "<progress aria-label" in kernel.shown[-1]
    assert kernel.shown[-1] == ""
    assert not is_shown()


def test_bars_within_bars_are_those_without(kernel):
    seen = []
    with shown_by(lambda *step: seen.append(step)):
        with_bars(lambda: progress("inner", 1, 2))()
    assert seen == [("inner", 1, 2, "")]
    assert kernel.shown == []


def test_elsewhere_nothing_is_shown(kernel):
    kernel.module.get_ipython = lambda: None  # IPython is imported, and no kernel runs
    with notebook_bars():
        assert not is_shown()


def test_nothing_is_left_of_a_step_that_failed(kernel):
    def fails():
        progress("tuning", 1, 10)
        kernel.clock[0] += 2.0
        progress("tuning", 2, 10)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        with_bars(fails)()
    assert kernel.shown[-1] == ""
    assert not is_shown()


def test_bars_are_valid_markup():
    bars = NotebookBars()
    bars("a & b", 0, 0, "")
    assert bars.markup(0.0) == '<div><progress aria-label="progress"></progress> a &amp; b</div>'
