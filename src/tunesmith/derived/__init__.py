"""Features that are derived from texts and lists: words, votes, ranks.

``adding`` is the door: it adds them to lists and forests. ``base`` says what they are and how their
names hold all that has to be known; ``words`` are sums over words, ``texts`` and ``lists`` are not.
"""
