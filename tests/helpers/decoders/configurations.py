"""Configurations and weights of decoders, as users write them."""

from __future__ import annotations

CDEC_WEIGHTS = """# by hand
Glue 0.01
LanguageModel 0.1
PassThrough -0.1

PhraseModel_0 -0.1
PhraseModel_1   -1e-1
PhraseModel_2 -0.1
WordPenalty -0.1
"""
JOSHUA_SETTINGS = """# trained with care
tm = thrax -owner pt -maxspan 20 -path grammar.gz
feature-function = WordPenalty
pop_limit = 100
"""
JOSHUA_WEIGHTS = """
# and the weights
tm_pt_0 -0.1
  tm_pt_1   0.2
tm_pt_2 3e-1
lm_0 1
WordPenalty -2.5
"""
MOSES_INI = """# trained with care
[input-factors]
0

[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=model/pt.gz
LexicalReordering name=LexicalReordering0 num-features=6 path=model/rt.gz
Distortion
KENLM name=LM0 factor=0 path=model/en.bin order=5

[weight]
UnknownWordPenalty0= 1
WordPenalty0=  -1.0   # short
PhrasePenalty0= 0.2
TranslationModel0= 0.2 0.2 0.25 1e-3
LexicalReordering0= 0.3 0.3 0.3 0.3 0.3 0.3
Distortion0= 0.3
LM0= 0.5

[distortion-limit]
6
"""
