"""What a joshua.config says."""

from __future__ import annotations

import math

import pytest

from tunesmith.errors import FormatError
from tunesmith.hiero.grammar.grammar import Nonterminal, Rule
from tunesmith.hiero.joshua_config import JoshuaConfig, JoshuaGrammar, glue

CONFIG = """\
# a comment = nothing
tm = thrax -owner pt -maxspan 12 -path grammar.gz
tm = hiero glue -1 /data/glue
feature-function = LanguageModel -lm_type kenlm -lm_order 5 -lm_file lm/5.gz
lm = berkeleylm 3 false false 100 old.arpa
feature_function = StateMinimizingLanguageModel -lm_order 4 -lm_file 4.gz
default-non-terminal = [Y]
goalSymbol = TOP
PopLimit = 30
num-translation-options = 0
top_n = 300
mark-oovs=true
threads = 2
output-format = %i ||| %s
feature-function = WordPenalty
feature-function = OOVPenalty
feature-function = PhrasePenalty -owner pt
search = cky

lm_0 1.5
tm_pt_0 -2
WordPenalty -2.8
"""


def read(tmp_path, text, **options):
    (tmp_path / "joshua.config").write_text(text, encoding="utf-8")
    return JoshuaConfig.read(tmp_path / "joshua.config", **options)


def test_a_whole_file(tmp_path):
    config = read(tmp_path, CONFIG)
    assert config.grammars == (
        JoshuaGrammar(str(tmp_path / "grammar.gz"), "pt", 12),
        JoshuaGrammar("/data/glue", "glue", -1),
    )
    assert config.models == tuple(str(tmp_path / name) for name in ("lm/5.gz", "old.arpa", "4.gz"))
    assert dict(config.weights) == {"lm_0": 1.5, "tm_pt_0": -2.0, "WordPenalty": -2.8}
    assert (config.marks_passed, config.nbest, config.longest) == (True, 300, 200)
    assert config.penalised == ("pt",)
    assert config.passed == (("Y", -100.0),)
    held = config.conventions
    assert (held.category, held.goal, held.pops, held.options) == ("Y", "TOP", 30, 0)
    assert (held.word_penalty, held.passed) == ("WordPenalty", "OOVPenalty")
    assert held.word_unit == pytest.approx(-math.log10(math.e))
    assert held.model_names(3) == ("lm_0", "lm_1", "lm_2")
    assert held.escaped("a [b] | c") == "a -lsb-b-rsb- -pipe- c"


def test_what_is_not_said_is_as_joshua_has_it(tmp_path):
    config = read(tmp_path, "tm = thrax -owner pt -maxspan 20 -path g\n")
    held = config.conventions
    assert (held.category, held.goal, held.pops, held.options) == ("X", "GOAL", 100, 20)
    # Features are turned on by name.
    assert (held.word_penalty, held.passed) == ("", "")
    assert (config.nbest, config.marks_passed, config.models) == (1, False, ())


def test_weights_of_the_file_count_more_than_those_of_the_weights_file(tmp_path):
    (tmp_path / "w").write_text("a 1\nb 2\n")
    text = "tm = thrax pt 20 g\nweights-file = w\nb 3\n"
    assert dict(read(tmp_path, text).weights) == {"a": 1.0, "b": 3.0}


def test_unknown_words_of_several_categories(tmp_path):
    text = "tm = thrax pt 20 g\noov-list = [NP] 0.5 VP 1\n"
    assert read(tmp_path, text).passed == (("NP", math.log(0.5)), ("VP", 0.0))
    (tmp_path / "list").write_text("A 1\nB 2\n")
    text = "tm = thrax pt 20 g\noov-list = list\n"
    assert read(tmp_path, text).passed == (("A", 0.0), ("B", math.log(2)))


def test_older_versions_count_passed_words_otherwise(tmp_path):
    text = "tm = thrax pt 20 g\nfeature-function = OOVPenalty\n"
    old = read(tmp_path, text, version=5)
    assert (old.passed, old.conventions.passed_value) == ((("X", 1.0),), 1.0)


def test_the_word_penalty_has_a_unit(tmp_path):
    text = "tm = thrax pt 20 g\nfeature-function = WordPenalty -value -1\n"
    assert read(tmp_path, text).conventions.word_unit == -1.0


def test_grammars_are_read_and_joined(tmp_path):
    (tmp_path / "g").write_text("[X] ||| a ||| b ||| 0.5 s=2 -3\n[X] ||| c ||| d ||| 1\n")
    (tmp_path / "custom").write_text("[X] ||| a ||| e ||| 7\n")
    text = "tm = thrax pt 12 g\ntm = thrax -owner my -maxspan 3 -path custom\n"
    text += "feature-function = PhrasePenalty\n"
    grammar = read(tmp_path, text).grammar()
    assert grammar.arrays.limits.tolist() == [12, 3, -1]
    found = {(rule.source, rule.target): rule.features for rule in grammar.rules()}
    assert found[("a",), ("b",)] == {
        "tm_pt_0": -0.5,
        "s": 2.0,
        "tm_pt_1": 3.0,
        "PhrasePenalty": 1.0,
    }
    assert found[("c",), ("d",)] == {"tm_pt_0": -1.0, "PhrasePenalty": 1.0}
    assert found[("a",), ("e",)] == {"tm_my_0": -7.0}
    # Nobody gave glue rules.
    top, phrase = Nonterminal("GOAL"), Nonterminal("X")
    assert found[(top, phrase), (1, 2)] == {"tm_glue_0": 1.0}
    assert len(found) == 6
    (tmp_path / "glue").write_text("[GOAL] ||| <s> ||| <s> ||| 0\n")
    grammar = read(tmp_path, f"{text}tm = thrax glue -1 glue\n").grammar()
    assert len(grammar) == 4


def test_glue_rules_are_those_of_joshua():
    top, phrase = Nonterminal("GOAL"), Nonterminal("X")
    assert {repr(rule) for rule in glue().rules()} == {
        repr(Rule("GOAL", ("<s>",), ("<s>",), {})),
        repr(Rule("GOAL", (top, phrase), (1, 2), {"tm_glue_0": 1.0})),
        repr(Rule("GOAL", (top, "</s>"), (1, "</s>"), {})),
    }


FAULTS = {
    "tm = moses -owner pt -maxspan 0 -path g": "format 'moses' are not read",
    "tm = packed pt 20 g": "format 'packed' are not read",
    "tm = thrax pt 20": "an owner, a span and a path",
    "tm = thrax -owner pt -path g": "has no -maxspan",
    "tm = thrax pt x g": "maxspan is 'x'",
    "tm = thrax pt -2 g": "maxspan is '-2'",
    "tm = thrax pt 12 folder": "packed grammar",
    "tm =": "no words",
    "lm = kenlm 5 lm.gz": "six words",
    "feature-function = LanguageModel -lm_type kenlm": "has no -lm_file",
    "feature-function = LanguageModel -lm_file a -class_map b": "word classes",
    "feature-function = ArityPhrasePenalty -owner pt": "'ArityPhrasePenalty' is not known",
    "feature-function =": "no words",
    "feature-function = WordPenalty -value x": "value is 'x', not a number",
    "pop-limit = many": "pop-limit is 'many'",
    "search = stack": "'stack' is not hierarchical",
    "lattice-decoding = true": "'lattice-decoding' is not known here",
    "oov-list = X": "has no pairs",
    "oov-list = X 0": "weight of 'X' is 0",
    "poplimits = 3": "'poplimits' is no setting",
    "lm_0 1 2": "is no weight",
    "lm_0 x": "not a number",
}


@pytest.mark.parametrize("line", FAULTS)
def test_faults_are_told_with_their_lines(tmp_path, line):
    (tmp_path / "folder").mkdir()
    with pytest.raises(FormatError, match=rf"joshua\.config:3: .*{FAULTS[line]}.*; "):
        read(tmp_path, f"tm = thrax pt 20 g\n\n{line}\n")


def test_files_without_a_grammar_are_told(tmp_path):
    with pytest.raises(FormatError, match="names no grammar"):
        read(tmp_path, "lm_0 1\n")
    with pytest.raises(FormatError, match="no such file"):
        JoshuaConfig.read(tmp_path / "none")


def test_harmless_settings_are_passed_over(tmp_path):
    text = "tm = thrax pt 20 g\nparse = false\nuse-kenlm = true\nc = x\ntrue_oovs_only = true\n"
    assert len(read(tmp_path, text).grammars) == 1
