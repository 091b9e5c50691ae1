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


def metric_name(spec: str) -> str:
    """Return a metric's name as papers write it, with options after it as the user wrote them."""
    name, colon, options = spec.partition(":")
    if name not in METRICS:
        return spec
    return f"{METRICS[name]} ({options})" if colon else METRICS[name]
