"""Mixtures of Gaussians within classes: the rows, the start, EM, and the number of components."""
