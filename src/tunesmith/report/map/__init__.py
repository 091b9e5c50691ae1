"""The metric over a plane of two weights, as numbers and pictures.

``map`` computes, ``files`` writes; ``html`` and ``static`` draw.
"""
