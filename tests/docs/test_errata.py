"""What docs/errata.md says of the papers: proofs that belong to no module, and tests by name."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED)))
def test_every_test_that_the_page_names_is_there(file, name):
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_erratum_names_a_test():
    entries = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
    assert len(entries) > 15
    for entry in entries:
        assert re.search(r"Shown by `tests/", entry), entry.splitlines()[0]


# ---------------------------------------------------------------- Galley and Quirk 2011


def printed_program(point, others):
    """Solve the linear program of section 3: c · w with w · (other − point) ≤ 0."""
    centre = np.mean([point, *others], axis=0)
    rows = np.array(others) - point
    return linprog(-(point - centre), A_ub=rows, b_ub=np.zeros(len(rows)), bounds=(None, None))


def test_the_printed_program_is_unbounded_or_zero():
    """Its constraints are a cone: a vertex has no greatest c · w, an inner point none but 0."""
    square = [np.array(p) for p in ([1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0])]
    vertex = printed_program(square[0], square[1:])
    assert vertex.status == 3  # unbounded
    inner = printed_program(np.array([0.1, 0.2]), square)
    assert inner.status == 0
    assert inner.fun == pytest.approx(0.0)


def test_the_printed_constraints_take_a_point_that_never_wins_alone():
    """In the middle of an edge a weight vector other than 0 is found; every such one ties."""
    middle, ends = np.array([1.0, 0.0]), [np.array([1.0, 1.0]), np.array([1.0, -1.0])]
    found = printed_program(middle, [*ends, np.array([-1.0, 0.0])])
    assert found.status == 3  # "extreme" by the printed test
    for w in np.random.default_rng(1).normal(size=(1000, 2)):
        assert max(end @ w for end in ends) >= middle @ w


def test_the_greatest_product_is_not_the_greatest_cosine():
    """With c = w0 in a box the best w has cosine 0.83 to a w0 that can win itself."""
    point, others = np.array([1.0, 1.0]), [np.array([0.0, 1.0]), np.array([1.0, 0.0])]
    w0 = np.array([1.0, 0.2])
    assert all((point - other) @ w0 > 0 for other in others)
    rows = np.array(others) - point
    found = linprog(-w0, A_ub=rows, b_ub=np.zeros(2), bounds=(-1, 1)).x
    cosine = found @ w0 / np.linalg.norm(found) / np.linalg.norm(w0)
    assert cosine == pytest.approx(1.2 / np.sqrt(2 * 1.04))
    assert cosine < 0.84


# ---------------------------------------------------------------- Chiang 2012


def ngrams(text, order):
    words = text.split()
    return [tuple(words[i : i + order]) for i in range(len(words) - order + 1)]


def bleu_2(text, reference, clipped):
    """Return the product of both precisions; the lengths are the same on both sides."""
    product = 1.0
    for order in (1, 2):
        found, wanted = Counter(ngrams(text, order)), Counter(ngrams(reference, order))
        most = wanted if clipped else {gram: len(text) for gram in wanted}
        matches = sum(min(count, most.get(gram, 0)) for gram, count in found.items())
        product *= matches / found.total()
    return product


@pytest.mark.parametrize("clipped", [True, False])
def test_the_counterexample_of_section_5_2_is_none(clipped):
    reference = (
        "Australia is one of the few countries that have diplomatic relations with North Korea"
    )
    first = "one of the few nations which maintain ties with the DPRK has been"
    second = "North Korea with relations diplomatic have that countries few the of one is"
    matched = sum((Counter(first.split()) & Counter(reference.split())).values())
    assert matched == 5  # the paper counts 4
    for extend in (lambda text: text, lambda text: f"Australia {text}"):
        assert bleu_2(extend(first), reference, clipped) > bleu_2(
            extend(second), reference, clipped
        )


def expected(w, mu, exponent, features, losses):
    """Return E[ℓ] and E[h] under exp(exponent × (w·h + μℓ))."""
    scores = exponent * (features @ w + mu * losses)
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    return chances @ losses, chances @ features


def test_the_temperature_of_appendix_a2():
    """With 1/T in the exponent ∂E[h]/∂μ at 0 is ∇E[ℓ]; with the printed 1/μ there is no such."""
    rng = np.random.default_rng(2)
    features, losses, w, temperature = (
        rng.normal(size=(6, 3)),
        rng.random(6),
        rng.normal(size=3),
        0.7,
    )
    step = 1e-5
    gradient = np.array(
        [
            np.subtract(
                *(
                    expected(w + s * step * axis, 0.0, 1 / temperature, features, losses)[0]
                    for s in (1, -1)
                )
            )
            / (2 * step)
            for axis in np.eye(3)
        ]
    )
    ends = [expected(w, s * step, 1 / temperature, features, losses)[1] for s in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(gradient, rel=1e-6)
    # As printed the distribution is one of 1-bests when μ goes to 0, and of 1-worsts below it.
    printed = [expected(w, s * step, s / step, features, losses)[1] for s in (1, -1)]
    assert printed[0] == pytest.approx(features[np.argmax(features @ w)])
    assert printed[1] == pytest.approx(features[np.argmin(features @ w)])


# ---------------------------------------------------------------- Nakov et al. 2012


def test_beside_a_document_no_pair_differs_by_the_threshold():
    """Of a document of 1,000 sentences with 12 words each, one sentence changes less than 0.05."""
    document = 1000 * np.array([8.0, 5.0, 3.0, 2.0, 12.0, 11.0, 10.0, 9.0])
    best, worst = (
        np.array([12.0, 11, 10, 9, 12, 11, 10, 9]),
        np.array([0.0, 0, 0, 0, 12, 11, 10, 9]),
    )

    def bleu(counts):
        return np.exp(np.mean(np.log(counts[:4] / counts[4:])))

    assert bleu(best) == 1.0
    assert 0.0 < bleu(document + best) - bleu(document + worst) < 0.05 / 10
