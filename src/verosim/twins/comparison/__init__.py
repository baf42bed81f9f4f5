"""Learning curves of several models on the same rows, and the sizes at which they cross."""
