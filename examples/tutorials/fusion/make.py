"""Make the fifteen runs of this folder: retrievers on the text of the catalogs.

Queries and documents are as in ``../search``: a query is what a neural translator made of a German
message, the document that answers it is the English message of the catalog, where that is another
text, and all English messages are searched. Two of the runs search for the five best translations
together. Judgements to tune on are of other queries than those to test on.

    pip install bm25s scikit-learn rapidfuzz
    python make.py
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import bm25s
import numpy as np
from rapidfuzz import fuzz, process
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import normalize

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LISTS = ROOT / "src" / "tunesmith" / "bundled_neural"
#: Queries of each set, documents of a run, and translations that are searched for together.
QUERIES, DEPTH, TOGETHER = 120, 10, 5

Search = Callable[[list[str], list[str]], np.ndarray]


def bm25(stopwords: str | None = "en", **options) -> Search:
    """Return a search for words."""

    def search(documents: list[str], queries: list[str]) -> np.ndarray:
        retriever = bm25s.BM25(**options)
        tokens = bm25s.tokenize(documents, stopwords=stopwords, show_progress=False)
        retriever.index(tokens, show_progress=False)
        asked = bm25s.tokenize(queries, stopwords=stopwords, return_ids=False, show_progress=False)
        return np.stack([retriever.get_scores(words) for words in asked])

    return search


def cosine(vectorizer: CountVectorizer, topics: int = 0) -> Search:
    """Return a search by the angle between vectors, or between their topics."""

    def search(documents: list[str], queries: list[str]) -> np.ndarray:
        index, asked = vectorizer.fit_transform(documents), vectorizer.transform(queries)
        if topics:
            reduce = TruncatedSVD(topics, random_state=1)
            return normalize(reduce.fit_transform(index)) @ normalize(reduce.transform(asked)).T
        return (normalize(index) @ normalize(asked).T).toarray()

    return lambda documents, queries: search(documents, queries).T


def edits(documents: list[str], queries: list[str]) -> np.ndarray:
    """Return a search by the share of characters that two messages have in common."""
    return process.cdist(queries, documents, scorer=fuzz.ratio, workers=-1)


def pieces(*lengths: int) -> TfidfVectorizer:
    """Return vectors of pieces of words."""
    return TfidfVectorizer(analyzer="char_wb", ngram_range=lengths, sublinear_tf=True)


#: Those that end in -of-five search for several translations together.
RETRIEVERS: dict[str, Search] = {
    "bm25": bm25(),
    "bm25-of-five": bm25(),
    "bm25-flat": bm25(k1=0.6, b=0.2),
    "bm25-plus": bm25(method="bm25+"),
    "bm25-stop": bm25(stopwords=None),
    "words": cosine(TfidfVectorizer(sublinear_tf=True)),
    "pairs": cosine(TfidfVectorizer(sublinear_tf=True, ngram_range=(2, 2), token_pattern=r"\S+")),
    "phrases": cosine(TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 3))),
    "overlap": cosine(CountVectorizer(binary=True)),
    "topics": cosine(TfidfVectorizer(sublinear_tf=True), topics=100),
    "pieces-3": cosine(pieces(3, 3)),
    "pieces-4": cosine(pieces(4, 4)),
    "pieces-3-5": cosine(pieces(3, 5)),
    "pieces-of-five": cosine(pieces(3, 5)),
    "edits": edits,
}


def main() -> None:
    """Write runs and judgements."""
    files = [*sorted(LISTS.glob("*.ref")), *sorted((ROOT / "examples/catalogs").glob("*.en*"))]
    texts = dict.fromkeys(line for path in files for line in lines_of(path) if line)
    names = {text: f"d{k}" for k, text in enumerate(texts)}
    queries: dict[str, list[str]] = {}
    for part, out in (("tune", "qrels.txt"), ("test", "test.qrels.txt")):
        references = lines_of(LISTS / f"{part}.ref")
        judged = []
        for number, candidates in best_candidates(LISTS / f"{part}.jsonl.gz").items():
            if candidates[0] != references[number] and len(judged) < QUERIES:
                queries[f"{part}-{number}"] = candidates
                judged.append(f"{part}-{number} 0 {names[references[number]]} 1\n")
        (HERE / out).write_text("".join(judged), encoding="utf-8")
    documents = list(texts)
    for name, search in RETRIEVERS.items():
        count = TOGETHER if name.endswith("-of-five") else 1
        asked = [" ".join(candidates[:count]) for candidates in queries.values()]
        write(name, [*queries], [*names.values()], search(documents, asked))


def write(name: str, queries: list[str], names: list[str], scores: np.ndarray) -> None:
    """Write the best documents as a run in TREC's format."""
    lines = []
    for query, row in zip(queries, scores, strict=True):
        best = np.argsort(-row, kind="stable")[:DEPTH]
        for rank, k in enumerate(best[row[best] > 0], 1):
            lines.append(f"{query} Q0 {names[k]} {rank} {row[k]:.4g} {name}\n")
    (HERE / f"{name}.run.gz").write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file, compressed or not."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().split("\n")[:-1]


def best_candidates(path: Path) -> dict[int, list[str]]:
    """Return the translations of each sentence in the translator's own order."""
    found: dict[int, list[str]] = {}
    for line in lines_of(path):
        candidate = json.loads(line)
        found.setdefault(candidate["id"], []).append(candidate["text"])
    return found


if __name__ == "__main__":
    main()
