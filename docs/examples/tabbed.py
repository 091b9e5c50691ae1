"""A format of your own: ``id<tab>text<tab>name=value name=value ...``."""

import numpy as np

from tunesmith.errors import FormatError
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.values import feature_values


@FORMATS.register("tabbed")
class Tabbed(CandidateFormat):
    """Id, text and features with tabs between them."""

    suffixes = (".tabbed",)

    @staticmethod
    def recognises(head):
        """Tell from the first bytes whether a file is of this format."""
        fields = head.split(b"\n", 1)[0].split(b"\t")
        return len(fields) == 3 and b"=" in fields[2]

    def read(self, source, collector):
        """Add every line to the collector."""
        for number, line in source.lines():
            try:
                group, text, pairs = line.split("\t")
                features = {n: float(v) for n, v in (p.rsplit("=", 1) for p in pairs.split())}
                group = int(group) if group.isdigit() else group
            except ValueError:
                remedy = "write id, text and name=value with tabs between them"
                raise FormatError(source.name, number, "this is no candidate", remedy) from None
            collector.add(group, text, features, place=(source.name, number))

    def lines(self, candidates, order, scores):
        """Yield the candidates in the given order; a format without it can only be read."""
        values, sizes = feature_values(candidates), np.diff(candidates.start)
        for i, group in zip(order, np.repeat(candidates.ids, sizes), strict=True):
            pairs = " ".join(f"{name}={float(row[i])!r}" for name, row in values.items() if row[i])
            yield f"{group}\t{candidates.text(i)}\t{pairs}"
