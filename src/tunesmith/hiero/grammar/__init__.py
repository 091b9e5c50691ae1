"""Rules: a trie, the text that it is read from, and what is checked.

``grammar`` is the door.
"""
