"""Nobody can choose data that make a hash table slow, and results do not depend on its key."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from verosim import TextNB
from verosim.axes.contexts import filled_slots
from verosim.axes.hash_keys import BUCKET_KEY, PROCESS_KEY, random_key
from verosim.axes.vocabulary import Hashed, Vocabulary, empty_slots
from verosim.data.cells import keys
from verosim.data.dictionaries import dictionary_encoded
from verosim.data.tokens import Tokenizer
from verosim.kernels import fill_slots
from verosim.kernels.constants import CONTEXT_KEY_PARTS, KEY_WORDS, SLACK
from verosim.kernels.vocabulary import hash_of

MANY = 20_000
FEW = 2_000  # of tokens that all have one slot, where steps grow with the square
WORD = 1 << 64
RANDOM_RUN = 200  # far above the longest run of random entries in a table that is half full


def key_inverse(factor: int) -> int:
    """The number that undoes a multiplication by an odd factor."""
    return pow(factor, -1, WORD)


def before_mixing(h: np.ndarray, key: np.ndarray) -> np.ndarray:
    """The inverse of the last steps of the hash, for numbers h (n,)."""
    shift = np.uint64(33)
    for factor in (int(key[1]), int(key[2])):
        h = (h ^ (h >> shift)) * np.uint64(key_inverse(factor))
    return h ^ (h >> shift)


def tokens_in_one_slot(key: np.ndarray, n: int, length: int) -> Vocabulary:
    """n tokens of `length` bytes, a multiple of 8, with the same low bits of the hash."""
    hashes = (np.arange(1, n + 1, dtype=np.uint64) << np.uint64(40)) | np.uint64(0x5EED)
    state = before_mixing(hashes, key)
    words = np.zeros((n, length // 8), dtype=np.uint64)
    if length == 8:
        words[:, 0] = state * np.uint64(key_inverse(int(key[1])))
        words[:, 0] ^= np.uint64(8 * int(key[0]) % WORD)
    elif length == 16:  # the first word is zero
        rest = state ^ np.uint64(16 * int(key[0]) * int(key[1]) % WORD)
        rest = (rest >> np.uint64(32)) | (rest << np.uint64(32))
        words[:, 1] = rest * np.uint64(key_inverse(int(key[2])))
    else:  # the other words are zero, and the last one undoes what they have become
        head = np.uint64(length * int(key[0]) * int(key[1]) % WORD)
        zeros = np.zeros(1, dtype=np.uint64)
        mixed = mixed_bits(np.array([head]), key)
        for _ in range(length // 8 - 3):
            mixed = mixed_bits(mixed ^ zeros, key)
        words[:, -1] = state ^ mixed
    return as_vocabulary(words)


def mixed_bits(h: np.ndarray, key: np.ndarray) -> np.ndarray:
    shift = np.uint64(33)
    h = (h ^ (h >> shift)) * key[2]
    h = (h ^ (h >> shift)) * key[1]
    return h ^ (h >> shift)


def as_vocabulary(words: np.ndarray) -> Vocabulary:
    """Tokens that are the bytes of the rows of words (n, w)."""
    raw = np.concatenate([words.astype("<u8").view(np.uint8).ravel(), np.zeros(SLACK, np.uint8)])
    return Vocabulary(raw, np.arange(len(words) + 1, dtype=np.int64) * words.shape[1] * 8)


def longest_run(filled: np.ndarray) -> int:
    """The largest number of neighbouring slots that are filled: the most steps of a search."""
    empty = np.flatnonzero(~filled)
    return int(np.diff(np.append(empty, empty[0] + len(filled))).max()) - 1


def run_of_tokens(words: Vocabulary, key: np.ndarray) -> int:
    slots = empty_slots(words.size, key)
    room, starts, _ = words.slices
    assert fill_slots(room, words.bounds, slots) == -1
    assert len(starts) == words.size
    return longest_run(slots[:-KEY_WORDS].reshape(-1, 2)[:, 1] != 0)


@pytest.mark.parametrize("length", [8, 16, 24, 40])
def test_tokens_made_for_a_known_key_collide_only_with_that_key(length):
    """The crafted tokens do what they are made for, so the tests below can fail."""
    for known in (BUCKET_KEY, random_key()):
        words = tokens_in_one_slot(known, FEW, length)
        raw, starts, ends = words.slices
        slots = {int(hash_of(raw, starts[i], ends[i] - starts[i], tuple(known[:3]))) & 0xFFFF
                 for i in range(20)}  # fmt: skip
        assert slots == {0x5EED}
        assert run_of_tokens(words, known) >= FEW
        assert run_of_tokens(words, random_key()) < RANDOM_RUN


@pytest.mark.parametrize("length", [8, 16, 24])
def test_crafted_tokens_cost_no_more_than_random_tokens(length):
    """Neither the public hash nor a guessed key helps to find tokens with one slot."""
    rng = np.random.default_rng(1)
    random = as_vocabulary(rng.integers(0, 2**63, (MANY, length // 8)).astype(np.uint64))
    assert run_of_tokens(random, PROCESS_KEY) < RANDOM_RUN
    for guessed in (BUCKET_KEY, random_key()):
        crafted = tokens_in_one_slot(guessed, MANY, length)
        assert run_of_tokens(crafted, PROCESS_KEY) < RANDOM_RUN


@pytest.mark.parametrize("step", [1, 1 << 8, 1 << 32, 1 << 48, 1 << 56, (1 << 56) + (1 << 24)])
def test_tokens_at_equal_distances_cost_no_more_than_random_tokens(step):
    """Tokens that differ in few bits, which a weak keyed hash would leave next to each other."""
    words = (np.arange(200, dtype=np.uint64) * np.uint64(step))[:, None]
    for length in (1, 2, 3):
        padded = np.zeros((len(words), length), dtype=np.uint64)
        padded[:, -1] = words[:, 0]
        padded = np.unique(padded, axis=0)
        runs = [run_of_tokens(as_vocabulary(padded), random_key()) for _ in range(20)]
        assert np.median(runs) < 30


def context_run(keys: np.ndarray, **key) -> int:
    return longest_run(filled_slots(keys, len(keys), **key)[:-CONTEXT_KEY_PARTS] >= 0)


def test_contexts_made_for_the_old_hash_or_a_guessed_key_cost_no_more_than_random_ones():
    """Crafted codes of a column and its parents, as keys of 56 bits."""
    numbers = np.arange(MANY * 64, dtype=np.uint64) << np.uint64(16)
    old = (numbers * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(24)
    same = numbers[np.argsort(old & np.uint64((1 << 16) - 1))[:MANY]].astype(np.int64)
    assert context_run(same) < RANDOM_RUN
    guessed = random_key(CONTEXT_KEY_PARTS // 2)
    targets = (np.arange(1, FEW + 1, dtype=np.uint64)) | np.uint64(0xABCDEF << 32)
    h = targets * np.uint64(key_inverse(int(guessed[2])))
    h = (h ^ (h >> np.uint64(32))) * np.uint64(key_inverse(int(guessed[1])))
    keys = (h ^ guessed[0]).astype(np.int64)
    assert context_run(keys, secret=guessed) >= FEW
    assert context_run(keys) < RANDOM_RUN
    for step in (1, 1 << 8, 1 << 24, 1 << 40):
        apart = np.arange(MANY, dtype=np.int64) * step
        assert context_run(apart) < MANY / 4


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_texts_of_long_columns_are_numbered_as_by_arrow(kind):
    """With missing and empty texts, in a slice."""
    rng = np.random.default_rng(2)
    texts = [None if v == 3 else "" if v == 4 else f"ñ{v}" * (v % 9) for v in
             rng.integers(0, 3000, 12_000).tolist()]  # fmt: skip
    array = pa.array(texts, kind)[7:]
    found = dictionary_encoded(array)
    assert found.to_pylist() == array.to_pylist()
    assert found.dictionary.to_pylist() == list(
        dict.fromkeys(t for t in texts[7:] if t is not None)
    )


def test_texts_made_for_the_hash_of_arrow_are_found_with_a_secret_key(monkeypatch):
    """A long column of texts is not encoded by Arrow, which has a public hash."""
    texts = [f"text {i}" for i in range(5000)]
    monkeypatch.setattr("verosim.data.dictionaries.pc", None)
    index, values = keys(pa.array(texts, pa.large_string()))
    assert [values[i] for i in index.tolist()] == texts


def words_in_one_bucket(n: int, bits: int) -> list[str]:
    """Words of eight letters with the same low bits of the public hash, found by trying."""
    rng = np.random.default_rng(3)
    found: list[str] = []
    while len(found) < n:
        letters = rng.integers(97, 123, (1 << 18, 8)).astype(np.uint8)
        word = letters.view("<u8")[:, 0]
        h = (word ^ np.uint64(8 * int(BUCKET_KEY[0]) % WORD)) * BUCKET_KEY[1]
        hit = mixed_bits(h, BUCKET_KEY) & np.uint64((1 << bits) - 1) == 0
        found += [row.tobytes().decode() for row in letters[hit]]
    return list(dict.fromkeys(found))[:n]


def test_public_hashes_of_buckets_do_not_flood_the_table_of_one_document(monkeypatch):
    """The n-grams of a document are found by a secret factor, though their buckets are public."""
    words = words_in_one_bucket(1000, 11)  # the table of the document has 2,048 places
    made, room = [], Tokenizer.room

    def watched(self, documents, weighed=False):
        made.append(room(self, documents, weighed))
        return made[-1]

    model = TextNB(hashed=2**12, weighting="l2").fit(["one word", "other words"], [0, 1])
    monkeypatch.setattr(Tokenizer, "room", watched)
    model.predict([" ".join(words)])
    marks = next(arrays[7] for arrays in made if len(arrays[7]) >= 2048)[:2048]
    assert (marks != 0).sum() == len(words)
    assert longest_run(marks != 0) < RANDOM_RUN


def test_buckets_of_hashed_tokens_never_change():
    """A model with hashed tokens that was saved by an older version finds the same buckets."""
    buckets, _, _, _, slots = Hashed(2**20).lookup()
    assert buckets == 2**20
    key = tuple(slots[-KEY_WORDS:][:3])
    for text, hash_ in GOLDEN.items():
        raw = np.array([*text.encode(), *bytes(SLACK)], dtype=np.uint8)
        assert int(hash_of(raw, 0, len(text), key)) == hash_


GOLDEN = {
    "spam": 130289698209094156, "ham": 17361959411649965703,
    "a much longer phrase of words": 5435866635251629940,
}  # fmt: skip


PROGRAM = """
import hashlib, warnings
import numpy as np
from verosim import KDB, AODE, NaiveBayes, TextNB, TextRidge, look
from verosim.axes.hash_keys import PROCESS_KEY
warnings.simplefilter("ignore")
rng = np.random.default_rng(5)
texts = [" ".join(f"w{i}" for i in rng.integers(0, 400, 30)) for _ in range(120)]
y = np.array([i % 3 for i in range(120)])
print(PROCESS_KEY.tolist())
for model in (TextNB(), TextNB(ngrams=(1, 2)), TextNB(hashed=2**10), TextNB(weighting="l2"),
              TextNB(hashed=2**10, weighting="l2"), TextRidge()):
    model.fit(texts, y)
    more = type(model)(**model.get_params()).fit(texts[::-1], y[::-1])
    tokens = getattr(model, "tokens_", [])
    print(model.stats_.fingerprint(), hashlib.sha256(str(list(tokens)).encode()).hexdigest())
    print(hashlib.sha256(model.predict_proba(texts).tobytes()).hexdigest())
    print((model.stats_ + more.stats_).fingerprint())
table = {f"c{j}": [str(v) for v in rng.integers(0, 9, 300)] for j in range(5)}
y = [int(v) for v in rng.integers(0, 2, 300)]
for model in (KDB(k=2), AODE(), NaiveBayes()):
    model.fit(table, y)
    print(model.stats_.fingerprint(), repr(model.schema_))
    print(hashlib.sha256(model.predict_proba(table).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_results_and_fingerprints_do_not_depend_on_the_key():
    """Two processes draw two keys and print the same fingerprints, tokens and probabilities."""
    printed = [
        subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    first, second = (one.stdout.split("\n", 1) for one in printed)
    assert first[0] != second[0]
    assert first[1] == second[1]


def test_the_key_is_not_in_a_pickle():
    """Whoever receives a model does not learn the key of the process that has fitted it."""
    model = TextNB().fit(["spam and eggs", "ham and bread"], [0, 1])
    model.predict(["eggs"])
    raw = pickle.dumps(model)
    assert not any(part.tobytes() in raw for part in PROCESS_KEY)
    assert pickle.loads(raw).predict(["eggs"]).tolist() == [0]
