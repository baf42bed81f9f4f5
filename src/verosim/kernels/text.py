"""From UTF-8 bytes to token numbers, without strings and without a document–term matrix.

A document is split into lowercased tokens. They are written to a buffer, `scratch`, one after
another with a space between them. Every n-gram is then a slice of the buffer, and it is hashed and
looked up without a copy.
"""

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import DONE, NO_ROOM, SERIAL, U0, U8, WHY
from verosim.kernels.split import split
from verosim.kernels.vocabulary import look_up


@exact
def count_texts(
    text, offsets, start, ascii, points, low, high, groups, weights, folds, presence,
    buckets, grows, arena, bounds, slots, state, count, cells, stamps,
    scratch, starts, ends, hashes, ids,
):  # fmt: skip
    """count (K, G) += w for every n-gram of the documents from `start` on, and cells (K, F) += 1.

    With `presence`, an n-gram counts once per document. Returns the first document that was not
    counted, with the reason in state[WHY], or the number of documents.
    """
    weighted = weights.size > 0
    for i in range(start, offsets.size - 1):
        found, why = split(
            text, offsets[i], offsets[i + 1], ascii, points, high > 1, scratch, starts, ends
        )
        if why != DONE:
            state[WHY] = why
            return i
        m = look_up(
            scratch, starts, ends, found, low, high, buckets, grows, arena, bounds, slots, state,
            hashes, ids,
        )  # fmt: skip
        if m < 0:
            state[WHY] = NO_ROOM
            return i
        g = np.uint64(groups[i])
        f = np.uint64(groups[i] % folds)
        w = weights[i] if weighted else 1.0
        state[SERIAL] += 1
        serial = state[SERIAL]
        for t in range(m):
            if ids[t] < 0:
                continue
            k = np.uint64(ids[t])
            if presence:
                if stamps[k] == serial:
                    continue
                stamps[k] = serial
            count[k, g] += w
            cells[k, f] += 1
    state[WHY] = DONE
    return offsets.size - 1


@exact
def score_texts(
    text, offsets, ascii, points, low, high, presence, buckets, places, arena, bounds, slots,
    table, base, out, stamps, state, scratch, starts, ends, hashes, ids,
):  # fmt: skip
    """out (n, C) = base + Σ table[k] over the known n-grams of a document.

    With `presence`, an n-gram counts once per document. places (buckets,) is the row of the table
    for each bucket, or −1 if it has none. places is empty if bucket and row have the same number.
    Returns the first document that was not scored, with the reason in state[WHY], or n.
    """
    C, width = out.shape[1], np.uint64(table.shape[1])
    lanes = np.zeros(table.shape[1])
    for i in range(offsets.size - 1):
        found, why = split(
            text, offsets[i], offsets[i + 1], ascii, points, high > 1, scratch, starts, ends
        )
        if why != DONE:
            state[WHY] = why
            return i
        m = look_up(
            scratch, starts, ends, found, low, high, buckets, False, arena, bounds, slots, state,
            hashes, ids,
        )  # fmt: skip
        state[SERIAL] += 1
        serial = state[SERIAL]
        known = 0
        for t in range(m):
            k = ids[t]
            if places.size > 0:
                k = places[k]
            if k < 0:
                continue
            if presence:
                if stamps[k] == serial:
                    continue
                stamps[k] = serial
            ids[known] = k
            known += 1
        lanes[:] = 0.0
        for t in range(known):
            row = table[np.uint64(ids[t])]
            for first in range(U0, width, U8):
                for c in range(U8):
                    lanes[first + c] += row[first + c]
        for c in range(C):
            out[i, c] = base[c] + lanes[c]
    state[WHY] = DONE
    return offsets.size - 1
