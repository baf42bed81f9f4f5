"""From UTF-8 bytes to token numbers, without strings and without a document–term matrix.

A document is split into lowercased tokens, or into characters. They are written to a buffer,
`scratch`, one after another with a space between words. Every n-gram is then a slice of the buffer,
and it is hashed and looked up without a copy.
"""

import math

import numpy as np

from verosim.kernels._compile import exact
from verosim.kernels.constants import (
    AHEAD,
    DONE,
    ENTRIES,
    FULL_LOG,
    KEY_WORDS,
    L2,
    MORE_BYTES,
    MORE_TOKENS,
    NO_ROOM,
    PRESENCE,
    SERIAL,
    SPREAD,
    SQUARES,
    U0,
    U1,
    U8,
    WHY,
)
from verosim.kernels.memory import prefetch
from verosim.kernels.split import SPACE, split, split_characters
from verosim.kernels.vocabulary import look_up


@exact
def _list_grams(starts, ends, begin, stop, low, high, gram_starts, gram_ends, m):
    """Append the n-grams of the tokens begin … stop − 1 to a list of m; returns its new length."""
    at = np.uint64(m)
    for n in range(low, high + 1):
        more = np.uint64(n - 1)
        for t in range(np.uint64(begin), np.uint64(max(stop - n + 1, begin))):
            gram_starts[at] = starts[t]
            gram_ends[at] = ends[t + more]
            at += U1
    return np.int64(at)


@exact
def _find_terms(
    text, start, stop, ascii, points, low, high, characters, buckets, grows, arena, bounds, slots,
    state, scratch, starts, ends, gram_starts, gram_ends, hashes, ids,
):  # fmt: skip
    """Find the n-grams of text[start:stop]: their hashes and their ids.

    With `characters`, the n-grams are those of the characters of each word, with a space before
    and after the word. A word that is shorter than n is one n-gram. If `characters` is None, they
    are those of words. gram_starts and gram_ends are None for single words. Returns the number of
    n-grams and the reason for stopping.
    """
    if characters is None:
        found, why = split(text, start, stop, ascii, points, high > 1, scratch, starts, ends)
    else:
        found, why = split_characters(text, start, stop, ascii, points, scratch, starts, ends)
    if why != DONE:
        return 0, why
    if gram_starts is None:
        enough = look_up(
            scratch, starts, ends, found, buckets, grows, arena, bounds, slots, state, hashes, ids
        )
        return found, (DONE if enough else NO_ROOM)
    m = 0
    if characters is None:
        m = _list_grams(starts, ends, 0, found, low, high, gram_starts, gram_ends, m)
    else:
        first = 0
        for t in range(1, found):
            if scratch[starts[t]] == SPACE:
                length = t + 1 - first
                if length > 2:
                    m = _list_grams(
                        starts, ends, first, t + 1, min(low, length), min(high, length),
                        gram_starts, gram_ends, m,
                    )  # fmt: skip
                first = t
    enough = look_up(
        scratch, gram_starts, gram_ends, m, buckets, grows, arena, bounds, slots, state, hashes,
        ids,
    )  # fmt: skip
    return m, (DONE if enough else NO_ROOM)


@exact
def _weigh_terms(hashes, ids, m, weighting, slots, marks, amounts):
    """Keep every n-gram of a document once, with its amount; returns the number of those kept.

    The amount is the count tf, 1 with PRESENCE, (1 + ln tf) / norm with L2, or the square of that
    with SQUARES. The norm is that of 1 + ln tf over all n-grams, unknown ones too. N-grams with the
    same hash are the same. A secret factor of the table chooses the place in `marks`, because the
    hashes of buckets are public.
    """
    size, shift = 4, np.uint64(62)
    while size < 2 * m:
        size *= 2
        shift -= U1
    marks[:size] = 0
    factor = slots[slots.size - KEY_WORDS + SPREAD]
    last = np.uint64(size - 1)
    kept = 0
    for t in range(np.uint64(m)):
        h = hashes[t]
        s = (h * factor) >> shift
        while True:
            p = marks[s]
            if p == 0:
                hashes[kept], ids[kept], amounts[kept] = h, ids[t], 1.0
                kept += 1
                marks[s] = kept
                break
            if hashes[p - 1] == h:
                amounts[p - 1] += 1.0
                break
            s = (s + U1) & last
    if weighting == PRESENCE:
        amounts[:kept] = 1.0
    elif L2 <= weighting <= SQUARES:
        total = 0.0
        for t in range(kept):
            if amounts[t] > 1.0:
                amounts[t] = 1.0 + math.log(amounts[t])
            total += amounts[t] * amounts[t]
        norm = math.sqrt(total)
        for t in range(kept):
            amounts[t] /= norm
            if weighting == SQUARES:
                amounts[t] *= amounts[t]
    return kept


@exact
def log_terms(
    m, hashes, ids, at, f, w, folds, weighting, buckets, slots, state, log_codes, log_amounts,
    cells, stamps, marks, amounts,
):  # fmt: skip
    """Append the m n-grams of a document with weight w to a log; returns where the log ends then.

    The document is in fold f. If the n-grams of a document are not weighed together, `marks` and
    `amounts` are None. If the log is too short, nothing is changed and the result is −1.
    """
    if np.int64(at) + m > log_codes.size:
        return np.int64(-1)
    state[SERIAL] += 1
    serial = state[SERIAL]
    if marks is None:
        F = np.uint64(folds)
        for t in range(m):
            ahead = ids[t + AHEAD if t + AHEAD < m else m - 1]
            prefetch(cells, np.uint64(ahead if ahead > 0 else 0) * F + f)
            if ids[t] < 0:
                continue
            k = np.uint64(ids[t])
            if weighting == PRESENCE:
                if stamps[k] == serial:
                    continue
                stamps[k] = serial
            log_codes[at] = ids[t]
            at += U1
            cells[k, f] += 1
    else:
        for t in range(_weigh_terms(hashes, ids, m, weighting, slots, marks, amounts)):
            if ids[t] >= 0:
                k = np.uint64(ids[t])
                log_codes[at] = ids[t]
                log_amounts[at] = w * amounts[t]
                at += U1
                if buckets == 0 or stamps[k] != serial:  # several n-grams can have one bucket
                    cells[k, f] += 1
                if buckets > 0:
                    stamps[k] = serial
    return np.int64(at)


@exact
def count_texts(
    text, offsets, start, ascii, points, low, high, characters, groups, weights, folds, weighting,
    buckets, grows, arena, bounds, slots, state, log_codes, log_amounts, log_ends, cells, stamps,
    scratch, starts, ends, gram_starts, gram_ends, hashes, ids, marks, amounts,
):  # fmt: skip
    """Append the n-grams of the documents from `start` on to a log: their codes, and w · amount.

    log_amounts is empty if all amounts of a document are its weight w. log_ends (n,) is where the
    entries of each document end. With COUNTS, cells (K, F) += 1 for each occurrence; otherwise, for
    each document. Returns the first document that was not counted, with the reason in state[WHY],
    or the number of documents.
    """
    at = state[ENTRIES]
    for i in range(start, offsets.size - 1):
        m, why = _find_terms(
            text, offsets[i], offsets[i + 1], ascii, points, low, high, characters, buckets, grows,
            arena, bounds, slots, state, scratch, starts, ends, gram_starts, gram_ends, hashes, ids,
        )  # fmt: skip
        if why == DONE:
            at = log_terms(
                m, hashes, ids, np.uint64(at), np.uint64(groups[i] % folds), weights[i], folds,
                weighting, buckets, slots, state, log_codes, log_amounts, cells, stamps, marks,
                amounts,
            )  # fmt: skip
            why = FULL_LOG if at < 0 else DONE
        if why != DONE:
            state[WHY] = why
            return i
        log_ends[i] = at
    state[WHY] = DONE
    return offsets.size - 1


@exact
def score_texts(
    text, offsets, ascii, points, low, high, characters, weighting, buckets, places, arena, bounds,
    slots, table, base, out, lanes, stamps, state, scratch, starts, ends, gram_starts, gram_ends,
    hashes, ids, marks, amounts,
):  # fmt: skip
    """out (n, C) = base + Σ amount · table[k] over the known n-grams of a document.

    places (buckets,) is the row of the table for each bucket, or −1 if it has none. places is empty
    if bucket and row have the same number. lanes (columns of the table,) is working memory. Returns
    the first document that was not scored, with the reason in state[WHY], or n.
    """
    C, width = out.shape[1], np.uint64(table.shape[1])
    grows = buckets < 0  # never: a variable, so that this is the code of `count_texts`
    for i in range(offsets.size - 1):
        m, why = _find_terms(
            text, offsets[i], offsets[i + 1], ascii, points, low, high, characters, buckets, grows,
            arena, bounds, slots, state, scratch, starts, ends, gram_starts, gram_ends, hashes, ids,
        )  # fmt: skip
        if why != DONE:
            state[WHY] = why
            return i
        state[SERIAL] += 1
        serial = state[SERIAL]
        if marks is not None:
            m = _weigh_terms(hashes, ids, m, L2, slots, marks, amounts)
        known = 0
        for t in range(m):
            k = ids[t]
            if places.size > 0:
                k = places[k]
            if k < 0:
                continue
            if marks is not None:
                amounts[known] = amounts[t]
            elif weighting == PRESENCE:
                if stamps[k] == serial:
                    continue
                stamps[k] = serial
            ids[known] = k
            known += 1
        for c in range(width):
            lanes[c] = 0.0
        for t in range(known):
            row = table[np.uint64(ids[t])]
            if marks is None:
                for first in range(U0, width, U8):
                    for c in range(U8):
                        lanes[first + c] += row[first + c]
            else:
                x = amounts[t]
                for first in range(U0, width, U8):
                    for c in range(U8):
                        lanes[first + c] += x * row[first + c]
        for c in range(C):
            out[i, c] = base[c] + lanes[c]
    state[WHY] = DONE
    return offsets.size - 1


@exact
def term_rows(
    text, offsets, start, ascii, points, low, high, characters, weighting, buckets, places, grows,
    arena, bounds, slots, state, indptr, indices, data,
    scratch, starts, ends, gram_starts, gram_ends, hashes, ids, marks, amounts,
):  # fmt: skip
    """The known n-grams of the documents from `start` on, with their amounts, as CSR rows.

    If the table `grows`, all n-grams become known. A bucket can occur twice in a row. Returns the
    first document that was not read, with the reason in state[WHY], or the number of documents.
    NO_ROOM means that indices and data are too short, or that the table needs more room, which is
    then in the state.
    """
    for i in range(start, offsets.size - 1):
        m, why = _find_terms(
            text, offsets[i], offsets[i + 1], ascii, points, low, high, characters, buckets, grows,
            arena, bounds, slots, state, scratch, starts, ends, gram_starts, gram_ends, hashes, ids,
        )  # fmt: skip
        if why != DONE:
            state[WHY] = why
            return i
        kept = _weigh_terms(hashes, ids, m, weighting, slots, marks, amounts)
        at = indptr[i]
        if at + kept > indices.size:
            state[MORE_TOKENS], state[MORE_BYTES] = 0, 0
            state[WHY] = NO_ROOM
            return i
        for t in range(kept):
            k = ids[t]
            if places.size > 0:
                k = places[k]
            if k >= 0:
                indices[at] = k
                data[at] = amounts[t]
                at += 1
        indptr[i + 1] = at
    state[WHY] = DONE
    return offsets.size - 1


@exact
def count_terms(indptr, indices, groups, folds, cells):
    """cells (K, F) += 1 for each n-gram of documents that are CSR rows."""
    for i in range(groups.size):
        f = np.uint64(groups[i] % folds)
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            cells[np.uint64(indices[t]), f] += 1


@exact
def measure_texts(
    text, offsets, ascii, points, characters, out, state, scratch, starts, ends,
):  # fmt: skip
    """out (n,) = the number of words in each document, or of characters with `characters`.

    Returns the first document that was not read, with the reason in state[WHY], or n.
    """
    for i in range(offsets.size - 1):
        if characters is None:
            found, why = split(
                text, offsets[i], offsets[i + 1], ascii, points, False, scratch, starts, ends
            )
        else:
            found, why = split_characters(
                text, offsets[i], offsets[i + 1], ascii, points, scratch, starts, ends
            )
        if why != DONE:
            state[WHY] = why
            return i
        out[i] = found
    state[WHY] = DONE
    return offsets.size - 1
