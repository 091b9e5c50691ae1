"""WER and CER, with normalisation.

``metric`` is the metrics, ``counting`` finds edits; ``normalisation`` says what is compared, and
``transform`` takes functions of users.
"""

from tunesmith.metrics.wer.metric import CER, WER, ErrorRate

__all__ = ["CER", "WER", "ErrorRate"]
