"""A run as it is found on disk.

``reading`` is the door: it makes a record of a result file or of a work directory.
"""
