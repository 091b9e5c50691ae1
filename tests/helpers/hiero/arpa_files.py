"""Small language models in the ARPA format, and their probabilities by the definition."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tunesmith.hiero.lm.arpa import ArpaReader
from tunesmith.hiero.lm.language_model import LanguageModel
from tunesmith.hiero.lm.tables import build
from tunesmith.hiero.vocabulary import Vocabulary
from tunesmith.io.streams import Source

WORDS = ("a", "b", "c")
Ngram = tuple[str, ...]


@dataclass(frozen=True)
class Arpa:
    """N-grams with their log10 probabilities and back-offs, eighths, so that sums are exact."""

    order: int
    ngrams: dict[Ngram, tuple[float, float]]

    def text(self) -> str:
        lengths = range(1, self.order + 1)
        rows = {n: [gram for gram in self.ngrams if len(gram) == n] for n in lengths}
        lines = ["\\data\\", *(f"ngram {n}={len(rows[n])}" for n in lengths), ""]
        for n in lengths:
            lines.append(f"\\{n}-grams:")
            for gram in rows[n]:
                value, backoff = self.ngrams[gram]
                end = f"\t{backoff}" if backoff or (n < self.order and len(gram[0]) > 2) else ""
                lines.append(f"{value}\t{' '.join(gram)}{end}")
            lines.append("")
        return "\n".join([*lines, "\\end\\", ""])

    def word(self, word: str) -> str:
        return word if (word,) in self.ngrams else "<unk>"

    def after(self, context: Sequence[str], word: str) -> float:
        """Return the log10 probability of a word, straight from the definition."""
        gram = (*context, word)
        if gram in self.ngrams:
            return self.ngrams[gram][0]
        return self.ngrams.get(tuple(context), (0.0, 0.0))[1] + self.after(context[1:], word)

    def sentence(self, words: Sequence[str], begins: bool = True) -> list[float]:
        """Return the log10 probability of each word, after ``<s>`` or after nothing."""
        said = ["<s>"] * begins + [self.word(word) for word in words]
        first = len(said) - len(words)
        return [
            self.after(said[max(0, i - self.order + 1) : i], said[i])
            for i in range(first, len(said))
        ]


def model_of(text: str) -> LanguageModel:
    reader = ArpaReader(Source("lm.arpa", text.encode()))
    reader.read()
    arrays, words = build(reader)
    return LanguageModel(arrays, Vocabulary.of(words))


def with_contexts(ngrams: set[Ngram]) -> set[Ngram]:
    """Add all that n-grams begin with."""
    return {gram[:n] for gram in ngrams for n in range(2, len(gram) + 1)}


def closed(ngrams: set[Ngram]) -> set[Ngram]:
    """Add all that lies within n-grams."""
    return {
        gram[i:j]
        for gram in ngrams
        for i, j in itertools.combinations(range(len(gram) + 1), 2)
        if j - i > 1
    }


@st.composite
def arpas(draw, first_order: int = 1, pruned: bool | None = None, contexts: bool = False) -> Arpa:
    """Models in which parts of n-grams may be missing, but for contexts if those are wanted."""
    order = draw(st.integers(first_order, 5))
    inner = st.sampled_from((*WORDS, "<unk>"))
    ngrams: set[Ngram] = set()
    for n in range(2, order + 1):
        first, last = st.sampled_from((*WORDS, "<s>")), st.sampled_from((*WORDS, "</s>"))
        grams = st.tuples(first, *[inner] * (n - 2), last)
        ngrams |= draw(st.sets(grams, max_size=10))
    if not (draw(st.booleans()) if pruned is None else pruned):
        ngrams = closed(ngrams)
    elif contexts:
        ngrams = with_contexts(ngrams)
    unigrams = [(word,) for word in draw(st.permutations(("<s>", "</s>", "<unk>", *WORDS)))]
    eighths = st.integers(-40, -1).map(lambda k: k / 8)
    backoffs = st.one_of(st.just(0.0), st.integers(-16, 4).map(lambda k: k / 8))
    held = {}
    for gram in [*unigrams, *sorted(ngrams)]:
        held[gram] = (draw(eighths), draw(backoffs) if len(gram) < order else 0.0)
    return Arpa(order, held)
