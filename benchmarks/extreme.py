"""Whether a choice of candidates is attainable: our test against linear programs.

A real search over cones at S = 8 is run with every test of it recorded: the choice, and the
state that the test went on from. Some of them, drawn at random, are then tested again by

- ours as the search does it, from the state of the node above (warm), and from nothing (cold);
- HiGHS (``pip install highspy``), one linear program over all rows: max ε with
  w·(h_chosen − h_other) ≥ ε and −1 ≤ w ≤ 1; by simplex, by interior point as in the paper, and
  its dual, which has few rows and many columns. The model is handed over as arrays;
- ``scipy.optimize.linprog``, which is HiGHS too, for reference.

The margin ε of the box and ours, ε₂ of the ball, have ε₂ ≤ ε ≤ √D ε₂. So an ε from τ to √D τ
decides nothing: verdicts there are counted, and all others must agree.
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

import tunesmith as ts
from common import arguments
from tunesmith._version import __version__
from tunesmith.arrays import Floats, Ints
from tunesmith.kernels import kernel
from tunesmith.parallel.local import available_threads
from tunesmith.search.exact.active_set import FEASIBLE, reset
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.cones import dive as dives
from tunesmith.search.exact.cones import search as cones
from tunesmith.search.exact.cones.search import ConeSearch
from tunesmith.search.exact.extreme import BAND, TOLERANCE, Tester, examine, new_state, owners
from tunesmith.search.exact.incumbent import incumbents
from tunesmith.search.exact.problem import Problem

#: Lists, and their references.
SETS = {
    "catalogs-nbest/tune": ("catalogs-nbest/tune.nbest.gz", "catalogs-nbest/tune.ref"),
    "m30k-de-en/run5": ("m30k-de-en/run5.nbest.gz", "m30k-de-en/val.ref"),
}
#: HiGHS: what rows and reduced costs may be off by, and so about its ε.
LP_TOLERANCE, LP_ERROR = 1e-9, 1e-8


@dataclass(frozen=True)
class Met:
    """A choice that a search tested, and the state from which it did."""

    problem: Problem
    order: Ints
    chosen: Ints
    state: tuple[np.ndarray, ...]

    def rows(self) -> Floats:
        """Return h_chosen − h_other for all others of the groups that count, but for kin."""
        problem, parts = self.problem, []
        for group in self.order:
            block = problem.block(group)
            own = self.chosen[group] - problem.start[group]
            kin = problem.kin[problem.start[group] : problem.start[group + 1]]
            others = (kin != kin[own]) | (kin < 0)
            others[own] = False
            parts.append((block[:, [own]] - block[:, others]).T)
        return np.concatenate(parts)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--sentences", type=int, default=8)
    parser.add_argument("--searches", type=int, default=20, help="searches recorded, of each set")
    parser.add_argument("--choices", type=int, default=1100, help="choices tested, of each set")
    parser.add_argument("--slow", type=int, default=200, help="choices for the slower programs")
    parser.set_defaults(repetitions=25, threads=1)
    options = parser.parse_args()
    if options.data is None:
        parser.error("set TUNESMITH_SHARED_DATA or give --data")
    print(
        f"tunesmith {__version__}; {platform.machine()}, {available_threads()} cores, one thread; "
        f"choice after choice in all ways, ours {options.repetitions} times in a row"
    )
    with ts.threads(1):
        for name, (lists, references) in SETS.items():
            folder = options.data.parent
            print(f"\n{name}, S = {options.sentences}")
            measure(options, read(folder / lists, folder / references))


def read(lists: Path, references: Path) -> Problem:
    """Return all sentences of some lists, under sentence BLEU."""
    return Problem.of(ts.TuningSet(ts.read(lists, references=[references]), "sentence-bleu"))


def measure(options: argparse.Namespace, whole: Problem) -> None:
    """Record searches, draw choices, test them in every way, and compare."""
    rng = np.random.default_rng(1)
    picked = [rng.permutation(whole.size)[: options.sentences] for _ in range(options.searches)]
    parts = [whole.part(groups) for groups in picked]
    search(parts[0])  # kernels are compiled
    met: list[Met] = []
    for part in parts:
        with recording(part, met):
            search(part)
    totals = [search(part) for part in parts]
    tests = sum(count for _, count in totals)
    if tests != len(met):
        raise SystemExit(f"{tests} tests in the searches, but {len(met)} when recorded")
    drawn = [met[i] for i in rng.permutation(len(met))[: options.choices]]
    sizes = [sum(np.diff(one.problem.start)[one.order] - 1) for one in drawn]
    depths = [len(one.order) for one in drawn]
    print(
        f"{len(met)} tests in {options.searches} searches, {len(drawn)} of them drawn; rows "
        f"{np.median(sizes):.0f}, groups chosen {np.median(depths):.0f} in the median"
    )
    ours, programs = Ours(options.repetitions), Programs(options.slow)
    for one in drawn:
        ours.test(one)
        programs.test(one)
    searches = [taken / count for taken, count in totals]
    show(ours.seconds | {"a whole search / its tests": searches}, programs)
    compare(drawn, ours.verdicts, np.array(programs.margins))


def search(problem: Problem) -> tuple[float, int]:
    """Search to the end; return the seconds of the tree, and its tests."""
    known = incumbents(problem, TOLERANCE, np.random.default_rng(1))
    tree = ConeSearch(problem, known=known)
    begun = time.perf_counter()
    tree.run(SearchLimits(60.0))
    return time.perf_counter() - begun, tree.tested


@contextlib.contextmanager
def recording(problem: Problem, met: list[Met]) -> Iterator[None]:
    """Have every test of a search noted: the steps down to a test run interpreted."""
    patched = ("_examine", "_examine_child", "_evaluate")
    before = {name: getattr(dives, name) for name in patched}
    compiled, whole = before["_examine"], cones.dive

    def note(lists, tree, order, scores, witness, blame):
        parts = tree.vectors, tree.bases, tree.factors, tree.forces, tree.rows, tree.counts
        state = tuple(part[-1].copy() for part in parts)
        met.append(Met(problem, order.copy(), tree.chosen.copy(), state))
        return compiled(lists, tree, order, scores, witness, blame)

    dives._examine = note
    for name in patched[1:]:
        setattr(dives, name, before[name].py_func)
    cones.dive = whole.py_func
    try:
        yield
    finally:
        cones.dive = whole
        for name in patched:
            setattr(dives, name, before[name])


@kernel
def _again(
    points, start, kin, owner, order, chosen, state, work, scores, witness, blame, aim, warm, times
):
    """Test a choice so many times, from a state or from nothing; return the last answer."""
    found = 0
    vector, basis, factor, forces, rows, count = work
    for _ in range(times):
        if warm:
            vector[:] = state[0]
            basis[:] = state[1]
            factor[:] = state[2]
            forces[:] = state[3]
            rows[:] = state[4]
            count[:] = state[5]
        else:
            reset(vector, aim, basis, count)
        found = examine(
            points, start, kin, owner, order, chosen, TOLERANCE, aim, -1.0,
            vector, basis, factor, forces, rows, count, scores, witness, blame,
        )  # fmt: skip
    return found


class Ours:
    """Our test of choices, in all ways; keeps the seconds of each, and the verdicts."""

    def __init__(self, times: int) -> None:
        self.times = times
        names = "warm", "cold", "cold, Tester.test"
        self.seconds: dict[str, list[float]] = {name: [] for name in names}
        self.verdicts: list[bool] = []
        self._testers: dict[int, Tester] = {}

    def test(self, one: Met) -> None:
        """Test a choice in every way."""
        problem, size = one.problem, one.problem.dimensions
        scores = np.empty(int(np.diff(problem.start).max()))
        room = scores, np.empty(size), np.zeros(problem.size, np.uint8), np.zeros(size)
        lists = problem.points, problem.start, problem.kin, owners(problem)
        about = *lists, one.order, one.chosen, one.state
        found = []
        for name, warm in (("warm", True), ("cold", False)):
            _again(*about, new_state(size), *room, warm, 1)
            begun = time.perf_counter()
            found.append(_again(*about, new_state(size), *room, warm, self.times) == FEASIBLE)
            self.seconds[name].append((time.perf_counter() - begun) / self.times)
        tester = self._testers.setdefault(id(problem), Tester(problem))
        begun = time.perf_counter()
        found.append(tester.test(one.chosen, one.order).attainable)
        self.seconds["cold, Tester.test"].append(time.perf_counter() - begun)
        if len(set(found)) > 1:
            raise SystemExit("our own answers differ")
        self.verdicts.append(found[0])


class Programs:
    """Linear programs, solved in several ways; keeps their seconds, and the margins."""

    def __init__(self, slow: int) -> None:
        self._slow = slow
        self._ways: dict[str, Callable[[Floats], tuple[float, float]]] = {
            "simplex": Program("simplex", presolve=False).solve,
            "simplex, presolve": Program("simplex", presolve=True).solve,
            "interior point": Program("ipm", presolve=False).solve,
            "simplex on the dual": Program("simplex", presolve=False, dual=True).solve,
            "linprog": _linprog,
        }
        self.solving: dict[str, list[float]] = {name: [] for name in self._ways}
        self.whole: dict[str, list[float]] = {name: [] for name in self._ways}
        self.margins: list[float] = []

    def test(self, one: Met) -> None:
        """Solve the program of a choice: by simplex, and the first few in the other ways too."""
        few = len(self.margins) < self._slow
        for name, way in self._ways.items():
            if not few and name != "simplex":
                continue
            begun = time.perf_counter()
            margin, inside = way(one.rows())
            self.whole[name].append(time.perf_counter() - begun)
            self.solving[name].append(inside)
            if name == "simplex":
                self.margins.append(margin)
            elif abs(margin - self.margins[-1]) > 1e-5 * max(1.0, margin):
                raise SystemExit(f"{name} finds {margin:g}, simplex {self.margins[-1]:g}")


class Program:
    """The linear program of a choice, solved by HiGHS."""

    def __init__(self, solver: str, presolve: bool, dual: bool = False) -> None:
        try:
            import highspy
        except ImportError:
            raise SystemExit("this benchmark needs HiGHS; pip install highspy") from None
        self.dual = dual
        self._highs = highspy.Highs()
        self._rowwise = int(highspy.MatrixFormat.kRowwise)
        self._columnwise = int(highspy.MatrixFormat.kColwise)
        settings = {
            "output_flag": False,
            "threads": 1,
            "solver": solver,
            "presolve": "on" if presolve else "off",
            "primal_feasibility_tolerance": LP_TOLERANCE,
            "dual_feasibility_tolerance": LP_TOLERANCE,
        }
        for name, value in settings.items():
            self._highs.setOptionValue(name, value)

    def solve(self, rows: Floats) -> tuple[float, float]:
        """Return the margin, and the seconds of solving alone."""
        (self._pass_dual if self.dual else self._pass)(rows)
        begun = time.perf_counter()
        self._highs.run()
        taken = time.perf_counter() - begun
        return abs(self._highs.getInfo().objective_function_value), taken

    def _pass(self, rows: Floats) -> None:
        """Max ε where ε − w·n ≤ 0 and −1 ≤ w ≤ 1: a row for each other point."""
        many, size = rows.shape
        matrix = np.empty((many, size + 1))
        np.negative(rows, out=matrix[:, :size])
        matrix[:, size] = 1.0
        ones = np.ones(size)
        self._hand_over(
            matrix, self._rowwise, np.append(np.zeros(size), -1.0),
            np.append(-ones, 0.0), np.append(ones, np.inf),
            np.full(many, -np.inf), np.zeros(many),
        )  # fmt: skip

    def _pass_dual(self, rows: Floats) -> None:
        """Min Σ p + q where Σ yᵢnᵢ = p − q, Σ y = 1 and all are at least 0."""
        many, size = rows.shape
        matrix = np.zeros((many + 2 * size, size + 1))
        matrix[:many, :size] = rows
        matrix[:many, size] = 1.0
        matrix[many : many + size, :size] = -np.eye(size)
        matrix[many + size :, :size] = np.eye(size)
        columns = len(matrix)
        right = np.append(np.zeros(size), 1.0)
        self._hand_over(
            matrix, self._columnwise, np.append(np.zeros(many), np.ones(2 * size)),
            np.zeros(columns), np.full(columns, np.inf), right, right,
        )  # fmt: skip

    def _hand_over(
        self,
        matrix: Floats,
        layout: int,
        cost: Floats,
        least: Floats,
        most: Floats,
        low: Floats,
        high: Floats,
    ) -> None:
        outer, inner = matrix.shape
        self._highs.passModel(
            len(cost), len(low), matrix.size, layout, 1, 0.0, cost, least, most, low, high,
            np.arange(0, matrix.size, inner, dtype=np.int32),
            np.tile(np.arange(inner, dtype=np.int32), outer),
            matrix.ravel(), np.zeros(len(cost), np.int32),
        )  # fmt: skip


def _linprog(rows: Floats) -> tuple[float, float]:
    many, size = rows.shape
    matrix = np.hstack([-rows, np.ones((many, 1))])
    cost = np.append(np.zeros(size), -1.0)
    bounds = [(-1.0, 1.0)] * size + [(0.0, None)]
    begun = time.perf_counter()
    found = linprog(cost, A_ub=matrix, b_ub=np.zeros(many), bounds=bounds)
    return -float(found.fun), time.perf_counter() - begun


def show(seconds: dict[str, list[float]], programs: Programs) -> None:
    """Print medians and means, and how many times as long linear programs take."""
    solving, whole = programs.solving["simplex"], programs.whole["simplex"]
    dual = programs.solving["simplex on the dual"]
    print(f"{'':32} {'median':>8} {'mean':>8}   median of HiGHS simplex over it, with the")
    print(f"{'':52}model, and of the dual over it")
    for name, taken in seconds.items():
        middle = np.median(taken)
        ratios = (np.median(other) / middle for other in (solving, whole, dual))
        print(
            f"ours, {name:26} {1e6 * middle:5.1f} µs {1e6 * np.mean(taken):5.1f} µs",
            *(f"{ratio:8.0f}" for ratio in ratios),
        )
    # Each choice against itself: not all are equally hard.
    for name in ("warm", "cold"):
        ratios = np.array(solving) / np.array(seconds[name])
        print(f"ours, {name}, choice by choice: median ratio {np.median(ratios):.0f}")
    for name, taken in programs.solving.items():
        print(
            f"HiGHS, {name:25} {1e6 * np.median(taken):5.0f} µs {1e6 * np.mean(taken):5.0f} µs; "
            f"with the model {1e6 * np.median(programs.whole[name]):.0f} µs ({len(taken)} choices)"
        )


def compare(drawn: list[Met], verdicts: list[bool], margins: Floats) -> None:
    """Print how many verdicts agree; outside the band all must."""
    size = drawn[0].problem.dimensions
    low = TOLERANCE * (1.0 - BAND) - LP_ERROR
    high = np.sqrt(size) * TOLERANCE * (1.0 + BAND) + LP_ERROR
    inside = (margins >= low) & (margins <= high)
    differ = (np.array(verdicts) != (margins > high)) & ~inside
    print(
        f"verdicts: {sum(verdicts)} of {len(drawn)} attainable; {inside.sum()} margins within "
        f"{low:.3g} to {high:.3g}; of the others {differ.sum()} differ"
    )
    if differ.any():
        raise SystemExit(f"margins of those that differ: {margins[differ]}")


if __name__ == "__main__":
    main()
