"""Online learning: Chiang, "Hope and fear for discriminative training" (JMLR 2012).

- Begin with Algorithm 1: ``training`` (epochs), ``learner`` (one sentence), ``model`` (weights)
- UpdateWeights: ``perceptron`` (section 3.1), ``sgd`` (equation 5), ``mira`` (Algorithm 2, with
  :mod:`tunesmith.search.working_set`), ``arow`` (Algorithm 3)
- Reference derivations (section 4) and the options of these four tuners: ``hope_fear``
- Several learners (section 6): ``mixing``, ``asynchronous`` (Algorithm 4), and ``pool``, which
  runs them on workers and replaces those that are lost
- Minimum risk (Appendix A): :mod:`tunesmith.tuners.min_risk`
"""
