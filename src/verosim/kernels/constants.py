"""Numbers on which compiled loops agree with each other and with their callers.

Importing them loads no numba.
"""

import math

import numpy as np

LANES = 8  # classes scored side by side: a row of a padded table is one cache line
STRETCH = 512  # numbers added one after another: longer sums would lose digits
LOG_2PI = math.log(2 * math.pi)

SLACK = 16  # bytes an arena has beyond its end, so that whole words may be read there
# The state of a growing vocabulary: tokens, bytes, documents read, room asked for, why it stopped.
TOKENS, BYTES, SERIAL, MORE_TOKENS, MORE_BYTES, WHY = 0, 1, 2, 3, 4, 5
STATE_SIZE = 6
DONE, NO_ROOM, SPECIAL, INVALID = 0, 1, 2, 3  # why a loop over documents stopped

# Unsigned, so that numba checks no sign where they index or shift.
U0, U1, U2, U7, U8, U32, U33, U56, U63, U64 = (
    np.uint64(i) for i in (0, 1, 2, 7, 8, 32, 33, 56, 63, 64)
)

# The key of a context has one byte for every code, and the column above them.
CODE_BITS, COLUMN_SHIFT = 8, 48
ANY = 255  # in place of a code that is left out
ALL_PARENTS = 0xFFFFFFFFFF00  # the bytes of the parents
