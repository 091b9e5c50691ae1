"""The metric along a weight, as numbers and pictures.

``surface`` computes, ``files`` writes; ``html`` and ``static`` draw what ``panels`` lays out.
"""
