"""Length penalties: an exponent α that is tuned along with the weights, score / length^α.

``fit`` is the door; ``normalised`` has the sets at some α, ``line`` the exact search over α for
fixed weights, and ``search`` goes back and forth between both.
"""
