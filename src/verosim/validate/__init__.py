"""Validation without refitting: held-out scores, choices and guarantees from sums.

The functions are names of `verosim`; here are the classes of what they return.
"""

from verosim.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    "verosim.validate",
    {
        "verosim.validate.cross_validation": ("CrossValidation",),
        "verosim.validate.search": ("Search",),
        "verosim.validate.select": ("Selection", "Step"),
        "verosim.validate.diagnosis.findings": ("Diagnosis", "Finding"),
        "verosim.validate.reliability": ("Reliability",),
    },
)
