"""Numbers the different texts of a column, in the order in which they occur.

Arrow's hash of texts is public, so texts can be written for which n rows cost O(n²) steps. Long
columns are therefore encoded with a table that has a secret key (`axes/hash_keys.py`).
"""

from __future__ import annotations

import numpy as np

from verosim import kernels
from verosim.axes.vocabulary import at_a_time, empty_slots
from verosim.data.libraries import pa, pc
from verosim.kernels.constants import KEY_WORDS, SLACK, STATE_SIZE, TOKENS

SHORT_COLUMN = 1 << 12  # so few rows cannot take long
SMALL_BYTES = 1 << 14  # of a dictionary
FIRST_TEXTS = 1 << 8  # different texts that there is room for at first


def dictionary_encoded(array: pa.Array) -> pa.DictionaryArray:
    """The array as a dictionary of its values; the result is that of Arrow's function."""
    kind = array.type
    if pa.types.is_string_view(kind):
        kind = pa.large_string()
        array = array.cast(kind)
    if len(array) <= SHORT_COLUMN or not (
        pa.types.is_string(kind) or pa.types.is_large_string(kind)
    ):
        return pc.dictionary_encode(array)
    index, bounds, arena = _numbered_texts(array.cast(pa.large_string()))
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(arena)]
    values = pa.Array.from_buffers(pa.large_string(), len(bounds) - 1, buffers)
    gone = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    codes = pa.array(index.astype(np.int32), mask=gone)
    return pa.DictionaryArray.from_arrays(codes, values.cast(kind))


def small_content(values: pa.Array) -> tuple[int, int, bytes, bytes] | None:
    """What identifies a small dictionary of texts; None for other or large dictionaries.

    Texts that are not valid UTF-8 count as other: whether they are an error depends on the rows.
    """
    if not pa.types.is_string(values.type) or values.null_count:
        return None
    _, bounds, letters = values.buffers()
    if bounds is None or letters is None or bounds.size + letters.size > SMALL_BYTES:
        return None
    raw = letters.to_pybytes()
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return len(values), values.offset, bounds.to_pybytes(), raw


def _numbered_texts(array: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n,) the number of each text, and where the different texts (K + 1,) are in their bytes."""
    n = len(array)
    _, places, buffer = array.buffers()
    ends = np.frombuffer(places, dtype=np.int64)[array.offset : array.offset + n + 1]
    size = int(ends[-1] - ends[0])
    raw = np.zeros(size + SLACK, dtype=np.uint8)  # the loop reads a few bytes after each text
    if size:
        raw[:size] = np.frombuffer(buffer, dtype=np.uint8)[ends[0] : ends[-1]]
    ends = ends - ends[0]
    index, state = np.empty(n, dtype=np.int64), np.zeros(STATE_SIZE, dtype=np.int64)
    arena = np.zeros(size + SLACK, dtype=np.uint8)  # large enough if all texts are different
    room, done = FIRST_TEXTS, 0
    slots, bounds = empty_slots(room), np.zeros(room + 2, dtype=np.int64)
    while True:
        done = kernels.meet_tokens(
            raw, ends[:-1], ends[1:], done, True, arena, bounds, slots, state, at_a_time(), index
        )
        if done == n:
            return index, bounds[: state[TOKENS] + 1], arena
        room *= 4
        larger = empty_slots(room, slots[-KEY_WORDS:])
        kernels.move_slots(slots, larger)
        slots = larger
        bounds = np.concatenate([bounds, np.zeros(room + 2 - len(bounds), dtype=np.int64)])
