"""Minima of convex losses over the rows: softmax and margins, and the ways down to them."""
