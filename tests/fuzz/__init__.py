"""Small random cases, compared with exact arithmetic and with scikit-learn.

    python -m tests.fuzz 12345            one case, with all its data
    python -m tests.fuzz 0 100000         many cases
    python -m tests.fuzz report           the sums of the cases that were run
    python -m tests.fuzz report --keep    the same, written to docs/reliability.md

A case is a number. The number gives an estimator, its settings, some rows and a life: fit,
partial_fit, merge, forget, decay. The result is an error of verosim with a known cause, or
posteriors that agree with the exact ones. The allowed difference is derived from the rounding
errors of the sums and from the condition of the case (`oracles.py`).
"""
