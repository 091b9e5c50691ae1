"""A worker of the engine ray: a Ray actor that passes messages to a server and returns answers."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith.parallel.remote.packing import ALIGNMENT, PackedValue
from tunesmith.parallel.remote.worker import as_worker, set_main_module

#: Bytes up to which a block goes with the message; Ray keeps larger ones in its object store.
INLINE = 64 << 10


def for_ray(block: PackedValue) -> Any:
    """Return a block as Ray carries it best: arrays go to and from its store without a copy."""
    if block.nbytes <= INLINE:
        return block.block()
    return [np.frombuffer(part, np.uint8) for part in block.parts() if len(part)]


def whole(content: Any) -> Any:
    """Return a block that was carried; a large one can be written to."""
    if isinstance(content, bytes):
        return content
    size = sum(map(len, content))
    room = np.empty(size + ALIGNMENT, np.uint8)
    skipped = -room.ctypes.data % ALIGNMENT
    return np.concatenate(content, out=room[skipped : skipped + size])


class RayWorker:
    """The Ray actor on a node; its server has a thread of its own.

    Ray may call methods in any thread, but the number of threads that kernels use belongs to the
    thread that set it.

    Parameters
    ----------
    share, sharers
        As :func:`tunesmith.parallel.remote.worker.as_worker` has them.
    path
        Where the driver looks for modules; a node that has these folders does so too.
    settings
        The driver's environment variables of ours.
    main
        The driver's main module.
    """

    def __init__(
        self,
        share: int,
        sharers: int,
        path: Sequence[str],
        settings: Mapping[str, str],
        main: tuple[str | None, str | None],
    ) -> None:
        sys.path.extend(folder for folder in path if folder not in sys.path)
        os.environ.update(settings)
        set_main_module(main)
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._serve, args=(share, sharers), daemon=True).start()
        self._server = self._answers.get()

    def _serve(self, share: int, sharers: int) -> None:
        with as_worker(share, sharers) as server:
            self._answers.put(server)
            while True:
                self._answers.put(for_ray(server.answer(self._messages.get())))

    def answer(self, blocks: Sequence[tuple[int, Any]], message: Any) -> Any:
        """Store blocks, and answer a message; a reference in a tuple stands for a large block."""
        import ray

        for number, block in blocks:
            self._server.hold(
                number, whole(ray.get(block[0]) if isinstance(block, tuple) else block)
            )
        self._messages.put(whole(message))
        return self._answers.get()

    def drop(self, number: int) -> None:
        """Forget a block."""
        self._server.drop(number)

    def skip(self, task: int) -> None:
        """Skip the remaining pieces of a task; this is called while the server is busy."""
        self._server.skip(task)
