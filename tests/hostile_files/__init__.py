"""Model files with one thing wrong: each is refused, or it is a model that works."""
