"""Error rates with normalisation: against jiwer with the same transform, on lists and lattices."""

from __future__ import annotations

import pickle
import re

import jiwer
import num2words
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set
from tests.helpers.forests import derivations, forest_arrays, forest_set
from tests.helpers.tiers import examples
from tunesmith.data.forests import ForestSet
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.metrics.spec import spec_of
from tunesmith.metrics.wer import CER, WER
from tunesmith.metrics.wer.numerals import has_decimal_comma
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet

TEXT = """
I don't Won't CAN'T let's it's uh Um, um mhm. we're John's well, — ... the The cat cats he'd they've
I'm (yes) é 漢字。 ΟΔΟΣ, $ no-one 't a b.
"""
WORDS = TEXT.split()
FILLERS = ["uh", "um", "mhm"]
#: Our options, and jiwer's transforms that do the same.
STEPS = {
    "lowercase": [jiwer.ToLowerCase()],
    "contractions": [jiwer.ExpandCommonEnglishContractions()],
    "no-punct": [jiwer.RemovePunctuation()],
    "fillers=uh+um+mhm": [jiwer.RemoveSpecificWords(FILLERS)],
}
ENDS = [jiwer.RemoveMultipleSpaces(), jiwer.Strip()]
#: Contractions of ours are of any case, and fillers whole words, so those that need it go together.
CHOICES = [
    [],
    ["lowercase"],
    ["no-punct"],
    ["lowercase", "contractions"],
    ["lowercase", "no-punct"],
    ["lowercase", "contractions", "no-punct"],
    ["lowercase", "no-punct", "fillers=uh+um+mhm"],
    ["lowercase", "contractions", "no-punct", "fillers=uh+um+mhm"],
]
FILE = """
import jiwer

clean = jiwer.Compose([
    jiwer.ToLowerCase(),
    jiwer.ExpandCommonEnglishContractions(),
    jiwer.RemovePunctuation(),
    jiwer.SubstituteWords({"the cat": "it", "cats": "cat cat"}),
    jiwer.RemoveMultipleSpaces(),
    jiwer.Strip(),
    jiwer.ReduceToListOfListOf%s(),
])


def shout(text):
    return text.upper()


class NoVowels:
    def __call__(self, text):
        return text.translate(str.maketrans("", "", "aeiou"))


def lower_consonants(text):
    return NoVowels()(text.lower())


number = 3


def wrong(text):
    return 3
"""


def transforms(choice, name):
    """Return what jiwer does for some of our options."""
    steps = [step for option in choice for step in STEPS[option]]
    last = jiwer.ReduceToListOfListOfWords if name == "wer" else jiwer.ReduceToListOfListOfChars
    return jiwer.Compose([*steps, *ENDS, last()])


def by_jiwer(name, transform, hypothesis, reference):
    """Return errors, length of the reference and length of the hypothesis."""
    process = jiwer.process_words if name == "wer" else jiwer.process_characters
    found = process(reference, hypothesis, transform, transform)
    both = found.hits + found.substitutions
    errors = found.substitutions + found.deletions + found.insertions
    return [errors, both + found.deletions, both + found.insertions]


def random_texts(rng, count):
    return [" ".join(rng.choice(WORDS, rng.integers(0, 9))) for _ in range(count)]


@pytest.mark.parametrize("name", ["wer", "cer"])
def test_a_thousand_pairs_equal_jiwer(name):
    rng = np.random.default_rng(3)
    for pair in range(examples(1000)):
        choice = CHOICES[pair % len(CHOICES)]
        metric = METRICS.create(f"{name}:{','.join(choice)}" if choice else name)
        reference, *hypotheses = random_texts(rng, 3)
        transform = transforms(choice, name)
        expected = [by_jiwer(name, transform, text, reference) for text in hypotheses]
        assert [metric.stats(text, [reference]).tolist() for text in hypotheses] == expected
        groups = candidate_set([[[0.0]] * 2], texts=hypotheses, references=[[reference]])
        assert TuningSet(groups, metric).stats.tolist() == expected


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["wer", "cer"])
def test_a_thousand_pairs_equal_jiwer_with_its_transform(name, folder):
    """It is given whole texts: it changes words by what stands beside them."""
    kind = "Words" if name == "wer" else "Chars"
    (folder / f"{name}_norm.py").write_text(FILE % kind)
    metric = METRICS.create(f"{name}:transform={name}_norm.py:clean")
    transform = metric.transform.apply
    rng = np.random.default_rng(4)
    for _ in range(examples(500)):
        texts, references = random_texts(rng, 2), random_texts(rng, 2)
        pairs = list(zip(texts, references, strict=True))
        expected = [by_jiwer(name, transform, *pair) for pair in pairs]
        groups = candidate_set(
            [[[0.0]]] * 2, texts=texts, references=[[reference] for reference in references]
        )
        assert TuningSet(groups, metric).stats.tolist() == expected
        alone = [metric.stats(text, [reference]).tolist() for text, reference in pairs]
        assert alone == expected


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "lowercase": st.booleans(),
        "contractions": st.booleans(),
        "no_punct": st.booleans(),
        "numbers": st.sampled_from(["", "en", "de"]),
        "fillers": st.sampled_from(["", "english", "uh+cat"]),
    },
)
tokens = st.one_of(
    st.sampled_from(WORDS),
    st.integers(0, 10**18).map(str),
    st.from_regex(r"\$?[0-9]{1,3}(,[0-9]{3}){0,2}(\.[0-9]{1,2})?(st|th|%)?", fullmatch=True),
    st.from_regex(r"[0-9]{1,3}(\.[0-9]{3}){0,2}(,[0-9]{1,2})?", fullmatch=True),
    st.text("aB'’.,-1ΣÉ", min_size=1, max_size=5),
)


@settings(max_examples=examples(300))
@given(st.lists(tokens, max_size=6), OPTIONS)
def test_a_text_is_its_words_one_after_the_other(words, options):
    """So that lattices may be searched with the words of each hyperedge alone."""
    normalisation = WER(**options).normalisation
    apart = [part for word in words for part in normalisation.words(word)]
    assert normalisation.words("  ".join(words)) == apart
    assert all(word.split() == [word] for word in apart)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("21", "twenty one"),
        ("1,234", "one thousand two hundred and thirty four"),
        ("the 21st of", "the twenty first of"),
        ("$5.50", "$ five point five"),
        ("007 B2B", "zero zero seven B two B"),
        ("1234567890123456", "one two three four five six seven eight nine zero one two three "
         "four five six"),
        ("1,2", "one , two"),
        ("90s", "ninety s"),
        ("2nds", "two nds"),
    ],
)  # fmt: skip
def test_numbers_are_written_out(text, expected):
    assert WER(numbers="en").units_of(text) == expected.split()


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "1.000", "eintausend"),
        ("de", "3,5", "drei Komma fünf"),
        ("de", "1.234,5 €", "eintausendzweihundertvierunddreißig Komma fünf €"),
        ("de", "12.5.", "zwölf . fünf ."),  # a date
        ("de", "1,25", "eins Komma zwei fünf"),
        ("de", "3stündig", "drei stündig"),
        ("fr", "3,5", "trois virgule cinq"),
        ("es_GT", "1,000", "mil"),
        ("es_CO", "1.000", "mil"),
        ("pt_BR", "1.000", "mil"),
        ("ja", "1,000", "千"),
        ("en_IN", "2.5", "two point five"),
    ],
)
def test_numbers_are_read_as_the_language_writes_them(language, text, expected):
    assert WER(numbers=language).units_of(text) == expected.split()


def test_decimals_stand_behind_what_cldr_says():
    numbers = pytest.importorskip("babel.numbers")
    others = {"cz": "cs", "jp": "ja", "kz": "kk", "tet": "pt"}
    for language in num2words.CONVERTER_CLASSES:
        symbol = numbers.get_decimal_symbol(others.get(language, language))
        assert symbol == ("," if has_decimal_comma(language) else "."), language


def test_contractions_of_any_case():
    units = WER(contractions=True).units_of("Won't DON'T I’m CAN'T it's")
    assert " ".join(units) == "Will not DO NOT I am CAN NOT it is"


def lattice(rng):
    """Draw states and arcs between them, some of them with no words; they are in order."""
    nodes = int(rng.integers(2, 5))
    edges = [(0, [], [], {})]
    for head in range(1, nodes):
        for tail in {head - 1, *rng.integers(0, head, 2).tolist()}:
            for _ in range(rng.integers(1, 3)):
                words = rng.integers(0, len(WORDS), rng.integers(0, 3)).tolist()
                edges.append((head, [tail], [-1, *words], {0: float(rng.normal())}))
    return forest_arrays(edges, nodes - 1)


@pytest.mark.parametrize("name", ["wer", "cer"])
def test_the_fewest_errors_over_all_paths_of_lattices_equal_jiwer(name):
    rng = np.random.default_rng(5)
    for pair in range(examples(200)):
        choice = CHOICES[pair % len(CHOICES)]
        metric = METRICS.create(f"{name}:{','.join(choice)}" if choice else name)
        references = [rng.integers(0, len(WORDS), rng.integers(0, 8)).tolist() for _ in range(2)]
        plain = forest_set([lattice(rng) for _ in references], 1, 1, [[r] for r in references])
        forests = ForestSet(
            plain.ids, plain.arrays, plain.names, tuple(WORDS), references=plain.references
        )
        transform = transforms(choice, name)
        fewest = []
        for s, reference in enumerate(references):
            text = " ".join(WORDS[w] for w in reference)
            paths = {tree.words for tree in derivations(forests.arrays, s)}
            rows = [
                by_jiwer(name, transform, " ".join(WORDS[w] for w in path), text) for path in paths
            ]
            fewest.append((min(row[0] for row in rows), rows[0][1]))
        errors, lengths = (sum(column) for column in zip(*fewest, strict=True))
        score, is_exact = ForestTuning(forests, metric).oracle_at(np.zeros(1))
        assert is_exact
        rate = errors / lengths if lengths else float(errors > 0)
        assert score == pytest.approx(100.0 * rate, abs=1e-9)


def test_a_transform_of_each_word_is_searched_exactly(folder):
    (folder / "by_word.py").write_text(FILE % "Words")
    arrays = forest_arrays(
        [(0, [], [0], {}), (1, [0], [-1, 1], {}), (1, [0], [-1, 2], {0: 1.0})], 1
    )
    plain = forest_set([arrays], 1, 4, [[[0, 3]]])
    forests = ForestSet(
        plain.ids,
        plain.arrays,
        plain.names,
        ("Non", "MAIS", "rue", "mois"),
        references=plain.references,
    )
    # "mais" and "mois" are both "ms", and the model prefers "rue".
    for spec, expected in (("by-word", (0.0, True)), ("by-word=false", (50.0, False))):
        metric = METRICS.create(f"wer:transform=by_word.py:lower_consonants,{spec}")
        tuning = ForestTuning(forests, metric, ForestOptions(size=1))
        assert tuning.score_at(np.ones(1)) == 50.0
        assert tuning.oracle_at(np.ones(1)) == expected


def test_transforms_come_from_files_and_from_python(folder):
    (folder / "forms.py").write_text(FILE % "Words")
    metric = METRICS.create("wer:transform=forms.py:shout")
    spec = str(metric.transform)
    assert re.fullmatch(r"forms\.py:shout@[0-9a-f]{8}", spec)
    assert METRICS.create(f"wer:transform={spec}") == metric
    assert spec_of(metric) == f"wer:transform={spec}"
    assert f"|transform:{spec}|" in metric.signature()
    assert metric.statistic_columns()[0] == f"wer:transform={spec}.errors"
    assert pickle.loads(pickle.dumps(metric)).units_of("a b") == ["A", "B"]
    combined = METRICS.create("sum(wer:lowercase,transform=forms.py:NoVowels,0.5*cer)")
    assert combined.parts[0].units_of("abE cat") == ["be", "ct"]
    brought = WER(transform=str.upper)
    assert brought.units_of("a b") == ["A", "B"]
    assert brought == WER(transform=str.upper) != WER(transform=str.title)
    assert spec_of(brought) is None
    assert pickle.loads(pickle.dumps(brought)).units_of("a") == ["A"]
    assert CER(transform=jiwer.RemoveWhiteSpace()).stats("a b", ["ab"]).tolist() == [0, 2, 2]


@pytest.mark.parametrize(
    ("spec", "error", "problem"),
    [
        ("wer:transform=none.py:x", UsageError, "none.py: there is no such file"),
        ("wer:transform=bad.py", UsageError, "transform is 'bad.py'; write path/to/file.py:Name"),
        ("wer:transform=norms.py:clena", UnknownNameError, "did you mean clean"),
        ("wer:transform=norms.py:number", UsageError, "number is no function"),
        ("wer:transform=norms.py:clean@00000000", TunesmithError, "is not the file of transform"),
        ("wer:by-word", UsageError, "by-word says what a transform is given"),
        ("wer:fillers=uh++um", UsageError, "write english, or words as uh+um"),
        ("wer:numbers=xx", UnknownNameError, "unknown language of numbers 'xx'"),
    ],
)
def test_what_is_wrong_is_said(folder, spec, error, problem):
    (folder / "norms.py").write_text(FILE % "Words")
    with pytest.raises(error, match=re.escape(problem)):
        METRICS.create(spec)


def test_what_transforms_return_is_checked(folder):
    (folder / "odd.py").write_text(FILE % "Words")
    with pytest.raises(TunesmithError, match=r"odd\.py:wrong@\w+ makes 3 of 'a'"):
        METRICS.create("wer:transform=odd.py:wrong").stats("a", ["b"])
    with pytest.raises(TunesmithError, match="returns words, and cer counts characters"):
        METRICS.create("cer:transform=odd.py:clean").stats("ab cd", ["b"])
