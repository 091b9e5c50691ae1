"""Make the runs of this folder: two retrievers on the text of the catalogs.

A query is what a neural translator made of a German message; the document that answers it is the
English message of the catalog, where that is another text. The documents are all English messages
in the bundled lists and in ``examples/catalogs``. One retriever weighs words (bm25s), the other
compares pieces of words (TF-IDF of 3 to 5 characters, scikit-learn).

    pip install bm25s scikit-learn
    python make.py
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import bm25s
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LISTS = ROOT / "src" / "tunesmith" / "bundled_neural"
QUERIES, DEPTH = 100, 20


def main() -> None:
    """Write runs and judgements."""
    texts = dict.fromkeys(
        line
        for path in [
            *sorted(LISTS.glob("*.ref")),
            *sorted((ROOT / "examples/catalogs").glob("*.en*")),
        ]
        for line in lines_of(path)
        if line
    )
    names = {text: f"d{k:05d}" for k, text in enumerate(texts)}
    queries, qrels = {}, {"qrels.txt": [], "test.qrels.txt": []}
    for part, out in (("dev", "qrels.txt"), ("test", "test.qrels.txt")):
        references = lines_of(LISTS / f"{part}.ref")
        for number, text in first_candidates(LISTS / f"{part}.jsonl.gz").items():
            if text == references[number]:
                continue
            query = f"{part}-{number}"
            if len(qrels[out]) < QUERIES:
                queries[query] = text
                qrels[out].append(f"{query} 0 {names[references[number]]} 1\n")
    for out, lines in qrels.items():
        (HERE / out).write_text("".join(lines), encoding="utf-8")
    documents = list(texts)
    retriever = bm25s.BM25()
    retriever.index(
        bm25s.tokenize(documents, stopwords="en", show_progress=False), show_progress=False
    )
    tokens = bm25s.tokenize([*queries.values()], stopwords="en", show_progress=False)
    found, scores = retriever.retrieve(tokens, k=DEPTH, show_progress=False, n_threads=1)
    write("words.run.gz", queries, documents, names, found, scores)
    pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    index = pieces.fit_transform(documents)
    alike = (pieces.transform([*queries.values()]) @ index.T).toarray()
    found = np.argsort(-alike, axis=1, kind="stable")[:, :DEPTH]
    write(
        "pieces.run.gz", queries, documents, names, found, np.take_along_axis(alike, found, axis=1)
    )


def write(out, queries, documents, names, found, scores) -> None:
    """Write a run in TREC's format."""
    tag = out.removesuffix(".run.gz")
    lines = [
        f"{query} Q0 {names[documents[row]]} {rank} {score:.4f} {tag}\n"
        for query, rows, values in zip(queries, found, scores, strict=True)
        for rank, (row, score) in enumerate(zip(rows, values, strict=True), 1)
        if score > 0
    ]
    (HERE / out).write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file, compressed or not."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().split("\n")[:-1]


def first_candidates(path: Path) -> dict[int, str]:
    """Return the translator's own choice for each sentence."""
    first: dict[int, str] = {}
    for line in lines_of(path):
        candidate = json.loads(line)
        first.setdefault(candidate["id"], candidate["text"])
    return first


if __name__ == "__main__":
    main()
