"""Help in sections: options that belong together stand together."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

#: Titles of sections: of the parts of a command, and of execution.
TITLES = {
    "tuner_options": "Options of the tuner",
    "decoder_options": "Options of the decoder",
    "loop_options": "Options of the loop",
}
EXECUTION = "Execution"
READING = "Reading"
USUAL = "Options"


class Sectioned(TyperCommand):
    """A command whose help has a section for each ``rich_help_panel``."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, those of no section first."""
        sections: dict[str, list[tuple[str, str]]] = {USUAL: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                title = getattr(parameter, "rich_help_panel", None) or USUAL
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
