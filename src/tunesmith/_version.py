"""The version, read by the build and shown in every signature."""

__version__ = "0.1.0"
