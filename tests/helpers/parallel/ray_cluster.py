"""One small Ray for all tests of a process: it takes seconds to start."""

from __future__ import annotations

import functools
import os

import pytest

CPUS = 2
#: Set before Ray is imported; its store would else be a third of the machine's memory.
SETTINGS = {
    "RAY_DEFAULT_OBJECT_STORE_MAX_MEMORY_BYTES": "100000000",
    "RAY_USAGE_STATS_ENABLED": "0",
    # On a busy machine Ray's server for a client may take longer to start than Ray waits.
    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "600",
}


@functools.cache
def joined_ray():
    """Start a Ray that engines find and leave running."""
    os.environ.update(SETTINGS)
    pytest.importorskip("ray", reason="ray is not installed: pip install 'tunesmith[ray]'")
    from tunesmith.parallel.ray.cluster import join_cluster

    return join_cluster(None, CPUS)


def leave_ray():
    """End it, if it was started."""
    if joined_ray.cache_info().currsize:
        joined_ray().leave()


def ray_engine(**options):
    """Return an engine on it."""
    joined_ray()
    from tunesmith.parallel.ray.engine import RayEngine

    return RayEngine(**{"workers": CPUS, **options})
