"""Sphinx configuration; the build needs no network."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

from sphinx.util.inspect import stringify_signature

from tunesmith import __version__

project = "tunesmith"
author = "The tunesmith authors"
copyright = author  # noqa: A001
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]

html_theme = "furo"
html_title = f"tunesmith {release}"
html_favicon = "_static/favicon.svg"
html_show_copyright = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_theme_options = {"navigation_with_keys": True}

# Prompts and what commands print are not copied.
copybutton_prompt_text = r"\$ |> "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 78
python_display_short_literal_types = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

#: Methods and attributes that the page of a class describes.
MEMBERS = {
    "tunesmith.CandidateSet": "groups, text, reference_texts, with_features, chosen",
    "tunesmith.Features": "names, candidates, nbytes, dot",
    "tunesmith.Weights": "from_dict, aligned, matched, updated",
    "tunesmith.Forests": "pieces",
    "tunesmith.Rankings": "groups, with_features, with_queries, of_run",
    "tunesmith.Normalisation": "of, features",
    "tunesmith.RankingMetric": "of",
    "tunesmith.RankingTask": "values",
    "tunesmith.Fused": "scores, to_dict",
    "tunesmith.Vote": "threshold, plateau, predict, scores, to_dict",
    "tunesmith.ClassMetric": "of",
    "tunesmith.TuningSet": "total, score, oracle",
    "tunesmith.Metric": "stats, score, gain, details, signature",
    "tunesmith.SentenceBLEU": "sentence_scores, ngram_counts",
    "tunesmith.Tuner": "fit, tune",
    "tunesmith.TuneResult": "to_dict",
    "tunesmith.Callback": "on_start, on_step, on_end, on_failure",
    "tunesmith.Loop": "run",
    "tunesmith.Inputs": "of, read",
    "tunesmith.Decoder": "decode, start, sentences, in_folder, last_output, accepted, "
    "configuration, files, rewritten, close",
    "tunesmith.ThotDecoder": "used, translate",
    "tunesmith.PoolDecoder": "of",
    "tunesmith.integrations.sklearn.LinearReranker": "fit, predict, rank, choose, score",
    "tunesmith.integrations.sklearn.WeightedVote": "fit, predict, predict_proba",
    "tunesmith.integrations.sil_machine.TunesmithParameterTuner": "tune",
}
#: What may be given for an option of several values: see ``tunesmith.registry``.
ALIASES = {"Texts": "str | Sequence[str]", "Numbers": "float | Sequence[float]"}
#: The example on the page of each object.
EXAMPLES: dict[str, str] = {}
for names, code in re.findall(
    r"^# === ([^\n]*)\n(.*?)(?=^# ===|\Z)",
    (Path(__file__).parent / "examples" / "reference.py").read_text(encoding="utf-8"),
    flags=re.DOTALL | re.MULTILINE,
):
    for name in names.split(", "):
        shown = code.strip().replace("ts.NAME", f"ts.{name}").replace("\n", "\n   ")
        EXAMPLES[f"tunesmith.{name}"] = (
            f".. rubric:: Example\n\n.. code-block:: python\n\n   {shown}"
        )
autosummary_context = {"members": MEMBERS, "examples": EXAMPLES}


def options_as_parameters(
    app: Any, what: str, name: str, obj: Any, given: Any, lines: list[str]
) -> None:
    """Add the options of a tuner, metric or decoder to its docstring: their help is there."""
    expand_names(lines)
    for number, line in enumerate(lines):  # a trailing underscore in a type is no link
        name, colon, kind = line.partition(" : ")
        if colon and name.strip(" _").isidentifier():
            lines[number] = name + colon + re.sub(r"_(?!\w)", r"\\_", kind)
    if what != "class" or not dataclasses.is_dataclass(obj):
        return
    options = [field for field in dataclasses.fields(obj) if field.metadata.get("help")]
    if not options or "Parameters" in lines:
        return
    lines += ["", "Parameters", "----------"]
    kinds = {parameter.name: parameter.annotation for parameter in parameters_of(obj)}
    for option in sorted(options, key=lambda field: bool(field.kw_only)):  # own ones come first
        kind = re.sub(r"Literal\[(.*)\]", lambda m: m[1].replace(", ", " | "), kinds[option.name])
        lines += [f"{option.name} : {with_aliases(kind)}", f"    {described(option)}"]
    lines += [""]


def parameters_of(obj: Any) -> list[inspect.Parameter]:
    """Return the parameters of a class."""
    return list(inspect.signature(obj).parameters.values())


def with_aliases(text: str) -> str:
    """Say what may be given where a type has a name of our own."""
    for alias, meaning in ALIASES.items():
        text = re.sub(rf"\b{alias}\b", meaning, text)
    return text


def described(option: dataclasses.Field[Any]) -> str:
    """Return the help of an option as a sentence, with its default if that is a value."""
    text = str(option.metadata["help"])
    text, has_own, default = text.partition(" [default: ")
    if has_own:
        default = default.removesuffix("]")
    elif option.default is not dataclasses.MISSING and option.default not in (None, "", ()):
        default = f"``{option.default!r}``"
    return f"{text[:1].upper()}{text[1:]}." + (f" Default: {default}." if default else "")


def expand_names(lines: list[str]) -> None:
    """Give every name of ``one, other`` its own entry: attributes are one per line."""
    for number in reversed(range(len(lines) - 1)):
        names = lines[number].split(", ")
        if len(names) < 2 or not all(map(str.isidentifier, names)):
            continue
        end = number + 1
        while end < len(lines) and lines[end].startswith("    "):
            end += 1
        said = lines[number + 1 : end]
        if said:
            lines[number:end] = [line for name in names for line in (name, *said)]


def typed_signature(
    app: Any, what: str, name: str, obj: Any, given: Any, signature: str | None, returned: Any
) -> tuple[str, Any] | None:
    """Show the options of a class with their types and defaults, and not its state."""
    if what != "class" or not dataclasses.is_dataclass(obj) or signature is None:
        return None
    state = {
        field.name
        for field in dataclasses.fields(obj)
        if field.name.startswith("_") or not (field.compare or field.repr)
    }
    whole = inspect.signature(obj)
    shown = whole.replace(parameters=[p for p in whole.parameters.values() if p.name not in state])
    text = stringify_signature(shown, show_return_annotation=False, unqualified_typehints=True)
    return re.sub(r"\s*=\s*<factory>", " = ...", with_aliases(text)), returned


#: What screen readers and keyboards need and themes leave out: levels of headings, names of
#: landmarks, and focus on what scrolls.
REPAIRS = {
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    "<pre>": '<pre tabindex="0">',
}


#: A signature of several lines, which Sphinx makes a list without terms.
SIGNATURE = re.compile(r'<dl>\n((?:<dd><em class="sig-param">.*?</dd>\n)+)</dl>\n', re.DOTALL)
#: A word of code that no line of a phone holds.
LONG = re.compile(r'<span class="pre">([^<\s]{40,})</span>')
#: Where a type in italics comes from, which its name does not need.
HOMES = re.compile(r"\b(?:collections\.abc|tunesmith(?:\.\w+)+)\.(?=[A-Z]\w*[^<>]*</em>)")


def signature_lines(match: re.Match[str]) -> str:
    """Return the parameters of a signature, each on a line, without list elements."""
    lines = match[1].replace("<dd>", "<span>").replace("</dd>", "</span>")
    return f'<span class="sig-lines">{lines}</span>'


def accessible(app: Any, error: Exception | None) -> None:
    """Repair the pages."""
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        before = text = page.read_text(encoding="utf-8")
        for old, new in REPAIRS.items():
            text = text.replace(old, new)
        text = SIGNATURE.sub(signature_lines, text)
        text = LONG.sub(r'<span class="pre long">\1</span>', text)
        text = HOMES.sub("", text)
        if text != before:
            page.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Connect the two; the first before the docstrings are read as NumPy's."""
    app.connect("autodoc-process-docstring", options_as_parameters, priority=400)
    app.connect("autodoc-process-signature", typed_signature)
    app.connect("build-finished", accessible)
