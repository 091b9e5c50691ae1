"""Helpers that several test modules share; test modules import from here, never from each other.

What one test module needs alone stays in it or beside it, and fixtures are in ``conftest.py``.

For all tests::

    tiers.py        ``examples``: how many examples a property is tried on in each tier
    waiting.py      ``wait_until``, and how long tests wait at most
    builders.py     candidate sets and tuning sets from plain values; simple metrics; comparing sets
    forests.py      forests from plain values or drawn; all their derivations by enumeration
    conformance.py  running the suites of ``tunesmith.testing``, and which checks fail

For the tests of one part of the package, folders of the same names::

    parallel/       engines that copy, pickle or lose what they are sent; their clock; a small Ray
    io/             samples of list and forest formats; forests and lattices drawn for formats
    metrics/        random corpora
    inference/      envelopes, expectations and derivations by plain loops; sets of small forests
    search/         brute force for exact, line and plane searches; penalties; restrictions
    tuners/         small problems; learners written out plainly; lists with monsters
    decoders/       programs and stand-ins for decoders, their files, and waiting for processes
    hiero/          small grammars and language models, and all that they can say
    loop/           decoders ``Toy`` and ``ForestToy``, and runs with them
    report/         records of runs, views of pages, a browser
    cli/            running command lines, and reading what they write another way
    docs/           the pages' code blocks: parsed, run and compared
"""
