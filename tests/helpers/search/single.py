"""Searches of one line."""

from __future__ import annotations

from types import SimpleNamespace

from tunesmith.search.line.penalised import best_penalised_step
from tunesmith.search.line.search import best_step, totals_along
from tunesmith.search.line.smooth import best_smoothed_step


def surface(hypotheses, point, direction):
    """Return the edges, totals and gains of a line."""
    (envelope,) = hypotheses.map_envelopes(lambda *line: line[-1], [(point, direction)])
    edges, totals = totals_along(envelope)
    return SimpleNamespace(edges=edges, totals=totals, gains=hypotheses.metric.gain(totals))


def searched_by(choose):
    """Return a search of one line with one of the ways to choose a step."""

    def run(hypotheses, point, direction, *options):
        along = surface(hypotheses, point, direction)
        return choose(along.edges, along.gains, point, direction, *options)

    return run


search = searched_by(best_step)
smoothed_search = searched_by(best_smoothed_step)
penalised_search = searched_by(best_penalised_step)
