from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.search.restrictions import broken, one_factor, random_restrictions
from tests.helpers.tiers import examples
from tunesmith.errors import UsageError
from tunesmith.inference.hypotheses import Direction
from tunesmith.search.space.constraints import Constraints
from tunesmith.search.space.space import Space

NAMES = ("LM0", "WP", "TM_1", "TM_2", "TM_3")
START = np.array([0.5, -1.0, 0.2, 0.3, 0.7])


def space(**options):
    return Space.of(NAMES, START, Constraints.parse(**options))


def random_space(seed):
    rng = np.random.default_rng(seed)
    names = [f"f{d}" for d in range(rng.integers(1, 8))]
    start = {name: float(rng.choice([0.0, 1.0, rng.normal()])) for name in names}
    held = random_restrictions(rng, start)
    built = Space.of(names, np.array(list(start.values())), Constraints.parse(**held.options()))
    return rng, start, held, built


@settings(max_examples=examples(500))
@given(st.integers(0, 2**32 - 1))
def test_any_weights_are_made_to_satisfy_everything(seed):
    rng, start, held, built = random_space(seed)
    for scale in (1e-3, 1.0, 1e4):
        weights = scale * rng.standard_normal(len(start))
        for made in (built.exact(weights), built.inside(weights)):
            assert broken(dict(zip(start, made, strict=True)), start, held) == []
            assert built.exact(made).tobytes() == made.tobytes()


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32 - 1))
def test_steps_within_the_limits_need_no_more_than_rounding(seed):
    rng, start, _, built = random_space(seed)
    weights = built.inside(rng.standard_normal(len(start)))
    drawn = rng.standard_normal(built.variables)
    for direction in (
        *built.coordinates(),
        built.direction(drawn, "any"),
        built.direction(built.inward(drawn, weights), "inward"),
    ):
        low, high = built.limits(weights, direction)
        assert low <= 0.0 <= high
        for step in (max(low, -3.0), min(high, 3.0)):
            moved = weights + step * direction.vector(len(weights))
            assert built.exact(moved) == pytest.approx(moved, rel=1e-12, abs=1e-12)
    assert len(built.coordinates()) == built.variables


@given(st.integers(0, 2**32 - 1))
def test_the_limits_are_the_farthest_steps(seed):
    rng, start, held, built = random_space(seed)
    weights = built.inside(rng.standard_normal(len(start)))
    direction = built.direction(rng.standard_normal(built.variables), "any")
    low, high = built.limits(weights, direction)
    for limit in (low, high):
        if np.isfinite(limit):
            beyond = weights + (limit + np.sign(limit) * 1e-6) * direction.vector(len(weights))
            if limit != 0.0:
                assert broken(dict(zip(start, beyond, strict=True)), start, held) != []


def test_nothing_restricted_changes_nothing():
    free = Space.free(NAMES)
    weights = np.array([-0.0, 1.0, 2.0, 3.0, 4.0])
    assert free.exact(weights) is weights
    assert free.inside(weights) is weights
    assert free.sizes(weights) is weights
    assert free.limits(weights, Direction.along(0, "LM0")) == (-np.inf, np.inf)
    assert [(d.label, d.features.tolist(), d.values.tolist()) for d in free.coordinates()] == [
        (name, [k], [1.0]) for k, name in enumerate(NAMES)
    ]
    assert space().is_free
    assert not free.pins_scale


def test_directions_of_what_moves_together():
    built = space(fix=["WP=-1"], tie=["LM0=TM_1"], scale_together=["TM_2,TM_3"])
    found = [(d.label, d.features.tolist(), d.values.tolist()) for d in built.coordinates()]
    assert found == [("LM0=TM_1", [0, 2], [1.0, 1.0]), ("TM_2,TM_3", [3, 4], [0.3, 0.7])]
    assert built.variables == 2
    sizes = built.sizes(np.array([3.0, 9.0, 4.0, 10.0, 1.0]))
    assert sizes == pytest.approx([5.0, np.hypot(3.0, 0.7)])


def test_the_nearest_weights():
    weights = np.array([0.5, 3.0, 1.0, 2.0, 9.0])
    assert space(fix=["WP=2"]).exact(weights).tolist() == [0.5, 2.0, 1.0, 2.0, 9.0]
    assert space(bound=["WP=:0"]).exact(weights).tolist() == [0.5, 0.0, 1.0, 2.0, 9.0]
    assert space(tie=["TM_1=TM_2=TM_3"]).exact(weights).tolist() == [0.5, 3.0, 4.0, 4.0, 4.0]
    # Of s (0.2, 0.3) to (1, 2): s = (0.2 + 0.6) / 0.13.
    found = space(scale_together=["TM_1,TM_2"]).exact(weights)
    assert found[2:4] == pytest.approx([0.2 * 0.8 / 0.13, 0.3 * 0.8 / 0.13])


def test_drawn_weights_are_mirrored_rather_than_put_on_the_limit():
    weights = np.array([0.5, 3.0, -0.25, 2.75, -1.5])
    built = space(bound=["WP=:0", "TM_1=0:", "TM_2=0:1", "TM_3=0:1"])
    assert built.inside(weights).tolist() == [0.5, -3.0, 0.25, 0.75, 0.5]


def test_a_limit_of_a_group_is_one_of_its_scale():
    built = space(scale_together=["LM0,WP"], bound=["WP=-3:"])
    along = built.coordinates()[0]
    assert built.limits(START, along) == (-np.inf, 2.0)
    assert built.exact(9 * START)[:2].tolist() == [1.5, -3.0]


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(-10, -0.1) | st.floats(0.1, 10))
def test_a_group_at_its_limit_is_within_it_to_the_last_bit(limit, first, second):
    start = np.array([first, second])
    held = Constraints.parse(scale_together=["a,b"], bound=[f"a=:{limit!r}"])
    built = Space.of(("a", "b"), start, held)
    weights = built.exact(1e3 * start)
    assert weights[0] <= limit
    assert weights[0] == pytest.approx(limit, rel=1e-15)
    assert one_factor(list(zip(weights.tolist(), start.tolist(), strict=True)))


def test_from_a_limit_a_drawn_direction_leads_inside():
    built = space(bound=["LM0=0:", "WP=:0", "TM_1=0:1"])
    weights = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    drawn = np.array([-1.0, 2.0, 3.0, -4.0, 5.0])
    assert built.inward(drawn, weights).tolist() == [1.0, -2.0, -3.0, -4.0, 5.0]


@pytest.mark.parametrize(
    ("options", "pinned"),
    [
        ({"fix": ["WP=0"]}, False),
        ({"fix": ["WP=-1"]}, True),
        ({"bound": ["WP=:0", "LM0=0:"]}, False),
        ({"bound": ["WP=:1"]}, True),
        ({"bound": ["WP=0:1"]}, True),
        ({"tie": ["WP=LM0"]}, False),
        ({"tie": ["WP=LM0"], "fix": ["LM0=1"]}, True),
        ({"scale_together": ["WP,LM0"]}, False),
        ({"scale_together": ["WP,LM0"], "bound": ["WP=:0"]}, False),
    ],
)
def test_what_pins_the_scale(options, pinned):
    assert space(**options).pins_scale is pinned


def test_constants():
    built = space(fix=["WP=-1"], bound=["TM_1=2:2"], tie=["WP=LM0"])
    assert [built.constant(name) for name in NAMES] == [-1.0, -1.0, 2.0, None, None]
    assert built.exact(np.zeros(5)).tolist() == [-1.0, -1.0, 2.0, 0.0, 0.0]


def test_names_may_contain_the_signs():
    names = ("a=b", "c,d", "a", "b:c")
    held = Constraints.parse(fix=["a=b=2"], tie=["a=b:c"], bound=["b:c=0:"])
    built = Space.of(names, np.ones(4), held)
    assert built.constant("a=b") == 2.0
    assert [d.label for d in built.coordinates()] == ["c,d", "a=b:c"]
    group = Space.of(names, np.ones(4), Constraints.parse(scale_together=["c,d,a=b"]))
    assert [d.features.tolist() for d in group.coordinates()] == [[0, 1], [2], [3]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fix": ["LM0"]}, "no name and value; write NAME=1"),
        ({"fix": ["LM0=x"]}, "'x' in fix 'LM0=x' is not a number"),
        ({"fix": ["LM0=inf"]}, "give a finite one"),
        ({"fix": ["=1"]}, "no name and value"),
        ({"fix": ["LMO=1"]}, "no feature is called 'LMO' .fix.; did you mean LM0"),
        ({"bound": ["LM0=1"]}, "no name and range"),
        ({"bound": ["LM0=:"]}, "open on both sides"),
        ({"bound": ["LM0=1:0"]}, "holds no number"),
        ({"bound": ["LM0=a:"]}, "'a' in bound 'LM0=a:' is not a number"),
        ({"bound": ["TM=0:"]}, "did you mean TM_3 or TM_2 or TM_1"),
        ({"bound": ["LM0=:0", "LM0=1:"]}, "bounds of LM0 exclude each other"),
        ({"tie": ["LM0"]}, "no two names; write A=B"),
        ({"tie": ["LM0="]}, "no two names"),
        ({"tie": ["LM0=LM0"]}, "a name twice"),
        ({"tie": ["LM0=WPP"]}, "no feature is called 'WPP' .tie."),
        ({"scale_together": ["LM0"]}, "no two names; write A,B"),
        ({"scale_together": ["LM0,X"]}, "no feature is called 'X' .scale-together."),
        ({"fix": ["LM0=1", "LM0=2"]}, "fixed at 1 and at 2"),
        ({"fix": ["LM0=2"], "bound": ["LM0=0:1"]}, "fixed at 2 and bound to 0:1"),
        ({"fix": ["LM0=1", "WP=2"], "tie": ["LM0=WP"]}, "fixed at 1 and 2"),
        ({"fix": ["LM0=1"], "bound": ["WP=:0"], "tie": ["LM0=WP"]}, "fixed at 1 and bound to :0"),
        ({"bound": ["LM0=1:", "WP=:0"], "tie": ["LM0=WP"]}, "no value of tie 'LM0=WP' is within"),
        (
            {"tie": ["LM0=WP", "WP=TM_1"], "fix": ["LM0=1", "TM_1=0"]},
            "tie 'LM0=WP=TM_1' joins weights that are fixed at 0 and 1",
        ),
        ({"fix": ["LM0=1"], "scale_together": ["LM0,WP"]}, "scale-together 'LM0,WP' and fixed"),
        ({"tie": ["LM0=TM_1"], "scale_together": ["LM0,WP"]}, "scale-together 'LM0,WP' and tied"),
        ({"scale_together": ["LM0,WP", "WP,TM_1"]}, "in a group already"),
        ({"scale_together": ["LM0,LM0"]}, "in a group already"),
        (
            {"bound": ["LM0=1:", "WP=0:"], "scale_together": ["LM0,WP"]},
            "no value of scale-together",
        ),
        ({"fix": [f"{name}=1" for name in NAMES]}, "nothing is left to tune"),
        ({"fix": ["LM0=1"], "tie": ["=".join(NAMES)]}, "nothing is left to tune"),
    ],
)
def test_contradictions(options, said):
    with pytest.raises(UsageError, match=said) as caught:
        space(**options)
    assert "\n" not in str(caught.value)
    assert ";" in str(caught.value)


def test_groups_that_start_at_0():
    names, start = ("a", "b", "c"), np.array([0.0, 0.0, 1.0])
    with pytest.raises(UsageError, match="all start at 0"):
        Space.of(names, start, Constraints.parse(scale_together=["a,b"]))
    with pytest.raises(UsageError, match="b starts at 0"):
        Space.of(names, start, Constraints.parse(scale_together=["b,c"], bound=["b=1:"]))
    built = Space.of(names, start, Constraints.parse(scale_together=["b,c"]))
    assert built.coordinates()[1].features.tolist() == [2]
    assert built.exact(np.array([1.0, 5.0, -3.0])).tolist() == [1.0, 0.0, -3.0]


def test_thousands_of_features_are_no_trouble_to_an_error():
    names = [f"lex_{k}" for k in range(5000)]
    with pytest.raises(UsageError) as caught:
        Space.of(names, np.ones(5000), Constraints.parse(fix=["something else entirely=1"]))
    assert len(str(caught.value)) < 200
