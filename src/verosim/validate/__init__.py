"""Validation without refitting: held-out scores, choices and guarantees from sums."""
