"""Weights as JSON: a result of ``tunesmith tune``, or an object of names and numbers."""

from __future__ import annotations

import json
import sys

from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError
from tunesmith.io.text.json_lines import RepeatedKeyError, distinct
from tunesmith.io.weights.base import WEIGHTS_FORMATS

LARGEST = sys.float_info.max


@WEIGHTS_FORMATS.register("json")
class JsonWeights:
    """JSON, as ``tunesmith tune --out`` writes it."""

    suffixes = (".json",)

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the text begins with an object."""
        return head.lstrip().startswith(b"{")

    def read(self, text: bytes, name: str) -> Weights:
        """Take ``weights`` of an object, or the object itself."""
        try:
            record = json.loads(text, object_pairs_hook=distinct)
        except RepeatedKeyError as error:
            raise FormatError(name, None, str(error), "give it once") from None
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", None)
            description = getattr(error, "msg", str(error))
            raise FormatError(
                name, line, f"this is not JSON ({description})", "repair it"
            ) from None
        values = record.get("weights", record)
        if not isinstance(values, dict):
            raise FormatError(name, None, "'weights' is no object", 'write {"name": number, ...}')
        for feature, value in values.items():
            if not feature.isascii() and feature != feature.encode("utf-8", "replace").decode():
                problem = "a name holds half of a surrogate pair"
                raise FormatError(name, None, problem, "write valid Unicode")
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not -LARGEST <= value <= LARGEST:
                problem = f"weight '{feature}' is {json.dumps(value)[:40]}"
                raise FormatError(name, None, problem, "give a finite number")
        return Weights.from_dict(values)

    def write(self, weights: Weights, template: bytes) -> bytes:
        """Return an object of names and numbers, within the object that was there."""
        record = json.loads(template) if template.strip() else {}
        if "weights" in record or not record:
            record["weights"] = dict(weights)
        else:
            record = dict(weights)
        return (json.dumps(record, indent=2) + "\n").encode()
