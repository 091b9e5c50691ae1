"""Have espeak-ng speak sentences of examples/catalogs, and pocketsphinx recognise them.

Writes, for sentences to tune on and to test on, into the folder ``--out``:

    PART.ref            what was said, a line for each utterance
    PART.conditions     how it was said: voice, words a minute, signal-to-noise ratio in dB
    PART.heard          what pocketsphinx returns
    PART.lat.gz         lattices in Kaldi's text form, with costs: graph is the language model's
    PART.tsv            the best hypotheses of each lattice in NeMo's format: text, tab, acoustic
                        score; if a lattice has fewer texts, its last one is there several times
    PART.lm.txt         the language model's score of each of them
    lattices.json, lists.json
                        pocketsphinx' own weights, by the names of features in both

pocketsphinx decodes with a language model of three words that tunesmith estimates from
``train.en.gz``. Its lattices have no scores of it, so ``lattices.py`` adds them.

Needs ``espeak-ng`` (Debian's package) and ``pip install pocketsphinx``.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import io
import itertools
import json
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import wave
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lattices import Scale, Utterance, kaldi_lines, with_language_model
from numpy.typing import NDArray
from scipy.signal import resample_poly

import tunesmith as ts
from tunesmith.hiero.training.lm.kneser_ney import estimate
from tunesmith.inference.forests.lists import kbest_lists

HERE = Path(__file__).resolve().parent
#: Samples a second that the acoustic model was trained on.
RATE = 16000
VOICES = ("en-us", "en-us+f2", "en-us+m3", "en-us-nyc", "en-gb")
SPEEDS = (130, 145, 160)
NOISE = (15, 20, 30)
#: Words of the sentences that are spoken.
SHORTEST, LONGEST = 4, 12
PARTS = ("tune", "test")
#: The weights with which pocketsphinx looks for the best path of a lattice by default: -bestpathlw,
#: and the logarithm of -wip, which is applied at -lw, 6.5, and scaled with the language model.
SCALE = Scale(language=9.5, word=math.log(0.65) * 9.5 / 6.5)
#: Arcs of a lattice, at most.
ARCS = 200
#: The search is wider than by default, which is meant for small computers.
BEAMS = {"beam": 1e-60, "wbeam": 1e-40, "pbeam": 1e-60}


@dataclass(frozen=True)
class Speech:
    """A sentence, and how it is said."""

    words: tuple[str, ...]
    voice: str
    speed: int
    decibels: int
    seed: int

    def samples(self) -> NDArray[np.int16]:
        """Speak it, with a fifth of a second of silence around it and noise over all."""
        command = ["espeak-ng", "--stdout", "-v", self.voice, "-s", str(self.speed)]
        spoken = subprocess.run(
            [*command, " ".join(self.words)], stdout=subprocess.PIPE, check=True
        ).stdout
        with wave.open(io.BytesIO(spoken)) as file:
            rate = file.getframerate()
            frames = np.frombuffer(spoken[44:], "<i2").astype(np.float64)
        common = math.gcd(rate, RATE)
        sound = np.pad(resample_poly(frames, RATE // common, rate // common), RATE // 5)
        noise = pink_noise(len(sound), np.random.default_rng(self.seed))
        loudness = math.sqrt(float(np.mean(sound**2)))
        sound = sound + noise * loudness * 10 ** (-self.decibels / 20)
        return (sound * (10000 / np.abs(sound).max())).astype("<i2")


def pink_noise(length: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw noise that is weaker at higher frequencies, as that of rooms and streets."""
    spectrum = np.fft.rfft(rng.standard_normal(length))
    noise = np.fft.irfft(spectrum / np.sqrt(np.arange(len(spectrum)) + 50), length)
    return noise / noise.std()


def sentences(path: Path, known: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a text without punctuation, if all words are in the dictionary."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            words = tuple(word for word in line.split() if any(map(str.isalnum, word)))
            if words and known.issuperset(words):
                yield words


def spoken(path: Path, known: frozenset[str], limit: int, seed: int) -> list[Speech]:
    """Choose the voice, the speed and the noise of each sentence to be spoken."""
    rng = np.random.default_rng(seed)
    fitting = [words for words in sentences(path, known) if SHORTEST <= len(words) <= LONGEST]
    return [
        Speech(
            words,
            VOICES[rng.integers(len(VOICES))],
            SPEEDS[rng.integers(len(SPEEDS))],
            NOISE[rng.integers(len(NOISE))],
            int(rng.integers(2**32)),
        )
        for words in fitting[:limit]
    ]


class Recogniser:
    """pocketsphinx with a language model."""

    def __init__(self, model: str) -> None:
        import pocketsphinx

        self.decoder = pocketsphinx.Decoder(
            lm=model, samprate=RATE, cmn="batch", loglevel="FATAL", **BEAMS
        )
        self.model = self.decoder.get_lm("_default")

    def probability(self, word: str, *before: str) -> float:
        """Return the logarithm of the probability of a word after others, the last one first."""
        return float(self.decoder.logmath.log_to_ln(self.model.prob([word, *before])))

    def recognise(self, speech: Speech) -> Utterance:
        """Return what it hears, with a lattice of what it has considered."""
        # What it has learnt of the noise of one utterance is of no use for the next.
        self.decoder.reinit_feat()
        self.decoder.start_utt()
        self.decoder.process_raw(speech.samples().tobytes(), full_utt=True)
        self.decoder.end_utt()
        heard = self.decoder.hyp()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "0.lat")
            self.decoder.get_lattice().write(path)
            lattice = ts.read_forests(path, format="sphinx")
        arcs = with_language_model(lattice, self.probability, SCALE, ARCS)
        return Utterance(heard.hypstr if heard else "", arcs)


_recogniser: Recogniser


def _begin(model: str) -> None:
    global _recogniser  # noqa: PLW0603  (what a process of a pool has, it has globally)
    _recogniser = Recogniser(model)


def _recognise(speech: Speech) -> Utterance:
    return _recogniser.recognise(speech)


def write_lists(folder: Path, part: str, size: int) -> None:
    """Write the best hypotheses of each lattice, as many of each, as NeMo's beam search does."""
    lattices = ts.derive(ts.read_forests(folder / f"{part}.lat.gz"), ["words"])
    given = {"acoustic": 1.0, "graph": SCALE.language, "derived:words": SCALE.word}
    lists = kbest_lists(lattices, np.array([given[name] for name in lattices.names]), size)
    values = {name: lists.features.dense[i].tolist() for i, name in enumerate(lattices.names)}
    texts = [lists.text(row) for row in range(len(lists))]
    rows = [
        min(row, last - 1)
        for first, last in itertools.pairwise(lists.start.tolist())
        for row in range(first, first + size)
    ]
    write(folder / f"{part}.tsv", [f"{texts[row]}\t{values['acoustic'][row]:.2f}" for row in rows])
    write(folder / f"{part}.lm.txt", [f"{values['graph'][row]:.3f}" for row in rows])


def write(path: Path, lines: Iterable[str]) -> None:
    """Write a text file."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def check_programs() -> None:
    """End if what this needs is not there."""
    if shutil.which("espeak-ng") is None:
        sys.exit("espeak-ng is not installed; on Debian and Ubuntu: apt install espeak-ng")
    if importlib.util.find_spec("pocketsphinx") is None:
        sys.exit("pocketsphinx is not installed; pip install pocketsphinx")


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Speak sentences, and recognise them.")
    parser.add_argument("--data", type=Path, default=HERE.parent / "catalogs")
    parser.add_argument("--out", type=Path, default=HERE / "data")
    parser.add_argument("--utterances", type=int, default=150, help="of each part, at most")
    parser.add_argument("--list-size", type=int, default=20)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    return parser.parse_args()


def main() -> None:
    """Speak, recognise, write."""
    check_programs()
    given = options()
    from pocketsphinx import get_model_path

    with Path(get_model_path(), "en-us", "cmudict-en-us.dict").open(encoding="utf-8") as lines:
        known = frozenset(line.split()[0] for line in lines)
    given.out.mkdir(parents=True, exist_ok=True)
    model = given.out / "model.arpa"
    text = [" ".join(words) for words in sentences(given.data / "train.en.gz", known)]
    estimate(text, order=3).write_arpa(model)
    for file, names in (("lattices", ("acoustic", "graph")), ("lists", ("score", "lm"))):
        own = (1.0, SCALE.language, SCALE.word)
        weights = dict(zip([*names, "derived:words"], own, strict=True))
        write(given.out / f"{file}.json", [json.dumps(weights)])
    with multiprocessing.Pool(given.processes, _begin, (str(model),)) as pool:
        for seed, part in enumerate(PARTS):
            said = spoken(given.data / f"{part}.en", known, given.utterances, seed)
            heard = pool.map(_recognise, said, chunksize=4)
            write(given.out / f"{part}.ref", [" ".join(one.words) for one in said])
            how = [f"{one.voice}\t{one.speed}\t{one.decibels}" for one in said]
            write(given.out / f"{part}.conditions", how)
            write(given.out / f"{part}.heard", [one.heard for one in heard])
            with gzip.open(given.out / f"{part}.lat.gz", "wt", encoding="utf-8") as file:
                for number, one in enumerate(heard):
                    file.writelines(f"{line}\n" for line in kaldi_lines(str(number), one.arcs))
            write_lists(given.out, part, given.list_size)
            print(f"{part}: {len(said)} utterances, {sum(len(one.arcs) for one in heard)} arcs")


if __name__ == "__main__":
    main()
