"""Random corpora for tests of metrics: mixed case, scripts, punctuation, empty lines."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.helpers.builders import candidate_set

WORDS = [
    *(
        "a",
        "b",
        "c",
        "d",
        "e",
        "the",
        "A",
        "The",
        "THE",
        "d.",
        "(a",
        '"b"',
        "it's",
        "3.5",
        ",,",
        "-",
    ),
    *("é", "É", "e\u0301", "ΟΔΟΣ", "οδος", "Σ", "İ", "ß", "漢", "漢字", "かな。", "🙂", "&amp;lt;"),
]
SPACES = [" ", " ", " ", "  ", "\t", "\u00a0", "\u2003", "\n"]


def _sentence(drawn: bytes) -> str:
    """Turn bytes into words: cheap to draw, and they shrink to fewer and plainer words."""
    return " ".join(WORDS[byte % len(WORDS)] for byte in drawn)


def _few_words(drawn: bytes) -> str:
    return " ".join("abcd"[byte % 4] for byte in drawn)


sentences = st.one_of(
    st.binary(max_size=8).map(_sentence),
    st.binary(max_size=12).map(_few_words),
)
_groups = st.tuples(
    st.lists(sentences, min_size=1, max_size=3), st.lists(sentences, min_size=1, max_size=3)
)
#: Groups of hypotheses with their references, which differ in number.
corpora = st.lists(_groups, min_size=1, max_size=3)
_plain_words = st.one_of(
    st.sampled_from(["a", "b", "c", "d", "the", "é", "漢"]), st.text("abcé漢,.%", min_size=1)
)
_plain_sentences = st.lists(_plain_words, max_size=9).map(" ".join)
#: The same of plainer texts, with the same number of references for all groups.
even_corpora = st.integers(1, 3).flatmap(
    lambda refs: st.lists(
        st.tuples(
            st.lists(_plain_sentences, min_size=1, max_size=3),
            st.lists(_plain_sentences, min_size=refs, max_size=refs),
        ),
        min_size=1,
        max_size=5,
    )
)


def make(corpus):
    """Make a candidate set of a corpus."""
    groups = [[[0.0]] * len(hypotheses) for hypotheses, _ in corpus]
    texts = [t for hypotheses, _ in corpus for t in hypotheses]
    return candidate_set(groups, texts=texts, references=[r for _, r in corpus])


def spaced(text: str, drawn: bytes) -> str:
    """Put other white space between the words, and around them."""
    drawn = drawn or b"\0"
    words = ["", *text.split(), ""]
    return "".join(
        word + SPACES[drawn[i % len(drawn)] % len(SPACES)] for i, word in enumerate(words)
    )


def streams(corpus) -> list[list[str | None]]:
    """Return the references as sacrebleu takes them: first ones, second ones ..."""
    most = max(len(references) for _, references in corpus)
    return [
        [references[k] if k < len(references) else None for _, references in corpus]
        for k in range(most)
    ]
