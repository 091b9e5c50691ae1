"""Formats of speech recognisers: lists of utterances, in single files or in folders.

Begin with ``nemo_manifest`` for one that is a file, and with ``srilm`` for one that is a folder.
``transcripts`` reads references as Kaldi and others have them: an id and its words a line.
"""
