"""Tuning on shards leads where tuning on all lists in one place does, to the last bit."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tunesmith as ts
from tests.helpers.inference.parts import equal_bits, whole_and_shards, write_parts
from tests.helpers.parallel import engine_work
from tests.helpers.parallel.losing import LosingEngine
from tests.helpers.parallel.ray_cluster import SETTINGS
from tests.helpers.waiting import PATIENCE
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.io.reading import Reading
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.parallel.choice import engine_of
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.threads import ThreadEngine
from tunesmith.tasks.lists import TuningSet
from tunesmith.tasks.shards import ShardedLists
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.pro import training_pairs
from tunesmith.tuners.pro.acceptance import ACCEPTANCES, Greatest
from tunesmith.tuners.pro.gathering import Describer, gather
from tunesmith.tuners.pro.pro import PRO
from tunesmith.tuners.pro.training_pairs import ShardedPairs

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

#: What a result says that may differ: what it took.
TIMES = {"seconds"}
#: Options of MERT that ask for lines and points alone.
OPTIONS = {
    "coordinate": {},
    "without-axes": {"axes": False},
    "powell": {"directions": "powell"},
    "random": {"directions": "random"},
    "mean": {"smoothing": "mean"},
    "min": {"smoothing": "min"},
    "l2-normalized": {"penalty": "l2-normalized", "strength": (0.001,)},
    "l0": {"penalty": "l0", "strength": (0.001,)},
    "non-negative": {"non_negative": True},
    "sum-to-one": {"sum_to_one": True, "non_negative": True},
    "bound": {"bound": ("D0_1=-0.5:0.5",)},
    "tie": {"tie": ("D0_1=D0_2",)},
    "fix": {"fix": ("D0_3=1",)},
    "core": {"penalty": "l2-prior", "strength": (0.01,), "core": ("D0_*",)},
    "length-scale": {"length_scale": (1.02,)},
}
#: Options of PRO with which shards find their own pairs.
PRO_OPTIONS = {
    "usual": {},
    "few-pairs": {"sample": "uniform:pairs=4", "iterations": 3, "interpolation": 0.5},
    "all": {"select": ("all",), "accept": "all", "iterations": 2},
    "outliers": {"select": ("outliers", "outliers:of=length"), "accept": "greatest:pairs=3"},
    "bleu+1": {"objective": ("bleu+1",), "learn": "hinge"},
    "metric": {"objective": ("metric",), "select": ("all",)},
    "non-negative": {"non_negative": True},
    "tie": {"tie": ("D0_1=D0_2",), "pick": "best"},
}


def said(result):
    """Return all that a result says, but for what it took."""
    fields = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
    return {name: value for name, value in fields.items() if name not in TIMES}


@pytest.mark.parametrize("name", OPTIONS)
def test_tuning_is_the_same(name, tmp_path):
    tuner = MERT(restarts=1, walks=0, **OPTIONS[name])
    whole, shards, _ = whole_and_shards(tmp_path, 1, parts=3)
    assert said(tuner.fit(shards, rng=3)) == said(tuner.fit(whole, rng=3))


@pytest.mark.long
@pytest.mark.parametrize("name", OPTIONS)
def test_tuning_is_the_same_with_other_lists(name, tmp_path):
    tuner = MERT(restarts=5, walks=1, **OPTIONS[name])
    for seed in range(6):
        whole, shards, _ = whole_and_shards(tmp_path, seed, groups=12)
        assert said(tuner.fit(shards, rng=seed)) == said(tuner.fit(whole, rng=seed))


@pytest.mark.parametrize("metric", ["bleu", "ter", "chrf", "wer"])
def test_all_metrics_that_count_are_the_same(metric, tmp_path):
    tuner = MERT(restarts=0, walks=0)
    whole, shards, _ = whole_and_shards(tmp_path, 4, metric=metric, parts=2)
    others = ["ter", "bleu"]
    ours, theirs = (tuner.fit(task, others=others) for task in (whole, shards))
    assert said(theirs) == said(ours)


def test_features_that_are_kept_runs_and_starts_are_the_same(tmp_path):
    whole, shards, _ = whole_and_shards(tmp_path, 7, parts=3, groups=9)
    tuner = MERT(restarts=1, walks=0)
    options = {"drop": ["D0_2", "s1"], "runs": 2, "combine": "average"}
    begin = {"D0_1": 1.0, "D0_3": -0.5, "s2": 0.25}
    for start in (None, begin):
        ours, theirs = (tuner.fit(task, start, rng=2, **options) for task in (whole, shards))
        assert said(theirs) == said(ours)


def test_a_test_set_in_one_place_is_scored_alike(tmp_path):
    whole, shards, _ = whole_and_shards(tmp_path, 7, parts=3)
    test, _, _ = whole_and_shards(tmp_path, 8)
    tuner = MERT(restarts=0, walks=0)
    ours, theirs = (tuner.fit(task, test=test) for task in (whole, shards))
    assert theirs.verdict.on == "test"
    assert said(theirs) == said(ours)


def test_a_run_that_loses_shards_is_the_same(tmp_path):
    engine = LosingEngine(17)
    whole, shards, _ = whole_and_shards(tmp_path, 6, engine, parts=3)
    tuner = MERT(restarts=2, walks=1)
    assert said(tuner.fit(shards, rng=1)) == said(tuner.fit(whole, rng=1))
    assert engine.lost > 5


@pytest.mark.parametrize("worst", [False, True])
def test_the_oracle_is_the_same_though_shards_are_lost(worst, tmp_path):
    engine = LosingEngine(10**9)
    whole, shards, rng = whole_and_shards(tmp_path, 9, engine, parts=3, groups=12)
    weights = rng.standard_normal(len(whole.names))
    ours = whole.oracle_at(weights, worst)
    assert shards.oracle_at(weights, worst) == ours
    engine.every = 19
    assert shards.oracle_at(weights, worst) == ours
    assert engine.lost


def test_winners_are_those_of_the_whole(tmp_path):
    whole, shards, rng = whole_and_shards(tmp_path, 3, parts=2)
    before, after = rng.standard_normal((2, len(whole.names)))
    assert equal_bits(shards.winners(before).stats, whole.winners(before).stats)
    assert shards.changed_choices(before, after) == whole.changed_choices(before, after)
    assert shards.score_at(after) == whole.score_at(after)
    assert shards.gain_range() == whole.gain_range()
    assert shards.best_gain() == whole.best_gain()


def arrow_parts(folder, seed):
    """Write the parts of a set as Arrow files, with references and all."""
    rng = np.random.default_rng(seed)
    paths, references = write_parts(folder / "text", rng)
    (folder / "arrow").mkdir()
    for k, path in enumerate(paths):
        ts.write(ts.read(path, references=[references]), folder / f"arrow/part-{k}.arrow")
    return str(folder / "arrow"), [str(folder / f"arrow/part-{k}.arrow") for k in range(len(paths))]


@pytest.mark.parametrize("seed", range(3))
def test_parts_in_arrow_files_are_the_same(seed, tmp_path):
    folder, paths = arrow_parts(tmp_path, seed)
    whole = TuningSet(ts.read(paths), "bleu")
    shards = ShardedLists.read(folder, engine=ThreadEngine())
    assert shards.names == whole.names
    tuner = MERT(restarts=1, walks=0)
    assert said(tuner.fit(shards)) == said(tuner.fit(whole))


def test_parts_may_come_in_any_order(tmp_path):
    paths, references = write_parts(tmp_path / "parts", np.random.default_rng(2))
    turned = paths[::-1]
    whole = TuningSet(ts.read(turned, references=[references]))
    shards = ShardedLists.read(turned, references, engine=ThreadEngine())
    tuner = MERT(restarts=1, walks=0)
    assert said(tuner.fit(shards)) == said(tuner.fit(whole))


# PRO.


@pytest.mark.parametrize("name", PRO_OPTIONS)
def test_pro_is_the_same(name, tmp_path):
    tuner = PRO(**PRO_OPTIONS[name])
    for seed in range(3):
        whole, shards, _ = whole_and_shards(tmp_path, seed, groups=9)
        ours, theirs = (tuner.fit(task, rng=seed, others=["ter"]) for task in (whole, shards))
        assert said(theirs) == said(ours)
        assert ours.weights != ours.start


@pytest.mark.parametrize("metric", ["ter", "chrf"])
def test_pro_for_other_metrics_is_the_same_though_shards_are_lost(metric, tmp_path):
    engine = LosingEngine(17)
    whole, shards, _ = whole_and_shards(tmp_path, 5, engine, metric, parts=3, groups=12)
    tuner = PRO(iterations=2)
    start = {"D0_1": 1.0, "s2": -0.5}
    ours, theirs = (tuner.fit(task, start, drop=["D0_2"]) for task in (whole, shards))
    assert said(theirs) == said(ours)
    assert engine.lost > 1


def test_a_generator_goes_on_as_if_all_groups_were_in_one_place(tmp_path):
    whole, shards, _ = whole_and_shards(tmp_path, 2, parts=3)
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    steps = PRO(select=("all",))._steps(has_lengths=True)
    objective = objective_of("bleu+1")
    lengths = Describer(whole).lengths
    pairs = gather(whole, objective.begin(whole, "pairs"), steps, lengths, ours)
    there = ShardedPairs(shards, objective, steps).gather(theirs)
    assert len(pairs) == len(there) > 0
    assert there.counts.groups_without == pairs.counts.groups_without
    assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"accept": "random"}, "random may draw random numbers"),
        ({"select": ("difference", "stochastic")}, "stochastic may draw random numbers"),
        ({"objective": ("document",)}, "objective document values a candidate by more"),
        ({"objective": ("scaled",)}, "objective sentence values a candidate by more"),
        ({"select": ("difference:least=5",)}, "selection difference:least=5.0 removes|removes"),
    ],
)
def test_steps_that_need_more_than_a_shard_are_refused(options, match, tmp_path):
    _, shards, _ = whole_and_shards(tmp_path, 1)
    with pytest.raises(UsageError, match=match):
        PRO(**options).fit(shards)


def test_a_step_that_draws_though_it_says_otherwise_is_refused(tmp_path, monkeypatch):
    class Drawing(Greatest):
        """It inherits that nothing is drawn."""

        def accept(self, pairs, rivals, rng):
            rng.random(len(pairs))
            return super().accept(pairs, rivals, rng)

    _, shards, _ = whole_and_shards(tmp_path, 1, parts=2)
    monkeypatch.setattr(ACCEPTANCES, "create", lambda name: Drawing())
    with pytest.raises(UsageError, match="other numbers in each shard"):
        PRO(select=("all",)).fit(shards)


def test_too_many_pairs_are_refused(tmp_path, monkeypatch):
    _, shards, _ = whole_and_shards(tmp_path, 1, parts=2)
    monkeypatch.setattr(training_pairs, "MOST_NUMBERS", 3)
    with pytest.raises(UsageError, match=r"accepted pairs have .* values, more than 3; "):
        PRO(select=("all",)).fit(shards)


# What cannot be done is refused.


def lines(*groups, feature="D0= 1"):
    return "".join(f"{g} ||| a b ||| {feature} ||| 0\n{g} ||| b ||| D0= 2 ||| 0\n" for g in groups)


def read_refused(tmp_path, *texts, match, references="a b\n" * 9, **options):
    paths = []
    for k, text in enumerate(texts):
        paths.append(str(tmp_path / f"part-{k}"))
        Path(paths[-1]).write_text(text)
    (tmp_path / "references").write_text(references)
    with pytest.raises(TunesmithError, match=match):
        ShardedLists.read(paths, str(tmp_path / "references"), engine=ThreadEngine(), **options)


def test_parts_that_are_not_of_one_set_are_refused(tmp_path):
    refused = read_refused
    refused(tmp_path, lines(0, 1, 2), lines(2, 3), match="group 2 is not after those of")
    refused(tmp_path, lines(0, 2), lines(1, 3), match="give each part the groups of one range")
    refused(tmp_path, lines(0), lines(1, feature="D0= 1 3"), match="1 values here and 2|width")
    refused(tmp_path, lines(0), "", match="empty")
    refused(
        tmp_path,
        lines(0),
        lines(1),
        metric="sentence-bleu",
        match="statistics of sentence-bleu are no whole numbers",
    )
    refused(tmp_path, lines(0), lines(1), reading=Reading(missing="mean"), match="--missing mean")


def test_ids_that_are_texts_must_differ(tmp_path):
    def part(*ids):
        text = '{"id": "%s", "text": "a", "references": ["a"], "x": %d}\n'
        return "".join(text % (i, k) for k, i in enumerate(ids) for k in (1, 2))

    for k, text in enumerate([part("one", "two"), part("three", "two")]):
        (tmp_path / f"part-{k}.jsonl").write_text(text)
    with pytest.raises(TunesmithError, match="candidates of the same group"):
        ShardedLists.read(str(tmp_path), engine=ThreadEngine())
    (tmp_path / "part-1.jsonl").write_text(part("three", "four"))
    assert ShardedLists.read(str(tmp_path), engine=ThreadEngine()).groups == 4
    numbered = part("five").replace('"five"', "5")
    (tmp_path / "part-2.jsonl").write_text(numbered)
    with pytest.raises(TunesmithError, match=r"numbers in .*part-2.jsonl and texts in .*part-0"):
        ShardedLists.read(str(tmp_path), engine=ThreadEngine())


@pytest.mark.parametrize("name", ["batch-mira", "mira", "auto", "plane", "lp-mert"])
def test_other_tuners_are_refused(name, tmp_path):
    _, shards, _ = whole_and_shards(tmp_path, 1)
    with pytest.raises(UsageError, match=f"{name} .*(--tuner mert|sum over sentences)"):
        TUNERS.create(name).fit(shards)


def test_what_needs_whole_lists_is_refused(tmp_path):
    _, shards, _ = whole_and_shards(tmp_path, 1)
    tuner = MERT(restarts=0, walks=0)
    for options, match in (
        ({"folds": 2}, "cannot be held out"),
        ({"hold_out": 0.5}, "cannot be held out"),
        ({"lenpen": "D0_1"}, "drop --lenpen or --sharded"),
    ):
        with pytest.raises(UsageError, match=match):
            tuner.fit(shards, **options)
    with pytest.raises(UsageError, match="no gradients"):
        MERT(directions="gradient").fit(shards)


# With real workers.


@pytest.mark.long
@pytest.mark.parametrize("name", ["processes", "ray"])
def test_workers_find_the_same(name, tmp_path):
    if name == "ray":
        pytest.importorskip("ray")
    paths, references = write_parts(tmp_path / "parts", np.random.default_rng(1), groups=30)
    whole = TuningSet(ts.read(paths, references=[references]))
    with engine_of(name, 2) as engine, working_on(engine):
        shards = ShardedLists.read(paths, references)
        for tuner in (MERT(restarts=4, walks=1), PRO(iterations=2)):
            assert said(tuner.fit(shards)) == said(tuner.fit(whole))


@pytest.mark.long
@pytest.mark.parametrize("after", [1, 40])
@pytest.mark.parametrize("name", ["processes", "ray"])
def test_a_worker_that_is_killed_with_its_shards_changes_nothing(
    name, after, tmp_path, monkeypatch
):
    if name == "ray":
        pytest.importorskip("ray")
    tuner = MERT(restarts=4, walks=1)
    paths, references = write_parts(tmp_path / "parts", np.random.default_rng(1), groups=30)
    whole = TuningSet(ts.read(paths, references=[references]))
    with engine_of(name, 2) as engine, working_on(engine):
        shards = ShardedLists.read(paths, references)
        worker = engine.map(engine_work.process, None, [0])[0]  # each of them has a shard
        assert worker != os.getpid()
        actors, asked = shards.shards._actors, []
        call = actors.call

        def call_and_kill(actor, method, *arguments):
            call(actor, method, *arguments)
            if method == "follow":
                asked.append(actor)
                if len(asked) == after:  # it owes an answer now, or will be asked next
                    os.kill(worker, signal.SIGKILL)

        monkeypatch.setattr(actors, "call", call_and_kill)
        assert said(tuner.fit(shards)) == said(tuner.fit(whole))
        assert len(asked) > after
        assert sum(engine.losses.values()) == 1


#: Two nodes with a worker each, and a third that takes over from the one that is killed.
TWO_NODES = """
import sys
import numpy as np
from ray.cluster_utils import Cluster
from tests.tasks.test_shards import said
from tunesmith.io.read import read
from tunesmith.parallel.choice import engine_of
from tunesmith.parallel.engine import working_on
from tunesmith.tasks.lists import TuningSet
from tunesmith.tasks.shards import ShardedLists
from tunesmith.tuners.mert.mert import MERT

*paths, references = sys.argv[1:]
tuner = MERT(restarts=4, walks=1)
whole = TuningSet(read(paths, references=[references]))
room = {"num_cpus": 1, "object_store_memory": 80_000_000}
cluster = Cluster(initialize_head=True, head_node_args={**room, "include_dashboard": False})
node = cluster.add_node(**room)
with engine_of("ray", 2, cluster.address) as engine, working_on(engine):
    shards = ShardedLists.read(paths, references)
    cluster.add_node(**room)
    actors, asked = shards.shards._actors, []
    call = actors.call

    def call_and_kill(actor, method, *arguments):
        call(actor, method, *arguments)
        asked.append(method)
        if asked.count("follow") == 40 and method == "follow":
            cluster.remove_node(node, allow_graceful=False)

    actors.call = call_and_kill
    same = said(tuner.fit(shards)) == said(tuner.fit(whole))
    print(same, asked.count("follow") > 40, sum(engine.losses.values()))
cluster.shutdown()
"""


@pytest.mark.long
def test_a_node_that_is_killed_with_its_shards_changes_nothing(tmp_path):
    pytest.importorskip("ray")
    paths, references = write_parts(tmp_path / "parts", np.random.default_rng(1), groups=30)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TWO_NODES, *paths, references],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **SETTINGS},
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["True True 1"], done.stderr
