"""Conformance suites for plug-ins: metrics, tuners, formats, decoders, direction finders.

>>> from tunesmith.testing import check_metric
>>> from tunesmith.metrics.bleu import BLEU
>>> check_metric(BLEU(order=2))

Each ``check_...`` raises a :class:`ConformanceError` that names the rule that is broken and says
how to fix it; ``metrics``, ``tuners``, ``formats`` ... have the rules of a kind each. Each
``..._checks`` returns the same rules one by one, to be tests of pytest::

    @pytest.mark.parametrize("check", metric_checks(MyMetric))
    def test_my_metric(check):
        check()

Everything is seeded and takes a few seconds.
"""

from tunesmith.testing.checks import Check, ConformanceError, NotApplicable
from tunesmith.testing.decoders import check_decoder, decoder_checks
from tunesmith.testing.directions import check_directions, directions_checks
from tunesmith.testing.formats import check_format, format_checks
from tunesmith.testing.metrics import check_metric, metric_checks
from tunesmith.testing.tuners import check_tuner, tuner_checks
from tunesmith.testing.weights import check_weights_format, weights_format_checks

__all__ = [
    "Check",
    "ConformanceError",
    "NotApplicable",
    "check_decoder",
    "check_directions",
    "check_format",
    "check_metric",
    "check_tuner",
    "check_weights_format",
    "decoder_checks",
    "directions_checks",
    "format_checks",
    "metric_checks",
    "tuner_checks",
    "weights_format_checks",
]
