// The two hashes that programs use: BLAKE2b of forgotten values, and the hash of tokens in buckets.

const WORD = (1n << 64n) - 1n;

const BLAKE_START = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const BLAKE_ORDER = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
  "0123456789abcdef", "ea489fd61c02b753",
];
const BLAKE_LANES = [
  [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
];

const turned = (x, bits) => (x >> bits) | ((x << (64n - bits)) & WORD);

/** Up to 8 bytes as a number, the lowest byte first. */
function littleEndian(bytes, from, to) {
  let out = 0n;
  for (let i = Math.min(to, bytes.length) - 1; i >= from; i--) out = (out << 8n) | BigInt(bytes[i]);
  return out;
}

function blakeBlock(state, block, length, last) {
  const m = [];
  for (let i = 0; i < 16; i++) m.push(littleEndian(block, 8 * i, 8 * i + 8));
  const v = [...state, ...BLAKE_START];
  v[12] ^= length;
  if (last) v[14] ^= WORD;
  for (const order of BLAKE_ORDER) {
    BLAKE_LANES.forEach(([a, b, c, d], i) => {
      const x = m[parseInt(order[2 * i], 16)];
      const y = m[parseInt(order[2 * i + 1], 16)];
      v[a] = (v[a] + v[b] + x) & WORD;
      v[d] = turned(v[d] ^ v[a], 32n);
      v[c] = (v[c] + v[d]) & WORD;
      v[b] = turned(v[b] ^ v[c], 24n);
      v[a] = (v[a] + v[b] + y) & WORD;
      v[d] = turned(v[d] ^ v[a], 16n);
      v[c] = (v[c] + v[d]) & WORD;
      v[b] = turned(v[b] ^ v[c], 63n);
    });
  }
  for (let i = 0; i < 8; i++) state[i] ^= v[i] ^ v[i + 8];
}

/** The first 8 bytes of BLAKE2b of a text, with 16 hexadecimal digits. */
function valueHash(text) {
  const bytes = new TextEncoder().encode(text);
  const state = [...BLAKE_START];
  state[0] ^= 0x01010000n ^ 8n;
  for (let start = 0; ; start += 128) {
    const last = start + 128 >= bytes.length;
    const end = Math.min(start + 128, bytes.length);
    blakeBlock(state, bytes.subarray(start, end), BigInt(end), last);
    if (last) return state[0].toString(16).padStart(16, "0");
  }
}

const LENGTHS = 0x9e3779b97f4a7c15n;
const FIRST_MIX = 0xff51afd7ed558ccdn;
const SECOND_MIX = 0xc4ceb9fe1a85ec53n;

function mixedWord(h) {
  h ^= h >> 33n;
  h = (h * FIRST_MIX) & WORD;
  h ^= h >> 33n;
  h = (h * SECOND_MIX) & WORD;
  return h ^ (h >> 33n);
}

/** The hash of a token, the bucket of which is a remainder. */
function tokenHash(token) {
  const bytes = new TextEncoder().encode(token);
  let h = ((littleEndian(bytes, 0, 8) ^ ((BigInt(bytes.length) * LENGTHS) & WORD)) * SECOND_MIX) & WORD;
  const second = (littleEndian(bytes, 8, 16) * FIRST_MIX) & WORD;
  h = mixedWord(h ^ turned(second, 32n));
  for (let i = 16; i < bytes.length; i += 8) h = mixedWord(h ^ littleEndian(bytes, i, i + 8));
  return h;
}

const MOST_KEPT_HASHES = 20000;

/** The places of values in a list. Some of the values are hashes, because few rows have them. */
class HashedIndex {
  constructor(values, hashed) {
    const places = new Set(hashed ?? []);
    this.values = new Map();
    this.hashes = new Map();
    values.forEach((value, i) => (places.has(i) ? this.hashes : this.values).set(value, i));
    this.known = new Map();
  }

  get(value) {
    const at = this.values.get(value);
    if (at !== undefined || !this.hashes.size) return at;
    if (!this.known.has(value)) {
      if (this.known.size > MOST_KEPT_HASHES) this.known.clear();
      const text = typeof value === "string" ? value : JSON.stringify(value);
      this.known.set(value, this.hashes.get(valueHash(text)));
    }
    return this.known.get(value);
  }
}
