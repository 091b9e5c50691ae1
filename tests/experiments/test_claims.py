"""Verdicts on the papers' claims follow from intervals, and the page shows what the numbers say."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "experiments"))

import claims
from claims_verdicts import Finding, mean, paired, share

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.1, 0.4, "confirmed"),
        (0.0, 0.5, "confirmed"),
        (-0.1, 0.4, "undecided"),
        (-0.1, 0.9, "undecided"),
        (0.6, 0.9, "refuted"),
        (-0.9, -0.1, "refuted"),
        (math.nan, math.nan, "undecided"),
    ],
)
def test_a_verdict_follows_from_the_interval(low, high, verdict):
    assert Finding("x", 0.2, low, high, least=0.0, most=0.5).verdict == verdict


def test_wilsons_interval():
    # Of no hits it ends at z² / (n + z²); Wilson's own form of the centre and half-width else.
    z2 = 1.959963984540054**2
    assert share(0, 440) == pytest.approx((0.0, 0.0, 100 * z2 / (440 + z2)))
    centre, half = (82 + z2 / 2) / (100 + z2), math.sqrt(z2) / (100 + z2)
    half *= math.sqrt(82 * 18 / 100 + z2 / 4)
    assert share(82, 100) == pytest.approx((82.0, 100 * (centre - half), 100 * (centre + half)))


def test_students_interval():
    # Two degrees of freedom: the quantile of 0.975 is 4.3026527.
    half = 4.3026527297 / 3**0.5
    assert mean([1.0, 2.0, 3.0]) == pytest.approx((2.0, 2 - half, 2 + half))
    assert paired([3.0, 5.0, 7.0], [2.0, 3.0, 4.0]) == pytest.approx(mean([1.0, 2.0, 3.0]))
    assert mean([1.5])[0] == 1.5
    assert math.isnan(mean([1.5])[1])


def test_there_are_twenty_claims_and_what_they_name_exists():
    assert len(claims.CLAIMS) == 20
    for claim in claims.CLAIMS:
        assert (ROOT / "docs" / "results" / f"{claim.page}.md").exists()
        assert (ROOT / "experiments" / claim.command.split()[0]).exists()


def test_the_page_shows_what_the_numbers_say():
    page = claims.PAGE.read_text()
    shown = page.split("<!-- claims all -->\n")[1].split("\n<!-- end claims all -->")[0]
    assert shown == claims.table(claims.read_numbers())
