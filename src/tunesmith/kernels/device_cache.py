"""Machine code of a GPU's kernels, in the same folder and by the same rules.

Compiling them takes some five seconds, in every process if nothing keeps them. The name of a file
depends on the compute capability of the GPU too, and on the versions of numba-cuda, of CUDA's
bindings and of the driver.
"""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

from tunesmith.kernels.cache import KernelCache, compiler


class DeviceKernelCache(KernelCache):
    """The compiled versions of one kernel of a GPU; what numba-cuda asks for them."""

    def _can_be_kept(self, data: Any) -> bool:
        """Tell whether a kernel is code alone: no arrays of this process, nothing linked."""
        library = data.library
        is_plain = not library.referenced_objects and not library._linking_files
        return is_plain and not data.launch_config_sensitive

    def _reduced(self, data: Any) -> bytes:
        from numba.cuda.serialize import dumps

        reduced: bytes = dumps(data._reduce_states())
        return reduced

    def _rebuild(self, target_context: Any, payload: bytes) -> Any:
        from numba.cuda.dispatcher import _Kernel

        del target_context
        return _Kernel._rebuild(**pickle.loads(payload))

    def _compiler(self) -> str:
        return f"{compiler()}, {_device_compiler()}"


@cache
def _device_compiler() -> str:
    """Describe what turns kernels into machine code of a GPU."""
    from importlib.metadata import version

    from numba import cuda

    packages = ("numba-cuda", "cuda-bindings", "cuda-core")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return f"{versions}, driver {cuda.driver.driver.get_version()}"
