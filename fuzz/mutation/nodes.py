"""Changes of the nodes of JSON, whole or a value a line."""

from __future__ import annotations

import json
import random
from typing import Any

from fuzz.mutation import text

#: What may stand where anything is; texts of it, as not all of it can be written by a writer.
VALUES = (
    *("null", "true", "false", "0", "-0.0", "1", "-1", "1.5", "1e400", "-1e400", "NaN", "Infinity"),
    *("[]", "{}", '""', '"0"', '"x"', '"a b"', '"\\u0000"', '"\\ud800"', '"\\n"', '"\\u2028"'),
    *("9007199254740993", "9223372036854775808", "1" * 400, "1e-400", "5e-324", "2147483648"),
    *("[[]]", '{"": 0}', "[null]", "[1,2]", '["x"]', "[0]", "[-1]", '{"a": {}}', "1.0", "2.0"),
    *("[" * 3000, "[" * 500 + "]" * 500, '{"a":' * 500 + "1" + "}" * 500, "tru", "-", "01", "+1"),
)


def changed(rng: random.Random, data: bytes) -> bytes:
    """Change one node of a file, or of one of its lines; what is no JSON is changed as text."""
    whole = _changed(rng, data)
    if whole is not None:
        return whole
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    k = rng.randrange(len(lines))
    line = _changed(rng, lines[k])
    if line is None:
        return text.changed(rng, data)
    lines[k] = line + b"\n"
    return b"".join(lines)


def _changed(rng: random.Random, data: bytes) -> bytes | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    holders = list(_holders(value))
    if not holders:
        return rng.choice(VALUES).encode()
    holder, key = rng.choice(holders)
    mark = "@@fuzz@@"
    put: str | None = None
    way = rng.randrange(6)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), holder[key])
    elif way == 1:
        other = rng.choice(list(holder))
        holder[key], holder[other] = holder[other], holder[key]
    elif way == 2 and isinstance(holder, dict):
        holder[rng.choice((f"{key} ", "", "id", "text", "weights", key.upper()))] = holder.pop(key)
    elif way == 3:
        holder[key] = rng.choice(holders)[0]  # may hold itself, which is then refused here
    else:
        holder[key], put = mark, rng.choice(VALUES)
    try:
        written = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    except (ValueError, RecursionError):
        return data
    if put is not None:
        if rng.random() < 0.1 and isinstance(holder, dict):  # the same key twice
            put = f"{put}, {json.dumps(key)}: 1"
        written = written.replace(json.dumps(mark), put)
    return written.encode("utf-8", "surrogatepass")


def _holders(value: Any) -> Any:
    """Yield each list or object with each of its keys."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from _holders(value[key])
