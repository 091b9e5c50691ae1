# ruff: noqa: D100, D101, D102, E402, I001, T201
# Examples on the pages of the reference. "# === NAMES" begins that of some objects; NAME stands for
# each of them. tests/docs/test_reference.py runs all, in a folder with the bundled lists.

# === read, CandidateSet, Features
import tunesmith as ts

candidates = ts.read("tune.nbest.gz", references="tune.ref")
print(len(candidates.ids), candidates.features.names[:3], candidates.text(0))

# === merge
import tunesmith as ts

rounds = [ts.read("tune.nbest.gz"), ts.read("tune.nbest.gz")]
both = ts.merge(rounds)  # the same candidate twice is one

# === synthetic
import tunesmith as ts

candidates, gold = ts.synthetic(sentences=50, candidates=20, features=10, noise=0.1, rng=1)
result = ts.MERT(restarts=2).fit(ts.TuningSet(candidates, "column:score"))

# === from_frame, winning_rows
import pandas as pd
import tunesmith as ts

frame = pd.DataFrame(
    {
        "id": [0, 0, 1, 1],
        "text": ["yes", "no", "4", "5"],
        "helpful": [0.2, 0.9, 0.5, 0.4],
        "factual": [0.8, 0.1, 0.7, 0.3],
        "correct": [1, 0, 1, 0],
    }
)
answers = ts.from_frame(frame, columns=["correct"])
result = ts.MERT().fit(ts.TuningSet(answers, "column:correct"))
best = frame.iloc[ts.winning_rows(answers, result.weights)]

# === from_arrays, Column
import numpy as np
import tunesmith as ts

answers = ts.from_arrays(
    groups=[0, 0, 1, 1],
    features={"reward": np.array([0.2, 0.9, 0.5, 0.4]), "length": np.array([3, 9, 4, 5])},
    columns={"correct": np.array([1, 0, 0, 1])},
)
result = ts.MERT().fit(ts.TuningSet(answers, ts.Column("correct")))

# === Reading
import tunesmith as ts

reading = ts.Reading(missing="mean", features=("*_score",))
with open("answers.csv", "w") as file:
    file.write("id,text,lm_score,nmt_score,correct\n0,a,1.5,,1\n0,b,0.5,2.5,0\n")
answers = ts.read("answers.csv", columns=["correct"], reading=reading)

# === write, to_columns
import tunesmith as ts

candidates = ts.read("tune.nbest.gz", references="tune.ref")
ts.write(candidates, "tune.jsonl.gz")
columns = ts.to_columns(candidates)  # pandas.DataFrame(columns) is a frame

# === derive
import tunesmith as ts

candidates = ts.derive(ts.read("tune.nbest.gz"), ["words", "agreement"])

# === Weights, read_weights, rerank
import tunesmith as ts

weights = ts.read_weights("weights.initial").weights
print(weights["LM0"])
outputs = ts.rerank(ts.read("test.nbest.gz"), weights)

# === TuningSet, BLEU, Metric
import tunesmith as ts

candidates = ts.read("tune.nbest.gz", references="tune.ref")
tuning = ts.TuningSet(candidates, ts.BLEU(lowercase=True))  # or "bleu:lowercase=true"
print(tuning.oracle().score)

# === SentenceBLEU
import tunesmith as ts

metric = ts.SentenceBLEU()
print(metric.score(metric.stats("the red house", ["the house is red"])))

# === TER, CHRF, WER, CER
import tunesmith as ts

candidates = ts.read("tune.nbest.gz", references="tune.ref")
for metric in (ts.TER(), ts.CHRF(word_order=2), ts.WER(), ts.CER()):
    print(metric.name, ts.TuningSet(candidates, metric).oracle().score)

# === Sum, Harmonic, Minimum
import tunesmith as ts

candidates = ts.read("tune.nbest.gz", references="tune.ref")
tuning = ts.TuningSet(candidates, ts.Sum(["bleu", "chrf"], weights=[0.5, 0.5]))

# === MERT, TuneResult
import tunesmith as ts

candidates = ts.read("tune.nbest.gz", references="tune.ref")
start = ts.read_weights("weights.initial").weights
tuner = ts.MERT(restarts=2, bound={"LM0": "0:"})
result = tuner.fit(ts.TuningSet(candidates, "bleu"), start=start, rng=1)
print(result)
outputs = ts.rerank(ts.read("test.nbest.gz"), result.weights)

# === Auto, PRO, BatchMIRA, MIRA, AROW, SGD, Perceptron, MinRisk, Ramp
import tunesmith as ts

candidates = ts.read("tune.nbest.gz", references="tune.ref")
start = ts.read_weights("weights.initial").weights
result = ts.NAME().fit(ts.TuningSet(candidates, "bleu"), start=start, rng=1)
print(result)

# === Plane
import tunesmith as ts

candidates = ts.read("tune.nbest.gz", references="tune.ref")
start = ts.read_weights("weights.initial").weights
tuner = ts.Plane(features=("LM0", "WordPenalty0"), time_limit=20)
result = tuner.fit(ts.TuningSet(candidates, "bleu"), start=start)

# === LPMERT
import tunesmith as ts

candidates, _ = ts.synthetic(sentences=4, candidates=10, features=3, noise=50.0, rng=1)
result = ts.LPMERT(time_limit=20).fit(ts.TuningSet(candidates, "column:score"))
print(result.certificate)

# === certify
import tunesmith as ts

candidates = ts.read("tune.nbest.gz", references="tune.ref")
weights = ts.read_weights("weights.initial").weights
certificate = ts.certify(ts.TuningSet(candidates, "sentence-bleu"), weights, time_limit=2)

# === Callback, Step
import tunesmith as ts


class Printer(ts.Callback):
    def on_step(self, step):
        print(step.number, step.figures)


candidates = ts.read("tune.nbest.gz", references="tune.ref")
result = ts.PRO().fit(ts.TuningSet(candidates, "bleu"), callbacks=[Printer()])

# === error_surface, write_surface
import tunesmith as ts

tuning = ts.TuningSet(ts.read("tune.nbest.gz", references="tune.ref"), "bleu")
weights = ts.read_weights("weights.initial").weights
surface = ts.error_surface([tuning], weights, features=["LM0"])
ts.write_surface(surface, "surface.html")

# === compare, Comparison
import tunesmith as ts

systems = {name: ts.read_weights(f"weights.{name}").weights for name in ("initial", "final")}
candidates = ts.read("test.nbest.gz", references="test.ref")
print(ts.compare(systems, ["bleu", "ter"], candidates=candidates))

# === write_report
import tunesmith as ts

tuning = ts.TuningSet(ts.read("tune.nbest.gz", references="tune.ref"), "bleu")
result = ts.PRO().fit(tuning)
ts.write_report(result, "report.html", tuning=tuning)

# === CommandDecoder, Loop, Inputs
import tunesmith as ts

command = "python3 decoder.py {weights} {nbest_size}"  # your own program
decoder = ts.CommandDecoder(command=command, nbest_size=5)
tune = ts.Inputs.read("source.txt", "references.txt")
start = ts.read_weights("start.json").weights
result = ts.Loop(rounds=5).run(decoder, ts.MERT(), tune, start=start, metric="sentence-bleu")

# === vote, Vote
import numpy as np
import tunesmith as ts

votes = {"forest": np.array([0.9, 0.4, 0.2, 0.6]), "logistic": np.array([0.8, 0.6, 0.1, 0.3])}
fit = ts.vote(votes, y=[1, 1, 0, 0], metric="accuracy", folds=0)
print(fit.weights)

# === fuse, Fused, from_runs
import tunesmith as ts

runs = {
    "bm25": {"q1": {"d1": 3.2, "d2": 2.9}, "q2": {"d1": 1.0, "d3": 2.0}},
    "dense": {"q1": {"d2": 0.9, "d3": 0.4}, "q2": {"d1": 0.8, "d2": 0.3}},
}
qrels = {"q1": {"d2": 1}, "q2": {"d1": 1}}
fused = ts.fuse(ts.from_runs(runs, qrels), metric="ndcg@10", folds=0)
print(fused.weights)

# === threads, device
import tunesmith as ts

with ts.threads(1):
    candidates = ts.read("tune.nbest.gz", references="tune.ref")

# === interruptible
import tunesmith as ts

tuning = ts.TuningSet(ts.read("tune.nbest.gz", references="tune.ref"), "bleu")
with ts.interruptible():  # Ctrl-C within this block ends with the best weights so far
    result = ts.PRO().fit(tuning)
