"""``lp-mert`` with restrictions on weights, and limits that are kept."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.helpers.builders import tuning_set
from tests.helpers.tiers import examples
from tunesmith.errors import UsageError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.search.exact import certificate as clock
from tunesmith.tuners.lp_mert import LPMERT

#: Restrictions, and what draws weights that satisfy them.
KINDS = {
    "fix": ({"fix": ("f0=1",)}, lambda v, u: [1.0, v[1], v[2]]),
    "bound": (
        {"bound": ("f0=0.5:2", "f1=0.2:0.9")},
        lambda v, u: [0.5 + 1.5 * u[0], 0.2 + 0.7 * u[1], v[2]],
    ),
    "positive": ({"bound": ("f0=0:", "f1=:0")}, lambda v, u: [abs(v[0]), -abs(v[1]), v[2]]),
    "tie": ({"tie": ("f0=f1",)}, lambda v, u: [v[0], v[0], v[2]]),
    "both": ({"fix": ("f0=1",), "bound": ("f2=-1:0",)}, lambda v, u: [1.0, v[1], -u[2]]),
    "zero": ({"fix": ("f0=0",)}, lambda v, u: [0.0, v[1], v[2]]),
    "together": ({"scale_together": ("f0,f1",)}, lambda v, u: [v[0], 0.5 * v[0], v[2]]),
}
START = {"f0": 1.0, "f1": 0.5, "f2": -0.3}


@pytest.mark.parametrize("kind", KINDS)
def test_no_weights_that_satisfy_restrictions_beat_the_bound(kind):
    options, draw = KINDS[kind]
    for seed in range(examples(40)):
        rng = np.random.default_rng([seed, 6])
        blocks = [rng.standard_normal((6, 3)).tolist() for _ in range(4)]
        tuning = tuning_set(blocks, [rng.random(6).tolist() for _ in range(4)])
        limit = int(rng.choice([1, 5, 10**6]))
        result = LPMERT(test_limit=limit, **options).fit(tuning, START)
        drawn = [draw(3 * rng.standard_normal(3), rng.random(3)) for _ in range(300)]
        scores = [tuning.score(best(tuning.candidates, np.array(one))) for one in drawn]
        proof = result.certificate
        assert max(scores) <= proof["bound"] + 1e-9
        assert "tie" not in proof
        assert proof["within"] == "the restrictions on weights"
        assert proof["optimal"] or limit < 10**6
        check_weights(kind, result.weights)


def check_weights(kind, weights):
    """Hold weights against restrictions as they are written."""
    f0, f1, f2 = (weights[name] for name in ("f0", "f1", "f2"))
    held = {
        "fix": f0 == 1.0,
        "bound": 0.5 <= f0 <= 2.0 and 0.2 <= f1 <= 0.9,
        "positive": f0 >= 0.0 >= f1,
        "tie": f0 == f1,
        "both": f0 == 1.0 and -1.0 <= f2 <= 0.0,
        "zero": f0 == 0.0,
        "together": f1 == pytest.approx(0.5 * f0),
    }
    assert held[kind]


def test_one_weight_between_limits_is_searched_exactly():
    # With f0 fixed at 1 the score changes where f1 makes two candidates equal.
    rng = np.random.default_rng(3)
    for _ in range(10):
        blocks = [rng.standard_normal((6, 2)) for _ in range(5)]
        values = [rng.random(6).tolist() for _ in blocks]
        tuning = tuning_set([block.tolist() for block in blocks], values)
        ties = [-0.5, 2.0]
        for block in blocks:
            for a, b in itertools.combinations(block, 2):
                ties.append((b[0] - a[0]) / (a[1] - b[1]))
        inside = sorted(tie for tie in ties if -0.5 <= tie <= 2.0)
        middles = [0.5 * (a + b) for a, b in itertools.pairwise(inside) if b - a > 1e-4]
        scores = [tuning.score(best(tuning.candidates, np.array([1.0, m]))) for m in middles]
        options = {"fix": ("f0=1",), "bound": ("f1=-0.5:2",)}
        result = LPMERT(**options).fit(tuning, {"f0": 1.0, "f1": 0.0})
        assert result.certificate["optimal"] is True
        assert result.score == pytest.approx(max(scores))


@pytest.mark.parametrize(
    "options",
    [
        {"beam": 10},
        {"beam": 10, "search": "lazy"},
        {"search": "beam", "fix": ("f0=1",)},
        {"cosine": 0.9, "tie": ("f0=f1",)},
    ],
)
def test_options_that_would_be_ignored(options):
    with pytest.raises(UsageError, match="; drop"):
        LPMERT(**options)


def test_a_cosine_is_to_weights_that_are_given():
    tuning = tuning_set([[[0.0, 1.0], [1.0, 0.0]]], [[0.0, 1.0]])
    with pytest.raises(UsageError, match="give --start, or drop --cosine"):
        LPMERT(cosine=0.9).fit(tuning)
    assert LPMERT(cosine=-0.5).fit(tuning).certificate["optimal"] is True


@pytest.mark.parametrize("search", ["cones", "lazy", "beam"])
def test_a_time_is_kept_by_all_that_comes_before(monkeypatch, search):
    # Each look at the clock takes a hundredth of the time, so there are hardly more than that.
    rng = np.random.default_rng(1)
    blocks = [rng.standard_normal((5, 4)).tolist() for _ in range(120)]
    tuning = tuning_set(blocks, [rng.random(5).tolist() for _ in blocks])
    LPMERT(search=search, test_limit=4).fit(tuning, START | {"f3": 1.0})
    begun = clock.working_seconds()
    looks = itertools.count(begun, 0.1)
    monkeypatch.setattr(clock, "working_seconds", looks.__next__)
    result = LPMERT(search=search, time_limit=10.0).fit(tuning, START | {"f3": 1.0})
    # Ranges of a beam look once more each.
    assert next(looks) < begun + (14.0 if search != "beam" else 40.0)
    if search != "beam":
        assert result.certificate["seconds"] < 13.0


def test_memory_of_the_lazy_search(monkeypatch):
    rng = np.random.default_rng(1)
    blocks = [rng.standard_normal((12, 6)).tolist() for _ in range(12)]
    tuning = tuning_set(blocks, [rng.random(12).tolist() for _ in blocks])
    small = LPMERT(search="lazy", test_limit=5000, memory_limit=2.0).fit(tuning)
    large = LPMERT(search="lazy", test_limit=5000).fit(tuning)
    assert small.certificate["tested"] < large.certificate["tested"]
    assert small.certificate["bound"] >= large.certificate["bound"]
