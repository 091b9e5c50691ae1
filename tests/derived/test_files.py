"""Features with a file: word lists and tokenizers; the file is held to its digest."""

from __future__ import annotations

import hashlib
import re

import pytest

import tunesmith as ts
from tests.helpers.builders import candidate_set
from tunesmith.errors import TunesmithError

TEXTS = ["low lower newest widest", "slow x", "low", "newer est"]


@pytest.fixture
def candidates():
    return candidate_set([[[float(i)] for i in range(4)]], texts=TEXTS)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(candidates, spec):
    found = ts.derive(candidates, spec).features
    return found.names[-1], found.dense[-1].tolist()


def test_words_that_no_list_has(candidates, here):
    (here / "words").write_text("low\nslow\n")
    name, found = values(candidates, "unknown:words")
    assert found == [3.0, 1.0, 0.0, 2.0]
    digest = hashlib.sha256(b"low\nslow\n").hexdigest()[:8]
    assert name == f"derived:unknown:words@{digest}"


def test_codes_of_subword_nmt_by_hand(candidates, here):
    # e s -> es, es t</w> -> est</w>, l o -> lo, lo w</w> -> low</w>, n e -> ne: in that order.
    codes = "#version: 0.2\ne s\nes t</w>\nl o\nlo w</w>\nn e\n"
    (here / "codes").write_text(codes)
    by_hand = {
        "low": ["low</w>"],
        "lower": ["lo", "w", "e", "r</w>"],
        "newest": ["ne", "w", "est</w>"],
        "widest": ["w", "i", "d", "est</w>"],
        "slow": ["s", "low</w>"],
        "x": ["x</w>"],
        "newer": ["ne", "w", "e", "r</w>"],
        "est": ["est</w>"],
    }
    _, found = values(candidates, "pieces:codes")
    assert found == [sum(len(by_hand[word]) for word in text.split()) for text in TEXTS]


def test_codes_of_the_first_version_have_ends_of_their_own(candidates, here):
    (here / "codes").write_text("#version: 0.1\nl o\nlo w\nlow </w>\n")
    by_hand = {"low": 1, "lower": 3, "newest": 6, "widest": 6, "slow": 2, "x": 1, "newer": 5}
    _, found = values(candidates, "pieces:codes")
    assert found == [sum(by_hand.get(word, 3) for word in text.split()) for text in TEXTS]


def test_sentencepiece_counts_its_own_pieces(candidates, here):
    library = pytest.importorskip("sentencepiece")
    (here / "text").write_text("\n".join(TEXTS * 20))
    library.SentencePieceTrainer.train(
        input="text", model_prefix="m", vocab_size=20, minloglevel=2, hard_vocab_limit=False
    )
    processor = library.SentencePieceProcessor(model_file="m.model")
    _, found = values(candidates, "pieces:m.model")
    assert found == [sum(len(processor.encode(w)) for w in text.split()) for text in TEXTS]
    assert found == [len(processor.encode(text)) for text in TEXTS]


def test_a_tokenizer_of_hugging_face_counts_its_own_pieces(candidates, here):
    library = pytest.importorskip("tokenizers")
    tokenizer = library.Tokenizer(library.models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = library.pre_tokenizers.Whitespace()
    trainer = library.trainers.BpeTrainer(vocab_size=30, special_tokens=["[UNK]"])
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.save("t.json")
    _, found = values(candidates, "pieces:t.json")
    assert found == [len(tokenizer.encode(text).ids) for text in TEXTS]


def test_weights_find_the_file_beside_them_and_hold_it_to_its_digest(candidates, here, monkeypatch):
    (here / "words").write_text("low\n")
    made = ts.derive(candidates, "unknown:words")
    weights = dict.fromkeys(made.features.names, 0.0) | {made.features.names[-1]: -1.0}
    assert ts.rerank(candidates, weights) == ["low"]
    (here / "words").write_text("slow x\n")
    with pytest.raises(TunesmithError, match="is not the file that"):
        ts.rerank(candidates, weights)


@pytest.mark.parametrize(
    ("kind", "name", "data", "problem"),
    [
        ("unknown", "w", b"", "w: there is no word in it"),
        ("unknown", "w", b"\xff\xfe", "w: this is not UTF-8"),
        ("unknown", "a b", b"x", "take neither spaces nor #"),
        ("pieces", "c", b"#version: 0.2\na b\na b c\n", "c:3: 'a b c' is no pair"),
        ("pieces", "c", b'{"a": ', "this is no tokenizer.json"),
        ("pieces", "c", b"nonsense", "this is no model of SentencePiece"),
    ],
)
def test_wrong_files_are_named(candidates, here, kind, name, data, problem):
    if data[:1] == b"{":
        pytest.importorskip("tokenizers")
    if data == b"nonsense":
        pytest.importorskip("sentencepiece")
    (here / name).write_bytes(data)
    with pytest.raises(TunesmithError, match=re.escape(problem)) as caught:
        ts.derive(candidates, f"{kind}:{name}")
    assert "\n" not in str(caught.value)
