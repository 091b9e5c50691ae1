"""The command ``doctor``.

``command`` checks an installation, ``warm`` compiles all kernels.
"""

from tunesmith.cli.doctor.command import run

__all__ = ["run"]
