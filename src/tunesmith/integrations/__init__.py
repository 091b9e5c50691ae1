"""tunesmith in other libraries.

``sklearn`` is an estimator, ``sil_machine`` a tuner for sil-machine; trackers share ``tracking``.
"""
