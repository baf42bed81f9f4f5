"""Solvers that minimise convex losses over the rows: the softmax loss and the margin losses."""
