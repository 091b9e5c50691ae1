"""Lists in several files, as the parts of a set."""

from __future__ import annotations

import numpy as np

import tunesmith as ts
from tunesmith.parallel.threads import ThreadEngine
from tunesmith.tasks.lists import TuningSet
from tunesmith.tasks.shards import ShardedLists

WORDS = ("a", "b", "c", "d", "e", "f")


def texts(rng, count):
    """Return short random texts over few words, so that statistics are often equal."""
    lengths = rng.integers(1, 8, count)
    return [" ".join(rng.choice(WORDS, length)) for length in lengths]


def write_parts(folder, rng, parts=3, groups=7, most=6, dense=3, sparse=4, ties=True):
    """Write lists in Moses' format in parts, and references; return their paths.

    Features have few values, so that scores, slopes and breakpoints are often equal; sparse ones
    are on few candidates, not in every part, and first seen in another order in each.
    """
    folder.mkdir(exist_ok=True)
    ends = np.sort(rng.choice(np.arange(1, groups), parts - 1, replace=False))
    bounds = [0, *ends.tolist(), groups]
    paths = []
    for k in range(parts):
        lines = []
        names = rng.permutation(sparse)
        for group in range(bounds[k], bounds[k + 1]):
            for text in texts(rng, rng.integers(1, most + 1)):
                values = rng.integers(-3, 4, dense) if ties else rng.standard_normal(dense)
                on = [f"s{j}= {rng.integers(1, 4)}" for j in names if rng.random() < 0.15]
                features = " ".join([f"D0= {' '.join(f'{v:g}' for v in values)}", *on])
                lines.append(f"{group} ||| {text} ||| {features} ||| 0")
        path = folder / f"part-{k}.nbest"
        path.write_text("\n".join([*lines, ""]))
        paths.append(str(path))
    references = folder / "references"
    references.write_text("\n".join([*texts(rng, groups), ""]))
    return paths, str(references)


def equal_bits(one, other):
    """Tell whether two arrays have the same type, shape and bits."""
    one, other = np.asarray(one), np.asarray(other)
    same_form = one.dtype == other.dtype and one.shape == other.shape
    return same_form and one.tobytes() == other.tobytes()


def whole_and_shards(folder, seed, engine=None, metric="bleu", **options):
    """Return random lists twice: read into one place, and left in shards."""
    rng = np.random.default_rng(seed)
    options = {"parts": int(rng.integers(1, 5)), "ties": bool(rng.integers(2)), **options}
    paths, references = write_parts(folder / f"parts-{seed}", rng, **options)
    whole = TuningSet(ts.read(paths, references=[references]), metric)
    shards = ShardedLists.read(paths, references, metric, engine=engine or ThreadEngine())
    return whole, shards, rng
