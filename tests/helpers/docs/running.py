"""Runs the blocks of a page, and compares what they print with what it shows."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import tomllib
import warnings
from pathlib import Path
from typing import Any

from tests.helpers.docs.blocks import COMMANDS, ROOT, Block, Command, blocks_of, commands_of
from tests.helpers.docs.comparing import first_missing
from tests.helpers.docs.settings import Settings
from tests.helpers.waiting import PATIENCE
from tunesmith.cli import main


class Page:
    """A page whose blocks run one after the other, in a folder of its own.

    Parameters
    ----------
    name
        The page, for messages.
    text
        What it says.
    folder
        Where it runs; files that the page speaks of lie there.
    settings
        What is particular about it.
    """

    def __init__(self, name: str, text: str, folder: Path, settings: Settings) -> None:
        self.name, self.folder, self.settings = name, folder, settings
        self.blocks = blocks_of(text)
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed, self.is_shown = "", True
        self.used: set[str] = set()
        self.ran = 0

    def run(self) -> None:
        """Run all blocks in order; raises an AssertionError at the first that is wrong."""
        for before, block in zip([None, *self.blocks], self.blocks, strict=False):
            if block.said == "not run":
                continue
            if self.settings.every_block_anew:
                os.chdir(self.folder)
            if block.said == "file":
                self._write(block)
            elif block.kind in COMMANDS:
                for command in commands_of(block):
                    self._command(command)
            elif block.kind == "python":
                self._python(block)
            elif block.said == "printed":
                self._compare(tuple(block.text.splitlines()), self.printed, block.line)
            else:
                is_output = before is not None and before.kind == "python" and not self.is_shown
                where = f"{self.name}:{block.line}"
                assert not is_output or block.kind != "text", f"{where}: say that it is printed"
                self._parse(block)
        unused = set(self.settings.shorter) - self.used
        assert not unused, f"{self.name}: these are not on the page any more: {unused}"

    def _write(self, block: Block) -> None:
        self._parse(block)
        path = Path(block.value)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def _parse(self, block: Block) -> None:
        if block.kind == "toml":
            tomllib.loads(block.text)
        elif block.kind == "yaml":
            import yaml

            yaml.safe_load(block.text)
        elif block.kind == "json":
            decoder, text = json.JSONDecoder(), block.text.strip()
            while text:  # an object, or a line for each
                text = text[decoder.raw_decode(text)[1] :].strip()

    def _command(self, command: Command) -> None:
        text, is_shorter = self._shorter(command.text)
        where = f"{self.name}:{command.line}: {command.text}"
        if text.startswith("cd ") and "\n" not in text:
            here, there = Path.cwd(), Path(text[3:].strip())
            os.chdir(there if (here / there).is_dir() else self.folder / there)
            return
        code, printed = _ran(text)
        assert code in _codes(command), f"{where}\nended with {code}:\n{printed}"
        self.ran += 1
        if not is_shorter:
            self._compare(command.shown, printed, command.line)

    def _python(self, block: Block) -> None:
        """Run the statements one by one; a comment behind a print says what it prints."""
        text, is_shorter = self._shorter(block.text)
        lines = text.splitlines()
        self.printed, self.is_shown = "", True
        for statement in ast.parse(text).body:
            ast.increment_lineno(statement, block.line - 1)
            code = compile(ast.Module([statement], []), self.name, "exec")
            buffer = io.StringIO()
            with contextlib.redirect_stdout(buffer), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # readers see them, and go on
                exec(code, self.names)
            printed = buffer.getvalue()
            self.printed += printed
            last = lines[(statement.end_lineno or 0) - block.line]
            shown = re.search(r"\)  # (.*)$", last) if _is_print(statement) else None
            if shown and not is_shorter:
                self._compare((shown[1],), printed, statement.lineno)
            self.is_shown = self.is_shown and (bool(shown) or not printed)
        self.ran += 1

    def _shorter(self, text: str) -> tuple[str, bool]:
        changed = text
        for old, new in self.settings.shorter.items():
            if old in changed:
                self.used.add(old)
                changed = changed.replace(old, new)
        return changed, changed != text

    def _compare(self, shown: tuple[str, ...], printed: str, line: int) -> None:
        if self.settings.not_compared:
            return
        missing = first_missing(shown, printed)
        assert missing is None, f"{self.name}:{line} shows\n{missing}\nprinted was\n{printed}"


def _is_print(statement: ast.stmt) -> bool:
    """Tell whether a statement prints something, and does nothing else."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    return isinstance(statement.value.func, ast.Name) and statement.value.func.id == "print"


def _codes(command: Command) -> set[int]:
    """Return the exit codes that a command may end with."""
    if any(line.startswith("tunesmith: error:") for line in command.shown):
        return {2}
    return {0, 1} if command.text.startswith("diff ") else {0}


def _ran(text: str) -> tuple[int, str]:
    """Run a command and return its exit code and all that it prints, in its order."""
    joined = text.replace("\\\n", " ")
    if re.match(r"make\s", joined):  # that there is such a target; it builds outside of the folder
        return _shell(f"make --dry-run --directory {shlex.quote(str(ROOT))} {joined[5:]}")
    bare = re.sub(r"'[^']*'|\"[^\"$]*\"", "", joined)
    if re.match(r"tunesmith\s", bare) and not re.search(r"[|<>$;&*?\n]", bare):
        buffer = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(buffer), contextlib.redirect_stderr(buffer):
            code = main(shlex.split(joined, comments=True)[1:])
        buffer.flush()
        return code, buffer.buffer.getvalue().decode("utf-8")
    return _shell(text)


def _shell(text: str) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout
