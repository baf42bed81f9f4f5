"""The checks of `diagnose`: each file answers one question about a fitted model."""
