"""Learning from one sentence after the other: perceptron, SGD, MIRA, AROW.

``base`` has the options that all of them share, and each rule its own file.
"""
