// How the cells of a row become the values of a program. A missing value is null.

const MILLISECONDS_PER_DAY = 86400000;

const READINGS = {
  number: (r, cells) => cells[r.column] ?? null,
  flag: (r, cells) => (cells[r.column] === null || cells[r.column] === undefined ? null : Number(cells[r.column])),
  key: (r, cells) => cells[r.column] ?? null,
  value: (r, cells) => cells[r.column] ?? null,
  days: (r, cells) => (cells[r.column] == null ? null : cells[r.column] / MILLISECONDS_PER_DAY),
  clock: (r, cells) => clockPiece(r.piece, cells[r.column] ?? null),
  document: (r, cells) => r.columns.map((name) => cells[name] ?? "").join(" "),
  missing: (r, cells) => {
    const value = readCell(r.of, cells);
    return value === null || value === "" ? 1 : 0;
  },
  standard: (r, cells) => {
    const x = readCell(r.of, cells);
    return x === null ? 0 : (x - r.mean) / r.deviation;
  },
  score: (r, cells) => {
    const x = readCell(r.of, cells);
    return x === null ? 0 : normalScore(x, r);
  },
  filled: (r, cells) => readCell(r.of, cells) ?? 0,
  one_of: (r, cells) => {
    const text = readCell(r.of, cells);
    return Number((r.hashed && text !== null ? valueHash(text) : text) === r.value);
  },
  others: (r, cells) => {
    const text = readCell(r.of, cells);
    if (text === null || r.values.includes(text)) return 0;
    return Number(!(r.hashes.length && r.hashes.includes(valueHash(text))));
  },
  bin: (r, cells) => {
    const x = readCell(r.of, cells);
    return x === null ? r.cuts.length + 1 : countAtMost(r.cuts, x);
  },
  place: (r, cells) => {
    const text = readCell(r.of, cells);
    if (text === null) return r.values.length + 1;
    r.index ??= new HashedIndex(r.values, r.hashed);
    return r.index.get(text) ?? r.values.length;
  },
  which: (r, cells) => {
    const x = r.of.map((one) => readCell(one, cells));
    if (x.includes(null)) return x.length + 1;
    const ones = x.flatMap((one, i) => (one === 1 ? [i] : []));
    return ones.length === 1 ? ones[0] : x.length;
  },
};

const readCell = (reading, cells) => READINGS[reading.kind](reading, cells);

function clockPiece(piece, milliseconds) {
  if (milliseconds === null) return null;
  const date = new Date(milliseconds);
  if (piece === "hour") return String(date.getUTCHours());
  if (piece === "weekday") return String((date.getUTCDay() + 6) % 7);
  return String(date.getUTCMonth() + 1);
}

/** Φ⁻¹(F(x)): equal quantiles are one value with the mean of their levels. */
function normalScore(x, r) {
  if (!r.levels) {
    const last = Math.max(r.quantiles.length - 1, 1);
    const found = new Map();
    r.quantiles.forEach((value, i) => {
      const [first] = found.get(value) ?? [i];
      found.set(value, [first, i]);
    });
    const pairs = [...found].sort((a, b) => a[0] - b[0]);
    r.levels = pairs.map(([value, [a, b]]) => [value, (a + b) / 2 / last]);
  }
  const points = r.levels;
  const values = points.map(([value]) => value);
  const i = countAtMost(values, x) - 1;
  let level;
  if (i < 0) level = points[0][1];
  else if (i >= points.length - 1) level = points[points.length - 1][1];
  else {
    const slope = (points[i + 1][1] - points[i][1]) / (points[i + 1][0] - points[i][0]);
    level = slope * (x - points[i][0]) + points[i][1];
  }
  return normalQuantile(Math.min(Math.max(level, 0.005), 1 - 0.005));
}
