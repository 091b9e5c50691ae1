"""From parallel text to a grammar and a language model.

``train`` is the door: words are aligned (``align``), rules extracted (``rules``), and a language
model estimated (``lm``).
"""
