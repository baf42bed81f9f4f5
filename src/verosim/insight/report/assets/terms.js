// The terms of a program: one score per class from the values of the readings. A missing value is null.

const STEEP_RATIO = 1e4;
const FARTHEST = 1e100;
const OTHER_VALUE = "‹other›";
const EMPTY_CODE = 255;

const zeros = (C) => new Array(C).fill(0);

/** Σ over rows of amount × row, where 0 times −∞ is 0. */
function addRow(scores, row, amount) {
  if (amount === 0) return;
  for (let k = 0; k < scores.length; k++) {
    scores[k] += row[k] === -Infinity ? -Infinity : amount * row[k];
  }
}

const TERMS = {
  gaussian: (t, [x], C) => {
    if (x === null) return zeros(C);
    return t.constant.map((c, k) => {
      const z = x - t.pivot[k] - t.offset[k];
      return c - 0.5 * t.precision[k] * z * z;
    });
  },

  poisson: (t, [x], C) => {
    if (x === null) return zeros(C);
    const last = logGamma(x + 1);
    return t.rate.map((rate) => x * Math.log(rate) - rate - last);
  },

  bins: (t, [x], C) => {
    if (x === null) return zeros(C);
    t.inner ??= t.edges.slice(1, -1);
    return t.table[countAtMost(t.inner, x)];
  },

  presence: (t, [x], C) => (x === null ? zeros(C) : x > t.threshold ? t.present : t.absent),

  lookup: (t, [value]) => {
    if (value === null) return t.missing;
    t.index ??= new HashedIndex(t.values.map((one) => (typeof one === "boolean" ? Number(one) : one)), t.hashed);
    let row = t.index.get(typeof value === "boolean" ? Number(value) : value);
    if (row === undefined && t.overflow && typeof value === "string" && overflows(t.overflow, value)) {
      row = t.index.get(OTHER_VALUE);
    }
    return row === undefined ? t.unseen : t.table[row];
  },

  amounts: (t, values, C) => {
    const scores = zeros(C);
    values.forEach((x, j) => addRow(scores, t.table[j], x ?? 0));
    return scores;
  },

  linear: (t, values) => {
    const z = values.map((x, j) => (x === null ? NaN : x - t.pivot[j] - t.centre[j]));
    return t.coef.map((row, k) => row.reduce((sum, w, j) => sum + w * z[j], 0) + t.bias[k]);
  },

  polynomial: (t, values) => {
    const z = values.map((x, j) => (x === null ? 0 : x - t.pivot[j] - t.centre[j]));
    const gaps = values.map((x) => x === null);
    return t.coef.map((row, k) => {
      let sum = 0;
      row.forEach((w, j) => (sum += w * z[j]));
      if (t.products !== null) {
        let p = 0;
        for (let i = 0; i < z.length; i++) {
          for (let j = i; j < z.length; j++) sum += t.products[k][p++] * (z[i] * z[j]);
        }
      }
      if (t.missing !== null) gaps.forEach((gap, j) => (sum += gap ? t.missing[k][j] : 0));
      else if (gaps.includes(true)) return NaN;
      return sum;
    });
  },

  quadratic: (t, values, C) => {
    const missing = values.flatMap((x, j) => (x === null ? [j] : []));
    const seen = values.flatMap((x, j) => (x === null ? [] : [j]));
    const marginals = t.log_det.map((_, s) => marginalOf(t, s, missing, seen));
    const scores = [];
    for (let k = 0; k < C; k++) {
      const { whitener, logDet } = marginals[marginals.length > 1 ? k : 0];
      const z = seen.map((j) => values[j] - t.pivot[k][j] - t.offset[k][j]);
      let square = 0;
      for (const row of whitener) {
        let sum = 0;
        for (let j = 0; j < z.length; j++) sum += row[j] * z[j];
        square += sum * sum;
      }
      scores.push(-0.5 * (seen.length * LOG_2PI + logDet + square));
    }
    return scores;
  },

  features: (t, values) => {
    let angles = anglesOf(t, values);
    if (!angles.every(Number.isFinite)) {
      angles = anglesOf(t, values.map((x) => Math.min(Math.max(x, -FARTHEST), FARTHEST)));
    }
    return t.bias.map((b, k) => {
      let sum = b;
      angles.forEach((u, f) => (sum += t.cosines[k][f] * Math.cos(u) + t.sines[k][f] * Math.sin(u)));
      return sum;
    });
  },

  code: (t, [code]) => t.table[code],
  pair: (t, [a, b]) => t.table[a][b],

  combination: (t, codes, C) => {
    if (codes.some((code, j) => code === t.sizes[j] - 1)) return zeros(C);
    t.rows ??= new Map(t.keys.map((key, i) => [key, i]));
    const row = t.rows.get(codes.reduce((sum, code, j) => sum + code * t.strides[j], 0));
    return row === undefined ? t.unseen : t.table[row];
  },

  context: (t, codes, C) => {
    t.rows ??= new Map(t.keys.map((key, i) => [key, i]));
    const rowOf = (first, level) => {
      let key = first;
      for (let i = 1; i <= 5; i++) key += (i <= level ? codes[i] : EMPTY_CODE) * 256 ** i;
      return t.rows.get(key);
    };
    const scores = zeros(C);
    if (rowOf(codes[0], 0) === undefined) return scores;
    for (let level = codes.length - 1; level >= 0; level--) {
      const found = rowOf(codes[0], level);
      const row = found ?? (level ? rowOf(EMPTY_CODE, level) : undefined);
      if (row !== undefined) addRow(scores, t.table[row], 1);
      if (found !== undefined || !t.backs_off) break;
    }
    return scores;
  },

  sum: (t, values) => totalOf(t.terms, values, t.bias),

  logsumexp: (t, values) => mixtureOf(t, values),

  average: (t, values) => mixtureOf(t, values).map((one) => (one === -Infinity ? 0 : one)),

  evidence: (t, values, C) => {
    const scores = totalOf(t.terms, values, zeros(C));
    let top = Math.max(...scores.filter((_, k) => t.known[k]));
    if (top === -Infinity) top = 0;
    return scores.map((one) => t.weight * Math.min(Math.max(one - top, -t.limit), 0));
  },

  tempered: (t, values) => {
    let scores = logPosterior(totalOf(t.terms, values, t.log_prior), t.log_prior);
    let scale = t.temperature;
    if (t.length !== null) {
      const length = LENGTH_KINDS[t.length.kind](t.length, t.length.reads.map((j) => values[j]));
      scale *= Math.exp(-t.exponent * Math.log1p(length));
    }
    if (t.lowest !== null) scores = scores.map((one) => Math.max(one, t.lowest));
    scores = normalised(scores.map((one) => (scale === 0 ? 0 : scale * one)));
    if (t.floor !== null) scores = scores.map((one) => Math.max(one, t.floor));
    return scores.map((one) => (t.weight === 0 ? 0 : t.weight * one));
  },

  tokens: (t, [text], C) => {
    const amounts = tokenAmounts(t, text ?? "");
    const scores = [...t.bias];
    for (const [row, amount] of amounts) addRow(scores, t.table[row], amount);
    if (t.absent !== null) {
      const impossible = (row, k) => t.absent[row][k] === -Infinity;
      if (!t.every) {
        t.every = zeros(C);
        t.impossible = zeros(C);
        for (let k = 0; k < C; k++) {
          const column = [];
          t.absent.forEach((one, row) => (impossible(row, k) ? (t.impossible[k] += 1) : column.push(one[k])));
          t.every[k] = pairwiseSum(column, 0, column.length);
        }
      }
      for (let k = 0; k < C; k++) {
        let [absent, without] = [0, t.impossible[k]];
        for (const row of amounts.keys()) impossible(row, k) ? (without -= 1) : (absent += t.absent[row][k]);
        scores[k] = without > 0 ? -Infinity : t.every[k] + (scores[k] - absent);
      }
    }
    return scores;
  },
};

const LENGTH_KINDS = {
  words: (length, [text]) => length.tokenizer.length(text ?? ""),
  amounts: (length, values) =>
    values.reduce((sum, x) => sum + (length.threshold === null ? x ?? 0 : Number(x !== null && x > length.threshold)), 0),
};

/** The sum of many numbers with small rounding errors. */
function pairwiseSum(x, from, to) {
  if (to - from <= 8) {
    let sum = 0;
    for (let i = from; i < to; i++) sum += x[i];
    return sum;
  }
  const middle = (from + to) >> 1;
  return pairwiseSum(x, from, middle) + pairwiseSum(x, middle, to);
}

/** start plus the scores of terms. */
function totalOf(terms, values, start) {
  const scores = [...start];
  for (const term of terms) {
    const found = TERMS[term.kind](term, term.reads.map((j) => values[j]), scores.length);
    for (let k = 0; k < scores.length; k++) scores[k] += found[k];
  }
  return scores;
}

function mixtureOf(t, values) {
  const parts = t.terms.map((term, i) => totalOf([term], values, t.log_weight[i]));
  return t.log_weight[0].map((_, k) => logSumExp(parts.map((part) => part[k])));
}

function anglesOf(t, values) {
  return t.frequencies[0].map((_, f) => {
    let sum = 0;
    for (let j = 0; j < values.length; j++) sum += (values[j] ?? NaN) * t.frequencies[j][f];
    return sum;
  });
}

/** Whether a text that is not listed counts as the value ‹other›. */
function overflows(overflow, text) {
  const hash = valueHash(text);
  overflow.known ??= new Set(overflow.frequent);
  const rank = overflow.known.has(hash) ? 0 : 1;
  const [first, second] = overflow.last;
  return rank > first || (rank === first && hash > second);
}

/** The Gaussian of the columns with values: V with ‖V z‖² = zᵀ Σ⁻¹ z, and log|Σ|. */
function marginalOf(t, s, missing, seen) {
  if (!missing.length) return { whitener: t.whitener[s], logDet: t.log_det[s] };
  if (!seen.length) return { whitener: [], logDet: 0 };
  t.marginals ??= new Map();
  const key = `${s} ${missing}`;
  if (!t.marginals.has(key)) {
    if (t.marginals.size > 2000) t.marginals.clear();
    t.marginals.set(key, computedMarginal(t, s, missing, seen));
  }
  return t.marginals.get(key);
}

function computedMarginal(t, s, missing, seen) {
  const W = t.whitener[s];
  if (t.covariance === null) return { whitener: W.map((row) => seen.map((j) => row[j])), logDet: NaN };
  const sigma = t.covariance[s];
  const product = (i, j) => W.reduce((sum, row) => sum + row[i] * row[j], 0);
  const steepness = Math.max(...missing.map((j) => sigma[j][j] * product(j, j)));
  if (missing.length <= seen.length && steepness <= STEEP_RATIO) {
    const root = cholesky(missing.map((i) => missing.map((j) => product(i, j))));
    const fill = seen.map((j) => {
      const side = missing.map((i) => product(i, j));
      return backwardSolved(root, forwardSolved(root, side));
    });
    const logDet = t.log_det[s] + 2 * root.reduce((sum, row, i) => sum + Math.log(row[i]), 0);
    const whitener = W.map((row) =>
      seen.map((j, at) => row[j] - missing.reduce((sum, m, i) => sum + row[m] * fill[at][i], 0)),
    );
    return { whitener, logDet };
  }
  const unit = seen.map((j) => Math.sqrt(sigma[j][j]));
  const root = cholesky(seen.map((i, a) => seen.map((j, b) => sigma[i][j] / (unit[a] * unit[b]))));
  const columns = seen.map((_, a) => forwardSolved(root, seen.map((__, b) => Number(a === b))));
  const whitener = seen.map((_, a) => columns.map((column, b) => column[a] / unit[b]));
  return { whitener, logDet: 2 * root.reduce((sum, row, i) => sum + Math.log(row[i] * unit[i]), 0) };
}

/** The rows of the table that a text uses, with their amounts, in increasing order of the rows. */
function tokenAmounts(t, text) {
  const found = new Map();
  for (const token of t.tokenizer.tokens(text)) found.set(token, (found.get(token) ?? 0) + 1);
  const used = [];
  let square = 0;
  for (const [token, count] of found) {
    const row = tokenRow(t.tokens, token);
    let amount = count;
    if (t.weighting === "l2" || t.weighting === "unit") {
      amount = 1 + Math.log(count);
      if (t.idf !== null) amount = row === undefined ? 0 : amount * t.idf[row];
      if (row !== undefined || t.weighting === "l2") square += amount * amount;
    }
    if (row !== undefined) used.push([row, amount]);
  }
  const norm = square > 0 ? Math.sqrt(square) : 1;
  const amounts = new Map();
  used.sort((a, b) => a[0] - b[0]);
  for (const [row, amount] of used) {
    amounts.set(row, t.weighting === "presence" ? 1 : (amounts.get(row) ?? 0) + amount / norm);
  }
  return amounts;
}

function tokenRow(tokens, token) {
  if (tokens.kind === "listed") {
    tokens.index ??= new HashedIndex(tokens.tokens, tokens.hashed);
    return tokens.index.get(token);
  }
  tokens.rows ??= new Map(tokens.used.map((bucket, i) => [bucket, i]));
  return tokens.rows.get(Number(tokenHash(token) & BigInt(tokens.buckets - 1)));
}
