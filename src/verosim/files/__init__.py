"""Model files: data without code."""
