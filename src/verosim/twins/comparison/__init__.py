"""Learning curves of several models on the same rows, and where they cross."""
