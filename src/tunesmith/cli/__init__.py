"""The command line: one module per command.

``app`` finds the command; what several of them share is in ``options``.
"""

from tunesmith.cli.app import main

__all__ = ["main"]
