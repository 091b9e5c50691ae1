"""Texts that are no words, or not those of their references: told, and made into words."""

from __future__ import annotations

import random
import warnings

import pytest

import tunesmith as ts
from tunesmith.io.text.pieces import join_bpe, join_pieces, without_factors

WORDS = ["the", "a", "house", "garden", "tree", "small", "green", "old", "walks", "sees", "likes"]
WORDS += ["in", "on", "under", "and", "very"]


def corpus(seed=0, size=40):
    """Return references, and for each two texts that are much like it."""
    rng = random.Random(seed)
    references = [[rng.choice(WORDS) for _ in range(rng.randint(6, 14))] for _ in range(size)]

    def noisy(words):
        return [w for w in words if rng.random() < 0.9] or words

    return references, [[noisy(r), noisy(r)] for r in references]


def lists(tmp_path, texts, references, change=lambda words: words):
    lines = [
        f"{g} ||| {' '.join(change(text))} ||| lm= {k + g / 7} ||| 0"
        for g, group in enumerate(texts)
        for k, text in enumerate(group)
    ]
    (tmp_path / "lists").write_text("\n".join(lines) + "\n")
    (tmp_path / "refs").write_text("".join(" ".join(r) + "\n" for r in references))
    return tmp_path / "lists", tmp_path / "refs"


def bpe(words):
    """Cut words of more than three letters in two, as subword-nmt marks it."""
    return [p for w in words for p in ([f"{w[:2]}@@", w[2:]] if len(w) > 3 else [w])]


def pieces(words):
    """Cut words as SentencePiece marks them."""
    return [p for w in words for p in ([f"\u2581{w[:2]}", w[2:]] if len(w) > 3 else [f"\u2581{w}"])]


def factors(words):
    return [f"{w}|{w[:2]}|N" for w in words]


def segments(words):
    """Mark phrases of two words, as Moses does with -report-segmentation."""
    return [
        p
        for k in range(0, len(words), 2)
        for p in (*words[k : k + 2], f"|{k}-{min(k + 1, len(words) - 1)}|")
    ]


CUT = {
    "--join-bpe": (bpe, {"join_bpe": True}),
    "--detokenise-pieces": (pieces, {"detokenise_pieces": True}),
    "--drop-factors": (factors, {"drop_factors": True}),
    "--drop-factors (segments)": (segments, {"drop_factors": True}),
}


@pytest.mark.parametrize("option", CUT)
def test_pieces_against_words_are_told_and_mended(tmp_path, option):
    change, reading = CUT[option]
    references, texts = corpus()
    plain = ts.read(*lists(tmp_path, texts, references))
    score = ts.TuningSet(plain, "bleu").score(plain.start[:-1])
    paths = lists(tmp_path, texts, references, change)
    with pytest.warns(UserWarning, match=f"give {option.split()[0]}"):
        cut = ts.read(*paths)
    assert ts.TuningSet(cut, "bleu").score(cut.start[:-1]) < score
    mended = ts.read(*paths, reading=ts.Reading(**reading))
    assert [mended.text(k) for k in range(len(mended))] == [
        plain.text(k) for k in range(len(plain))
    ]
    assert ts.TuningSet(mended, "bleu").score(mended.start[:-1]) == score


def test_words_are_left_alone():
    words = ["a@b", "x|", "|y", "|", "@@", "1|2-3", "e@@mail"]
    assert join_bpe(["lo", "wer", "a@b"]) == ["lo", "wer", "a@b"]
    assert join_bpe(["lo@@", "w@@", "er", "end@@"]) == ["lower", "end"]
    assert join_pieces(["\u2581a", "b", "\u2581", "c", "\u2581d"]) == ["ab", "c", "d"]
    assert without_factors(["a|b", "|0-3|", "|7|", *words[1:4]]) == ["a", *words[1:4]]


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_told_of_texts_that_fit(tmp_path, seed):
    references, texts = corpus(seed, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ts.read(*lists(tmp_path, texts, references))


def test_references_of_other_sentences_are_told(tmp_path):
    references, texts = corpus(1, 60)
    others = references[30:] + references[:30]
    with pytest.warns(UserWarning, match="no more words of their references than of others"):
        ts.read(*lists(tmp_path, texts, others))
    foreign = [[f"x{w}" for w in r] for r in references]
    with pytest.warns(UserWarning, match=r"0% and 0%"):
        ts.read(*lists(tmp_path, texts, foreign))


@pytest.mark.parametrize(("shift", "where"), [(1, "after"), (-1, "before")])
def test_a_line_that_is_missing_is_told(tmp_path, shift, where):
    rng = random.Random(7)
    references = [[f"w{rng.randint(0, 400)}" for _ in range(9)] for _ in range(50)]
    texts = [[r[:7]] for r in references]
    moved = [references[(k - shift) % 50] for k in range(50)]
    with pytest.warns(UserWarning, match=f"reference lines {where} theirs"):
        ts.read(*lists(tmp_path, texts, moved))


def test_upper_and_lower_case_are_told(tmp_path):
    references, texts = corpus(2)
    upper = [[w.upper() for w in r] for r in references]
    with pytest.warns(UserWarning, match="lowercase=true"):
        ts.read(*lists(tmp_path, texts, upper))


def test_the_demo_fits():
    from importlib import resources

    folder = resources.files("tunesmith") / "bundled"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ts.read(folder / "tune.nbest.gz", folder / "tune.ref")
