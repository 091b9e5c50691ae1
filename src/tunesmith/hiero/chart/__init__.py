"""From a sentence to its chart: parsing and cube pruning.

``parse`` comes first, then ``sentence_rules``, ``cubes``, and ``forest``.
"""
