"""Numbers that the compiled loops share with each other and with their callers.

Importing this module does not import numba.
"""

import math

import numpy as np

LANES = 8  # classes scored at the same time: eight numbers of a padded table fill one cache line
PANEL = 4  # rows of a triangular matrix that are multiplied at the same time
STRETCH = 512  # terms in one plain sum: a longer plain sum would lose digits
# What `normalise` finds: a row with probability 0 in every class, a score that is not finite.
IMPOSSIBLE, NOT_FINITE = 1, 2
LOG_2PI = math.log(2 * math.pi)

SLACK = 16  # extra bytes after the end of an arena, so that reading whole 8-byte words is safe
COMPARED_BYTES = 64  # bytes of a text that are compared together
AHEAD = 24  # entries after this one for which memory is requested
STREAM = np.uint64(128)  # the same for arrays that are read in order
# Positions in the state of a growing vocabulary: the number of tokens, of bytes and of documents
# read, the number of tokens and of bytes to make room for, the reason for stopping, the number of
# entries in the log, and how many of the tokens are pairs of numbers, now and to make room for.
TOKENS, BYTES, SERIAL, MORE_TOKENS, MORE_BYTES, WHY, ENTRIES, GRAMS, MORE_GRAMS = range(9)
STATE_SIZE = 9
SINGLE_WORD = np.uint64(0)  # in place of the pair of an n-gram, plus 1: it is a single word
# The end of every table of tokens: the three factors of its hash, then the factor that gives the
# place of a hash among those of one document.
KEY_WORDS = 4
SPREAD = KEY_WORDS - 1
# The end of a table of contexts: the 32-bit halves of a number that is added and of two factors.
CONTEXT_KEY_PARTS = 6
# Reasons why a loop over documents stopped.
DONE, NO_ROOM, SPECIAL, INVALID, FULL_LOG = 0, 1, 2, 3, 4
# The amount of an n-gram in a document: how often it occurs, 1, (1 + ln tf) / norm, or its square.
COUNTS, PRESENCE, L2, SQUARES = 0, 1, 2, 3
REPEATS = 4  # how often it occurs, in loops that find each n-gram of a document once

# Why EM over missing cells stopped: at the limit, out of iterations, at a singular covariance, at a
# matrix that is not a covariance, or because only rounding errors change the likelihood.
EM_CONVERGED, EM_UNFINISHED, EM_SINGULAR, EM_FAILED, EM_LOST_DIGITS = 0, 1, 2, 3, 4
# How covariances are shrunk within EM.
NO_SHRINKAGE, FIXED_SHRINKAGE, OAS, LEDOIT_WOLF = 0, 1, 2, 3

# These are unsigned, so that numba does not check the sign when they are an index or a shift.
U0, U1, U2, U3, U4, U7, U8, U32, U33, U56, U63, U64 = (
    np.uint64(i) for i in (0, 1, 2, 3, 4, 7, 8, 32, 33, 56, 63, 64)
)

# The key of a context has one byte for every code, and the column above them.
CODE_BITS, COLUMN_SHIFT = 8, 48
ANY = 255  # in place of a code that is left out
ALL_PARENTS = 0xFFFFFFFFFF00  # the bytes of the parents
DAY = 86_400_000_000  # microseconds
