"""What weights are tuned on.

``base`` says what all of them have in common; ``lists`` are candidates with the statistics of one
metric, ``forests`` forests with a metric, ``live`` sentences that are decoded when needed.
"""
