"""Keys of hash tables in memory: secret numbers, drawn once per process.

If the hash were public, a text could be written in which all tokens have the same slot, and n
tokens would cost O(n²) steps. With an unknown key, chosen tokens cost as much as random ones. A key
decides only where a table keeps its entries. Codes, their order and everything that is saved or
sent to another process do not depend on it.
"""

from __future__ import annotations

import secrets

import numpy as np

from verosim.kernels.constants import CONTEXT_KEY_PARTS, KEY_WORDS, SPREAD


def random_key(words: int = KEY_WORDS) -> np.ndarray:
    """(words,) uint64 odd numbers that cannot be guessed. Multiplying by them is one-to-one."""
    return np.frombuffer(secrets.token_bytes(8 * words), dtype=np.uint64) | np.uint64(1)


PROCESS_KEY = random_key()  # of all tables of tokens; forked processes share it
CONTEXT_KEY = random_key(CONTEXT_KEY_PARTS // 2)  # of all tables of contexts

# The buckets of hashed tokens are saved with a model, so their hash is public and never changes.
BUCKET_KEY = np.array(
    [0x9E3779B97F4A7C15, 0xC4CEB9FE1A85EC53, 0xFF51AFD7ED558CCD, PROCESS_KEY[SPREAD]],
    dtype=np.uint64,
)
