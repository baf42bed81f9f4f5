"""Discriminative classifiers: the same decision surfaces, fitted to the boundary alone."""
