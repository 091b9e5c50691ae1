"""Small files of every text format, which are then damaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Seed:
    """Files that are read together.

    Attributes
    ----------
    kind
        What is counted: the format, mostly.
    reader
        Who reads them, by its name in ``fuzz.files.readers``.
    files
        By name; the first is the one that is given to the reader.
    options
        What the reader is told beside.
    weight
        How often it is drawn, in comparison with others.
    is_text
        Whether fields and lines are changed, too, or bytes alone.
    """

    kind: str
    reader: str
    files: Mapping[str, bytes]
    options: Mapping[str, str] = field(default_factory=dict)
    weight: float = 1.0
    is_text: bool = True

    @property
    def first(self) -> str:
        """The name of the file that is given to the reader."""
        return next(iter(self.files))


def _lists(kind: str, text: str, name: str = "a.nbest", **options: str) -> Seed:
    return Seed(kind, "lists", {name: text.encode()}, options)


MOSES = """\
0 ||| this is a text ||| LM0= -12.3 WordPenalty0= -4 TM0= -1.2 -0.4 ||| -7.9
0 ||| this is text ||| LM0= -11.8 WordPenalty0= -3 TM0= -1.9 -0.7 ||| -8.3
3 |||  ||| LM0= -6.1 WordPenalty0= -2 TM0= -0.3 1e-07 sparse_x=1 ||| -3.0
"""
CDEC = """\
0 ||| his last akt ? ||| Glue=3 WordPenalty=-1.73718 PhraseModel_0=1.716 ||| -2.54808
0 ||| his late akt ? ||| Glue=3 WordPenalty=-1.73718 PhraseModel_0=1.5 ||| -2.63437
1 ||| ja ||| Glue=1 PassThrough=1 LanguageModel=-3.5 ||| -1.5
"""
JOSHUA = """\
0 ||| a good text ||| tm_pt_0=-9.702 lm_0=-19.117 OOVPenalty=0.000 ||| -7.496
0 ||| one good text ||| tm_pt_0=-9.100 lm_0=-20.002 OOVPenalty=0.000 ||| -7.510
1 ||| Wort ||| tm_pt_0=0.000 lm_0=-4.000 OOVPenalty=-100.000 ||| -104.2
"""
UNNAMED = """\
0 ||| a good text ||| -19.117 -9.702 -1.303 ||| -7.496
1 ||| word ||| -4 0 -0.434 ||| -2.1
"""
TRAVATAR = """\
0 ||| a good text ||| -12.5 ||| Pegf=-3.25 lm=-8.5 unk=0 w=3
1 ||| Wort ||| -101 ||| lm=-4 unk=1 w=1
"""
MARIAN = """\
0 ||| This is a test . ||| F0= -2.57 F1= -3.25 ||| -0.428
0 ||| This is a trial . ||| F0= -4.81 F1= -5 ||| -0.801
1 |||  ||| F0= -0.5 F1= -0.75 ||| -0.5
"""
FAIRSEQ = """\
2020-06-01 10:00:00 | INFO | fairseq_cli.generate | loading model(s) from model.pt
S-4\tguten Tag .
T-4\tgood day.
H-4\t-0.25\tgood day .
D-4\t-0.25\tgood day.
P-4\t-0.1000 -0.2000 -0.3000
H-4\t-0.5\tgood morning .
D-4\t-0.5\tgood morning.
P-4\t-0.5000 -0.5000
S-1\tja
T-1\tyes
H-1\t-0.125\tyes
D-1\t-0.125\tyes
P-1\t-0.0625
"""
KALDI = {
    "words_text": "u-a-1 good day\nu-a-2 good\nu-b-1 \n",
    "acwt": "u-a-1 510.25 \nu-a-2 512.5 \nu-b-1 99 \n",
    "lmwt.rnn": "u-a-1\t7.125\nu-a-2\t8\nu-b-1\t1.5\n",
    "text": "u-b no\nu-a good day\nother never decoded\n",
}
NEMO = "good day\t-3.25\ngood\t-4.5\nyes\t-0.5\n\t-2\n"
PARALLEL = {
    "hyp.txt": "good day\ngood\nyes\n\n",
    "lm.txt": "-3.25\n-1.5\n-0.5\n0\n",
    "nmt.txt": "-1\n-2e-05\n-0.25\n-8\n",
    "ref.txt": "good day\nyes\n",
}
FEATURES_DAT = """\
FEATURES_TXT_BEGIN_0 0 2 4 d_0 d_1 lm_0 w_0
-2 -0.5 -12.25 -3 sp_x=1
-2 -0.75 -11.5 -3
FEATURES_TXT_END_0
FEATURES_TXT_BEGIN_0 1 1 4 d_0 d_1 lm_0 w_0
0 -0.25 -6.5 -2
FEATURES_TXT_END_0
"""
SCORES_DAT = """\
SCORES_TXT_BEGIN_0 0 2 9 BLEU
3 5 2 4 1 3 0 2 6
2 5 1 4 0 3 0 2 6
SCORES_TXT_END_0
SCORES_TXT_BEGIN_0 1 1 9 BLEU
1 2 0 1 0 0 0 0 2
SCORES_TXT_END_0
"""
JSONL = """\
{"id": "q1", "source": "a  b", "references": ["x", "y z"], "candidates": [\
{"text": "t", "features": {"f": 0.1}, "metrics": {"m": -1}}, \
{"text": "u", "features": {"f": 1e-9}, "metrics": {"m": 2}}]}
{"id": 0, "source": "c", "references": ["w"], "candidates": [\
{"text": "t", "features": {"g": 3}, "metrics": {"m": 0.25}}]}
"""
JSON_ROWS = """\
{"id": 0, "text": "good day", "reference": "good morning", "lm": -7.1, "nmt": -1.2, \
"right": true, "domain": "news", "metrics.comet": 0.81}
{"id": 1, "text": "yes", "reference": "yes", "lm": -2.5, "nmt": -0.3, "right": false, \
"domain": "law", "metrics.comet": 0.97}
{"id": 0, "text": "good", "lm": -6, "nmt": -1e-3, "right": true, "domain": "x", \
"metrics.comet": 0.85, "features.id": 2}
"""
CSV = """\
id,text,reference,source,lm,nmt,metrics.comet
0,good day,good morning,g t,-7.1,-1.2,0.81
0,"good, ""morning\""",good morning,g t,-6,-1.5,0.85
1,yes,yes,j,-2.5,-0.3,0.97
"""
CDEC_FOREST = """\
{"id":0,"features":["lm","tm"],"nodes":["X","S"],"edges":[{"head":0,"tails":[],"e":["house"],\
"span":[0,1],"feats":[0,-2.5,1,-0.5]},{"head":0,"tails":[],"e":["home"],"span":[0,1],\
"feats":[0,-3]},{"head":1,"tails":[0],"e":["the",[0]],"span":[0,2],"feats":[0,-1.0]}],\
"source":"das haus","references":["the house","a home"]}
{"id":1,"features":["lm"],"nodes":["S"],"edges":[{"head":0,"tails":[],"e":["yes"],\
"feats":[0,-1]}],"source":"ja","references":["yes"],"covered":[1]}
"""
CDEC_JSON = """\
{"rules":[1,"[S] ||| [X,1] ||| [1]",2,"[X] ||| a ||| the house"],"features":["tm","lm"],\
"edges":[{"tail":[],"spans":[0,1,-1,-1],"feats":[0,1.5,1,-2],"rule":2}],\
"node":{"in_edges":[0],"cat":"X"},"edges":[{"tail":[0],"spans":[0,1,-1,-1],"feats":[],"rule":1}],\
"node":{"in_edges":[1],"cat":"S"}}
"""
MOSES_HYPERGRAPH = """\
# target ||| features ||| source-covered
2 3
2
the house ||| LM0=-2.5 WordPenalty0=-2 ||| 2
a house ||| LM0=-3 WordPenalty0=-2 ||| 2
1
[0] . ||| LM0=-0.5 WordPenalty0=-1 ||| 3
"""
JOSHUA_HYPERGRAPH = """\
# target ||| features
4 6
1
<s> ||| tm_glue_0=0.000 lm_0=0.000
2
the house ||| lm_0=-2.500 tm_pt_0=-0.500
a ||| lm_0=-3.000
3
[1] [2] ||| tm_glue_0=-1.000 lm_0=-1.000
||| lm_0=-9.000
4
[3] </s> ||| lm_0=-0.250 OOVPenalty=0.000
"""
PLF = """\
((('the',-0.5,1),('a',-0.75,1),),(('house',-1.0,1),('home',-2,1),),)
((('x y',{'lm': -1.5, 'tm': 2},2),('don\\'t',-0.5,1),),(('z',-1,1),),)
"""
KALDI_LATTICE = """\
u1\x20
0 1 7 5.25,0,
1 2 8 8.0,1099.5,
1 2 9 12.5,8342.75,3_1_1
2 0.5,2,3464

u2\x20
0 1 7 1,2,3
1

"""
HTK = """\
VERSION=1.0
UTTERANCE=testf1.mfc
lmscale=20.00 wdpenalty=-30.00
N=4    L=5
I=0    t=0.00
I=1    t=0.36
I=2    t=0.75
I=3    t=2.48
J=0     S=0    E=1    W=SILENCE    v=0  a=-3239.01  l=0.00
J=1     S=1    E=2    W=FOUR       v=0  a=-3820.77  l=0.00
J=2     S=1    E=2    W=FOR        v=1  a=-3821.5   l=-1.25
J=3     S=2    E=3    W=!NULL      v=0  a=-246.99   l=-1.20
J=4     S=2    E=3    W="SEV\\"EN" v=0  a=-250      l=-0.5   d=:s,0.03:eh,0.04:
"""
RULES = """\
[X] ||| das ||| the ||| PhraseModel_0=0.25 PhraseModel_1=0.5 ||| 0-0
[X] ||| [X,1] ist [X,2] ||| [1] is [2] ||| PhraseModel_0=0.25 ||| 1-1
[X] ||| haus ||| house ||| 0.5 0.25
[S] ||| [S,1] [X,2] ||| [1] [2] ||| Glue=1
"""
JOSHUA_RULES = """\
[X] ||| das ||| the ||| 0.25 0.5 lex=1 ||| 0-0
[X] ||| [X,1] ist [X,2] ||| [X,1] is [X,2] ||| 0.25 1 ||| 1-1
[GOAL] ||| [GOAL,1] [X,2] ||| [GOAL,1] [X,2] ||| -1
"""
ARPA = """\
\\data\\
ngram 1=5
ngram 2=2
ngram 3=1

\\1-grams:
-2.0\t<unk>
-12\t<s>\t-0.5
-1.0\t</s>
-0.75\tthe\t-0.25
-1.25\thouse\t-0.5

\\2-grams:
-0.5\t<s> the\t-0.25
-0.5\tthe house

\\3-grams:
-0.125\t<s> the house

\\end\\
"""
JOSHUA_CONFIG = """\
# a comment
tm = thrax -owner pt -maxspan 12 -path grammar
tm = hiero glue -1 glue
feature-function = LanguageModel -lm_type kenlm -lm_order 3 -lm_file lm.arpa
default-non-terminal = [X]
goalSymbol = GOAL
pop-limit = 30
top_n = 300
mark-oovs=true
feature-function = WordPenalty
feature-function = OOVPenalty
feature-function = PhrasePenalty -owner pt

lm_0 1.5
tm_pt_0 -2
WordPenalty -2.8
"""
MOSES_INI = """\
# comment
[feature]
KENLM name=LM0 factor=0 order=3

[weight]
# the weights
LM0= 0.5
TM0= 0.1 0.2 0.3

[threads]
2
"""


def _weights(kind: str, text: str, name: str = "weights") -> Seed:
    return Seed(kind, "weights", {name: text.encode()})


def _forests(kind: str, text: str, name: str = "0.txt", **options: str) -> Seed:
    return Seed(kind, "forests", {name: text.encode()}, options)


def _several(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in texts.items()}


PLAIN_REFERENCES = {"a.nbest": MOSES, "ref0": "a\nb\nc\nd e\n", "ref1": "x\n\nb  c\nd\n"}
FOREST_REFERENCES = {"f.jsonl": CDEC_FOREST, "ref": "the house\nyes\n"}
KALDI_TABLES = {
    "lat": KALDI_LATTICE,
    "words.txt": "<eps> 0\nthe 7\nhouse 8\nhome 9\n",
    "text": "u2 the\nu1 the house\n",
}
TEXT_SEEDS = (
    *(_lists("moses", MOSES), _lists("cdec", CDEC), _lists("joshua", JOSHUA)),
    *(_lists("joshua", UNNAMED), _lists("travatar", TRAVATAR), _lists("marian", MARIAN)),
    *(_lists("fairseq", FAIRSEQ), _lists("jsonl", JSONL), _lists("csv", CSV)),
    _lists("fairseq", FAIRSEQ, format="fairseq:text=tokenised"),
    _lists("jsonl", JSON_ROWS),
    _lists("tsv", CSV.replace(",", "\t")),
    _lists("moses", MOSES, format="moses"),
    _lists("nemo", NEMO, format="nemo:per-source=2"),
    Seed("kaldi", "lists", _several(KALDI)),
    Seed(
        "parallel",
        "lists",
        _several(PARALLEL),
        {"format": "parallel:per-source=2", "scores": "lm.txt nmt.txt", "references": "ref.txt"},
    ),
    Seed(
        "moses-data",
        "lists",
        _several({"r.features.dat": FEATURES_DAT, "r.scores.dat": SCORES_DAT}),
    ),
    _lists("moses-data", FEATURES_DAT + SCORES_DAT),
    Seed("references", "lists", _several(PLAIN_REFERENCES), {"references": "ref0 ref1"}),
    _forests("cdec-forest", CDEC_FOREST, "f.jsonl"),
    _forests("cdec-json", CDEC_JSON),
    _forests("moses-hypergraph", MOSES_HYPERGRAPH),
    _forests("joshua-hypergraph", JOSHUA_HYPERGRAPH),
    *(
        _forests("plf", PLF),
        _forests("plf", "((('a',0.5,1),),)\n", format="plf:scores=probabilities"),
    ),
    _forests("kaldi-lattice", KALDI_LATTICE),
    Seed(
        "kaldi-lattice",
        "forests",
        _several(KALDI_TABLES),
        {"format": "kaldi-lattice:words={folder}/words.txt,references={folder}/text"},
    ),
    _forests("htk", HTK, "a.lat"),
    Seed("forest references", "forests", _several(FOREST_REFERENCES), {"references": "ref"}),
    _weights("weights json", '{"LM0": 0.5, "TM0_1": 0.2, "x y": -1}'),
    _weights("weights json", '{"schema": "tunesmith.tune/1", "weights": {"a": 0.5, "b": -1}}'),
    _weights("weights moses", "LM0= 0.5\nTM0= 0.2 0.2\n# c\nWordPenalty0= -1\n"),
    _weights("weights moses-ini", MOSES_INI),
    _weights("weights cdec", "# c\nLanguageModel 0.5\nWordPenalty -1\nGlue 0.01\n"),
    _weights("weights travatar", "# c\nlm=0.5 w=-1\nPegf=1\n"),
    _weights("weights yaml", "lm: 0.5\n'a b': -1  # c\nw: 1e-3\n"),
    _weights("weights yaml", "name: x\nweights:\n  lm: 0.5\n  w: -1\n"),
    Seed("grammar cdec", "grammar", _several({"grammar": RULES}), {"conventions": "cdec"}),
    Seed(
        "grammar joshua", "grammar", _several({"grammar": JOSHUA_RULES}), {"conventions": "joshua"}
    ),
    Seed("arpa", "arpa", _several({"lm.arpa": ARPA})),
    Seed("joshua.config", "joshua_config", _several({"joshua.config": JOSHUA_CONFIG})),
)
