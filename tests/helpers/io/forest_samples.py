"""A sample of each forest format, as its program writes it."""

from __future__ import annotations

# Made by hand, with the keys that real lines have.
CDEC = {
    "id": 3,
    "features": ["LM", "Glue"],
    "nodes": ["X", "X", "S"],
    "edges": [
        {"head": 0, "tails": [], "e": ["the", "house"], "span": [0, 2], "feats": [0, -1.5]},
        {"head": 1, "tails": [], "e": [], "span": [2, 3], "feats": []},
        {"head": 2, "tails": [0, 1], "e": [[1], ",", [0]], "span": [0, 3], "feats": [1, 1, 0, 2]},
    ],
}
# Made by hand: "edges" and "node" come again for each node, as cdec writes them; null, names and
# rules in place of numbers are what its reader takes too.
CDEC_JSON = (
    r'{"rules":[1,"[X] ||| das haus ||| the \/ house ||| LM=1;TM=2",'
    r'2,"[X] ||| klein ||| small ||| 0.5",'
    r'3,"[S] ||| [X,1] und [X,2] ||| [2] and [1]",4,"[Goal] ||| [S,1] ||| [S,1]"],'
    r'"features":["Glue","LM","TM"],'
    r'"edges":[{"tail":[],"spans":[0,2,-1,-1],"feats":[1,-2.5,2,1],"rule":1}],'
    r'"node":{"in_edges":[0],"cat":"X","node_hash":"00000000000000AB"},'
    r'"edges":[{"tail":null,"spans":[2,3,-1,-1],"feats":null,"rule":2},'
    r'{"tail":[],"spans":[2,3,-1,-1],"feats":["Extra",1e-2],"rule":"[X] ||| klein ||| little"}],'
    r'"node":{"in_edges":[2,1],"cat":"X"},'
    r'"edges":[{"tail":[0,1],"spans":[0,3,-1,-1],"feats":[0,1],"rule":3}],'
    r'"node":{"in_edges":[3],"cat":"S"},'
    r'"edges":[{"tail":[2],"spans":[0,3,-1,-1],"feats":[],"rule":4}],'
    r'"node":{"in_edges":[4],"cat":"Goal"}}'
    "\n"
)
#: The kind of lattice that HVite writes (section 13.7 of the HTK Book), cut down to five arcs.
HTK = """VERSION=1.0
UTTERANCE=testf1.mfc
lmname=wdnet
lmscale=20.00 wdpenalty=-30.00
vocab=dict
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
#: Nodes in post-order, the goal left out. Dense features stand on every hyperedge.
JOSHUA = """# target ||| features
4 6
1
<s> ||| tm_glue_0=0.000 lm_0=0.000
2
the house ||| tm_glue_0=0.000 lm_0=-2.500 tm_pt_0=-0.500
a ||| tm_glue_0=0.000 lm_0=-3.000
3
[1] [2] ||| tm_glue_0=-1.000 lm_0=-1.000
||| tm_glue_0=0.000 lm_0=-9.000
4
[3] </s> ||| tm_glue_0=0.000 lm_0=-0.250 OOVPenalty=0.000
"""
#: The beginning of the example in lattices.dox, after int2sym.pl -f 3, with an end of our own.
KALDI = """444c0410\x20
0 1 <s> 5.27832,0,
1 2 <UNK> 8.08116,1099.84,
1 3 A 12.8737,8342.93,3_1_1_1_12_18_17
2 4 NOT 12.4568,10548.7,3_1_1_1
3 4 <eps>
4 0.5,2,3464_3596

"""
# The last lines of a real graph are like these; '#' is a word.
MOSES = """\
# target ||| features ||| source-covered
4 5
# node 0
1
<s> |||  ||| 0
# node 1
2
[0] a house  ||| WordPenalty0=-2.000000 LM0=-3.5 TM0_1=1e-3  ||| 1
# house [0] ||| LM0=-4 LM0=-1 a=b=2 ||| 1
1
[1] . ||| Distortion0=0 ||| 3
# node 3
1
[2] </s> |||  ||| 3
"""
#: The example of Moses' manual: ways to split German compounds.
PLF = (
    "((('einen',1.0,1),),(('wettbewerbsbedingten',0.5,2),('wettbewerbs',0.25,1),"
    "('wettbewerb',0.25, 1),),(('bedingten',1.0,1),),(('preissturz',0.5,2),('preis',0.5,1),),"
    "(('sturz',1.0,1),),)\n"
)
