"""What counts become where they are nothing, or next to it.

Densities of counts and their leave-one-out forms must agree on these numbers.
"""

from __future__ import annotations

LEFTOVER = 1e-12  # parts of a class's weight below which a count is what forgetting left behind
LEAST_ALPHA = 1e-10  # smoothing of columns and tokens never vanishes: log 0 decides nothing
UNSEEN_SHARE = 1e-3  # what α = 0 gives a value a class never had, as e1071's `threshold` does
