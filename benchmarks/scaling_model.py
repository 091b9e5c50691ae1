"""What learning in parallel costs: a model with measured constants, and a simulation of it.

An example takes a learner the time to decode it and to solve its own problem, and a little for each
set of constraints that others have sent. Whatever it sends goes through the hub, which hands out
examples, keeps a copy of each learner's state, and passes sets on. The simulation has the same hub
and the same bounded inboxes, and examples that take different times; the formulas have means alone.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from tunesmith.arrays import Floats


@dataclass(frozen=True)
class Constants:
    """What was measured.

    Attributes
    ----------
    example : float64[n]
        Seconds of single examples, on one core, without received sets.
    set_bytes
        Mean size of a set of constraints that is sent.
    share_sent
        The share of examples that send one: the others have nothing to learn from.
    per_received
        Seconds that a received set adds to an example.
    hub_mixing
        Seconds of the hub for an example, where many are told of at a time.
    hub_step, hub_set
        The same where each is told of at once, and for passing on one set to one learner.
    features
        Number of weights.
    data_bytes
        What each worker has in memory for the model and the data.
    """

    example: Floats = field(repr=False)
    set_bytes: float
    share_sent: float
    per_received: float
    hub_mixing: float
    hub_step: float
    hub_set: float
    features: int
    data_bytes: float

    @property
    def seconds(self) -> float:
        """Mean seconds of an example."""
        return float(self.example.mean())

    @property
    def state_bytes(self) -> float:
        """What a learner's state takes: weights, rates, and what their average lacks."""
        return 3.0 * 8.0 * self.features


@dataclass(frozen=True)
class Prediction:
    """What an epoch comes to.

    ``received`` are bytes that a learner is sent for each example, ``hub`` the share of the time
    that the hub is busy, ``dropped`` the share of sets that found an inbox full.
    """

    learners: int
    epoch: float
    received: float
    hub: float
    dropped: float

    def speedup(self, serial: float) -> float:
        """Return by how much it is faster than an epoch that takes so long."""
        return serial / self.epoch


def received_sets(constants: Constants, learners: int, inbox: int) -> float:
    """Return how many sets come with an example: one of each other learner, unless it is full."""
    return min(float(inbox), constants.share_sent * (learners - 1))


def predicted(constants: Constants, sentences: int, learners: int, inbox: int) -> Prediction:
    """Return what the formulas say of asynchronous learning.

    ``inbox`` 0 is mixing: nothing is exchanged but weights at the end of an epoch, which are
    2 × 8 bytes × features for each learner, once.
    """
    sets = received_sets(constants, learners, inbox)
    work = constants.seconds + sets * constants.per_received
    hub = constants.hub_mixing if inbox == 0 else constants.hub_step + sets * constants.hub_set
    epoch = sentences * max(work / learners, hub)
    wanted = constants.share_sent * (learners - 1)
    dropped = 0.0 if inbox == 0 or wanted == 0.0 else 1.0 - sets / wanted
    busy = sentences * hub / epoch
    return Prediction(learners, epoch, sets * constants.set_bytes, busy, max(0.0, dropped))


def simulated(
    constants: Constants, sentences: int, learners: int, inbox: int, seed: int = 1
) -> Prediction:
    """Run an epoch, event by event: the hub answers one learner at a time."""
    rng = np.random.default_rng(seed)
    times = rng.choice(constants.example, sentences)
    sends = rng.random(sentences) < constants.share_sent
    # What has been sent is one row for all; of each learner we know up to where it has read.
    sent = 0
    read = [0] * learners
    own: list[deque[int]] = [deque() for _ in range(learners)]
    hub_free = busy = received = dropped = last = 0.0
    ready = [(0.0, k, -1) for k in range(learners)]
    given = 0
    while ready:
        now, k, done = heapq.heappop(ready)
        begin = max(now, hub_free)
        if done >= 0 and sends[done]:
            own[k].append(sent)
            sent += 1
        last = max(last, begin)
        if given == sentences:
            continue
        waiting = sent - read[k] - len(own[k])
        own[k].clear()
        read[k] = sent
        sets = min(waiting, inbox)
        dropped += waiting - sets if inbox else 0
        received += sets
        handling = constants.hub_step + sets * constants.hub_set
        hub_free, busy = begin + handling, busy + handling
        takes = times[given] + sets * constants.per_received
        heapq.heappush(ready, (hub_free + takes, k, given))
        given += 1
    mean = received / sentences
    lost = dropped / (dropped + received) if dropped else 0.0
    return Prediction(learners, last, mean * constants.set_bytes, busy / last, lost)
