"""The command line: one module per command."""

from tunesmith.cli.app import main

__all__ = ["main"]
