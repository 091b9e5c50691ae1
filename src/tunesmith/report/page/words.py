"""What things are called where a person reads it."""

from __future__ import annotations

#: Metrics as papers write them.
METRICS = {
    "bleu": "BLEU",
    "sentence-bleu": "sentence BLEU",
    "ter": "TER",
    "wer": "WER",
    "cer": "CER",
    "chrf": "chrF",
    "chrf++": "chrF++",
}


def metric_name(asked: str) -> str:
    """Return a metric's name as papers write it, with options after it as they were asked for."""
    name, colon, options = asked.partition(":")
    if name not in METRICS:
        return asked
    return f"{METRICS[name]} ({options})" if colon else METRICS[name]
