"""The pictures of a page as files.

``figures`` is the door.
"""
