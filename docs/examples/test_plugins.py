"""The conformance suites on the plug-ins of this folder: pytest runs every check as a test."""

import pytest
from exact_match import ExactMatch
from random_search import RandomSearch
from tabbed import Tabbed

from tunesmith.testing import format_checks, metric_checks, tuner_checks

CHECKS = [*metric_checks(ExactMatch), *tuner_checks(RandomSearch), *format_checks(Tabbed)]


@pytest.mark.parametrize("check", CHECKS)
def test_plugin(check):
    """Raise a ConformanceError that says what to fix."""
    check()
