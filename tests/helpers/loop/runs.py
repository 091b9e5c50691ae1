"""Sentences to tune on and a quick tuner, and results without what differs from run to run."""

from __future__ import annotations

import json

import sacrebleu

from tests.helpers.loop.toy import sentences
from tunesmith.data.weights import Weights
from tunesmith.loop.inputs import Inputs
from tunesmith.tuners.mert.mert import MERT

TUNE = Inputs.of(*sentences(12, 1))
DEV = Inputs.of(*sentences(9, 2))
TEST = Inputs.of(*sentences(7, 3))
QUICK = MERT(restarts=1, walks=0)


def plain(result):
    """Return a result without what takes another time in another run."""
    found = json.loads(json.dumps(result.to_dict()))
    found.pop("seconds")
    for one in found["rounds"]:
        del one["decode_seconds"], one["tune_seconds"]
    return found


def bleu(weights, inputs, decoder):
    decoded = decoder.decode(Weights.from_dict(weights), inputs.sentences)
    output = [decoded.text(k) for k in decoded.start[:-1]]
    references = [[held[0] for held in inputs.references]]
    return sacrebleu.corpus_bleu(output, references, tokenize="none", force=True).score
