"""Sentences that are decoded when they are needed, and the same as fixed forests."""

from __future__ import annotations

from tests.helpers.loop.forest_toy import ForestToy
from tests.helpers.loop.toy import sentences
from tunesmith.loop.forests import DecodedSentences
from tunesmith.loop.inputs import Inputs
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.live import LiveTuning

TUNE = Inputs.of(*sentences(10, 1))
DEV = Inputs.of(*sentences(6, 2))
START = ForestToy().start()


def fixed(inputs):
    """Return the forests, which do not depend on the weights, as a fixed set."""
    return ForestTuning(inputs.with_references(ForestToy().forests(START, inputs.sentences)))


def live(decoder, inputs, metric="bleu", **options):
    source = DecodedSentences(decoder, inputs)
    return LiveTuning(source, START, metric, ForestOptions(**options))
