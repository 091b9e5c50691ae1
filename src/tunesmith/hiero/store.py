"""Arrays in a folder, a file each, which are mapped into memory when they are needed.

Nothing that is read can execute code: arrays of numbers, and one JSON object beside them.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import tempfile
import tokenize
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunesmith.errors import FormatError, TunesmithError

#: The JSON object beside the arrays.
ABOUT = "about.json"


def save_arrays(
    folder: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> None:
    """Write arrays into a folder, which takes its name only when all is written.

    Parameters
    ----------
    folder
        It may be there already if it holds arrays, and is then replaced.
    arrays
        Arrays of numbers, by name.
    header
        What else is known of them, as JSON; ``schema`` says what they are.
    """
    target = Path(folder)
    if target.exists() and not (target / ABOUT).is_file():
        raise TunesmithError(f"{target}: something else is there; name another folder")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=".tunesmith-"))
        try:
            for name, array in arrays.items():
                _save(draft / f"{name}.npy", np.ascontiguousarray(array))
            (draft / ABOUT).write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")
            draft.chmod(0o755)
            if target.exists():
                shutil.rmtree(target)
            draft.rename(target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        problem = (error.strerror or str(error) or "it cannot be written").lower()
        raise TunesmithError(f"{target}: {problem}; name a folder that can be written") from None


def _save(path: Path, array: NDArray[Any]) -> None:
    """Write what ``np.save`` writes, which does not say why it cannot."""
    with open(path, "wb") as file:
        header = np.lib.format.header_data_from_array_1_0(array)
        np.lib.format.write_array_header_1_0(file, header)
        file.write(array.data)


def read_header(folder: str | os.PathLike[str], schema: str) -> dict[str, Any]:
    """Return what is known of the arrays of a folder, if they are what is expected."""
    path = Path(folder) / ABOUT
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise FormatError(str(path), None, problem, "name a folder that was made here") from None
    except (ValueError, RecursionError):
        raise FormatError(str(path), None, "it is no JSON", "make the folder again") from None
    if not isinstance(header, dict) or header.get("schema") != schema:
        raise FormatError(str(path), None, f"its schema is not {schema}", "make the folder again")
    return header


def load_array(folder: str | os.PathLike[str], name: str, dtype: Any) -> NDArray[Any]:
    """Return an array of a folder, mapped and read-only."""
    path = Path(folder) / f"{name}.npy"
    try:
        array = np.lib.format.open_memmap(path, mode="r")  # no pickle, no archive
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise FormatError(str(path), None, problem, "make the folder again") from None
    except (ValueError, EOFError, OverflowError, TypeError, SyntaxError, tokenize.TokenError):
        raise FormatError(str(path), None, "it is no array", "make the folder again") from None
    if array.dtype != np.dtype(dtype):
        problem = f"its numbers are {array.dtype}, not {np.dtype(dtype)}"
        raise FormatError(str(path), None, problem, "make the folder again")
    return frozen(array)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as kernels take it: contiguous, and read-only as what is on disk is.

    So one version of a kernel serves both.
    """
    view = np.asarray(np.ascontiguousarray(array)).view()
    view.flags.writeable = False
    return view


class Portable:
    """A frozen dataclass of arrays that can be sent to another process.

    Arrays come out of a message as ones that can be written, for which all kernels would be
    compiled once more. So they are frozen again. What was made of them is left behind.
    """

    def __getstate__(self) -> dict[str, Any]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: getattr(self, field.name) for field in fields}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: _frozen_again(value) for name, value in state.items()})


def _frozen_again(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return frozen(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # named, of arrays
        return type(value)(*map(_frozen_again, value))
    return value
