"""What decoders agree on in their files and their features, and what they do not."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Conventions:
    """How a decoder reads rules and names and counts its own features.

    Attributes
    ----------
    name
        Of the decoder.
    category, goal
        The category of phrases and of unknown words, and that of a sentence.
    unlabelled
        What a value of a rule without a name is called: ``{owner}`` is the grammar's owner,
        ``{index}`` its place from 0 on.
    counts_labelled
        Whether values with names count for that place, too.
    negated
        Whether the sign of values without names is changed.
    word_penalty, word_unit
        The feature that counts target words, and what each adds to it.
    counts_ends
        Whether ``<s>`` and ``</s>`` are target words for that feature.
    ends_are_words
        Whether a sentence is read with ``<s>`` and ``</s>`` around it, as words that rules must
        cover; they are then no words of the output.
    passed, passed_value
        The feature of words that are passed through, and what each adds to it.
    passes_known
        Whether words are passed through that rules know, too.
    model, later_model
        The feature of the first language model, and of further ones: ``{index}`` is their place
        from 0 on. Its value is a logarithm to ``log_base``, and is not negated.
    unknown_suffix
        What is added for the feature that counts words unknown to the model; empty without.
    log_base
        The base of the logarithms of language models.
    glue
        The feature of the glue rule in the grammar that is used where none is given.
    pops, span, options
        How many hypotheses a cell takes from its heap; how many words a rule covers at most; how
        many rules with the same source side and category are tried, 0 for all.
    escapes
        Texts that are replaced in a sentence before it is read, each with what stands for it:
        they mean something in a grammar.
    """

    name: str
    category: str = "X"
    goal: str
    unlabelled: str
    counts_labelled: bool
    negated: bool
    word_penalty: str = "WordPenalty"
    word_unit: float = -math.log10(math.e)
    counts_ends: bool
    ends_are_words: bool
    passed: str
    passed_value: float
    passes_known: bool = True
    model: str
    later_model: str
    unknown_suffix: str
    log_base: float = 10.0
    glue: str
    pops: int
    span: int
    options: int
    escapes: tuple[tuple[str, str], ...] = ()

    def model_names(self, models: int) -> tuple[str, ...]:
        """Return the features of ``models`` language models."""
        return tuple(
            (self.model if index == 0 else self.later_model).format(index=index)
            for index in range(models)
        )

    def unlabelled_name(self, owner: str, index: int) -> str:
        """Return what a value without a name is called."""
        return self.unlabelled.format(owner=owner, index=index)

    def escaped(self, sentence: str) -> str:
        """Return a sentence without texts that mean something in a grammar."""
        for text, instead in self.escapes:
            sentence = sentence.replace(text, instead)
        return sentence

    def unescaped(self, word: str) -> str:
        """Return a word of a translation with those texts in it."""
        for text, instead in self.escapes:
            word = word.replace(instead, text)
        return word


#: cdec, as of 2014 and later. It gives all language models the same name where none is told.
CDEC = Conventions(
    name="cdec",
    goal="S",
    unlabelled="PhraseModel_{index}",
    counts_labelled=True,
    negated=False,
    counts_ends=False,
    ends_are_words=False,
    passed="PassThrough",
    passed_value=1.0,
    model="LanguageModel",
    later_model="LanguageModel_{index}",
    unknown_suffix="_OOV",
    glue="Glue",
    pops=200,
    span=15,
    options=0,
)

#: Joshua 6. ``true-oovs-only`` changes nothing there: every word of a sentence has an id.
JOSHUA = Conventions(
    name="joshua",
    goal="GOAL",
    unlabelled="tm_{owner}_{index}",
    counts_labelled=False,
    negated=True,
    counts_ends=True,
    ends_are_words=True,
    passed="OOVPenalty",
    passed_value=-100.0,
    model="lm_{index}",
    later_model="lm_{index}",
    unknown_suffix="",
    glue="tm_glue_0",
    pops=100,
    span=20,
    options=20,
    escapes=(("[", "-lsb-"), ("]", "-rsb-"), ("|", "-pipe-")),
)
