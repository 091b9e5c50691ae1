"""Templates of commands: what is split, what is filled in, and what is refused."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tunesmith.decoders.command import Template
from tunesmith.errors import UsageError

KNOWN = {"weights": True, "input": False, "nbest_size": False, "output": False}
VALUES = {"weights": "W", "input": "I", "nbest_size": "7", "output": "O"}


def test_split_as_a_shell_does_and_filled_in_each_argument():
    template = Template.parse(
        "dec -w={weights} 'a b' \"{input}{output}\" c\\ d {nbest_size}", KNOWN
    )
    assert template.filled(VALUES) == ["dec", "-w=W", "a b", "IO", "c d", "7"]
    assert template.placeholders == set(KNOWN)
    assert template.fixed == ["dec", "a b", "c d"]


def test_doubled_braces_are_braces():
    template = Template.parse("dec {weights} '{{\"a\": {{}}}}' {{weights}} x}}{{", KNOWN)
    assert template.filled(VALUES) == ["dec", "W", '{"a": {}}', "{weights}", "x}{"]
    assert template.fixed == ["dec", '{"a": {}}', "{weights}", "x}{"]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
@example("$(touch x) `id` '\" \\ ; | > & \n {input} {{ }} {nothing} -rf ~ *")
def test_a_value_arrives_as_it_is(value):
    template = Template.parse("dec --x={weights}, {weights} {input}", KNOWN)
    filled = template.filled({**VALUES, "weights": value, "input": value[::-1]})
    assert filled == ["dec", f"--x={value},", value, value[::-1]]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1))
def test_whatever_is_quoted_arrives_as_it_is(arguments):
    doubled = [argument.replace("{", "{{").replace("}", "}}") for argument in arguments]
    template = Template.parse(shlex.join([*doubled, "{weights}"]), KNOWN)
    assert template.filled(VALUES) == [*arguments, "W"]
    assert template.fixed == arguments


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dec {input}", ["no {weights}", "no effect"]),
        ("dec {{weights}}", ["no {weights}"]),
        ("dec {weights} {inptu}", ["{inptu}", "use {input}", "{{ and }}"]),
        ("dec {weights} {}", ["unknown placeholder {}", "{{ and }}"]),
        ("dec {weights} {input!r}", ["{input!r}", "{input}"]),
        ("dec {weights} '{a: 1}'", ["unknown placeholder {a: 1}", "{{ and }}"]),
        ("dec {weights} a{b", ["single brace", "{{ and }}"]),
        ("dec {weights} a}b", ["single brace", "{{ and }}"]),
        ("dec {weights} 'open", ["no closing quotation", "close"]),
        ("dec {weights} \\", ["no escaped character"]),
        ("{weights} x", ["begins with a placeholder"]),
        ("dec {weights} a\0b", ["NUL"]),
        ("  ", ["empty"]),
    ],
)
def test_wrong_templates_are_refused(text, words):
    with pytest.raises(UsageError) as error:
        Template.parse(text, KNOWN)
    for word in words:
        assert word in str(error.value)
