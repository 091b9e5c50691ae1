"""N-gram language models.

``language_model`` is the door; ``arpa`` reads files, ``states`` scores within a search.
"""
