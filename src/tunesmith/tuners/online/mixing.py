"""Iterative parameter mixing: section 6.1 of "Hope and fear" (McDonald et al. 2010).

In each epoch learners that begin with the same weights go over a part of the sentences each. Then
their weights are averaged, and the next epoch begins with the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.arrays import Ints
from tunesmith.tuners.online.crew import SENTENCES, Crew
from tunesmith.tuners.online.learned import Student, mean_of
from tunesmith.tuners.online.lessons import Course


def mixing_epoch(
    course: Course, students: Sequence[Student], order: Ints, epoch: int
) -> dict[str, Any]:
    """Deal the sentences out, learn, and mix; return what the history says of it.

    Parameters
    ----------
    course
        What is learnt from.
    students
        The learners' states, with the same weights and rates before and after.
    order : int64[S]
        The sentences, of which each learner has every p-th.
    epoch
        Its number.
    """
    parts = [order[k :: len(students)].tolist() for k in range(len(students))]
    with Crew(course, students, order, epoch) as crew:
        for k, part in enumerate(parts):
            crew.ask(k, part[:SENTENCES])
        done = [0] * len(parts)
        while sum(done) < len(order):
            k, steps = crew.next()
            done[k] += len(steps)
            if done[k] < len(parts[k]):
                crew.ask(k, parts[k][done[k] : done[k] + SENTENCES])
        crew.check()
    mixed = mean_of(students)
    for student in students:
        student.learned.move(*mixed)
    return {"learners_replaced": crew.replaced}
