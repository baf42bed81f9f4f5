// Special functions and small matrices. Vectors are arrays, matrices are arrays of rows.

const LOG_2PI = Math.log(2 * Math.PI);

/** log Σ exp(x); −∞ if all x are −∞. */
function logSumExp(x) {
  let top = -Infinity;
  for (const one of x) if (one > top || Number.isNaN(one)) top = one;
  if (top === -Infinity) return -Infinity;
  let sum = 0;
  for (const one of x) sum += Math.exp(one - top);
  return Math.log(sum) + top;
}

/** x_k − log Σ exp(x). */
function normalised(x) {
  const total = logSumExp(x);
  return x.map((one) => one - total);
}

/** log p(k | x) from the scores of the classes. An impossible row has the priors. */
function logPosterior(scores, logPrior) {
  return scores.every((one) => one === -Infinity) ? [...logPrior] : normalised(scores);
}

/** log Γ(x) for x > 0, by Stirling's series after a shift. */
function logGamma(x) {
  if (x === 1 || x === 2) return 0;
  let shift = 1;
  while (x < 12) {
    shift *= x;
    x += 1;
  }
  const y = 1 / (x * x);
  let series = 0;
  for (const c of [-3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12]) {
    series = series * y + c;
  }
  return (x - 0.5) * Math.log(x) - x + LOG_2PI / 2 + series / x - Math.log(shift);
}

const polynomial = (x, coefficients) => coefficients.reduce((sum, one) => sum * x + one, 0);

/** The quantile of the standard normal distribution (Cephes ndtri), for p from 1e-13 to 1 − 1e-13. */
function normalQuantile(p) {
  const upper = p > 1 - 0.13533528323661269189;
  const y = upper ? 1 - p : p;
  if (y > 0.13533528323661269189) {
    const z = y - 0.5;
    const z2 = z * z;
    const top = polynomial(z2, [
      -5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1,
      1.39312609387279679503e1, -1.23916583867381258016,
    ]);
    const bottom = polynomial(z2, [
      1, 1.95448858338141759834, 4.67627912898881538453, 8.63602421390890590575e1,
      -2.25462687854119370527e2, 2.00260212380060660359e2, -8.20372256168333339912e1,
      1.59056225126211695515e1, -1.1833162112133000314,
    ]);
    return (z + z * (z2 * top / bottom)) * 2.50662827463100050242;
  }
  const x = Math.sqrt(-2 * Math.log(y));
  const z = 1 / x;
  const top = polynomial(z, [
    4.05544892305962419923, 3.15251094599893866154e1, 5.71628192246421288162e1,
    4.408050738932008347e1, 1.46849561928858024014e1, 2.18663306850790267539,
    -1.40256079171354495875e-1, -3.50424626827848203418e-2, -8.57456785154685413611e-4,
  ]);
  const bottom = polynomial(z, [
    1, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.1317203825467203044e1,
    1.50425385692907503408e1, 2.50464946208309415979, -1.42182922854787788574e-1,
    -3.80806407691578277194e-2, -9.33259480895457427372e-4,
  ]);
  const found = x - Math.log(x) / x - z * top / bottom;
  return upper ? found : -found;
}

/** The number of sorted values that are at most x. */
function countAtMost(values, x) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The lower triangular root L of a matrix A = L Lᵀ. */
function cholesky(matrix) {
  const root = matrix.map((row) => row.map(() => 0));
  for (let i = 0; i < matrix.length; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i][j];
      for (let k = 0; k < j; k++) sum -= root[i][k] * root[j][k];
      root[i][j] = i === j ? Math.sqrt(sum) : sum / root[j][j];
    }
  }
  return root;
}

/** x with L x = b. */
function forwardSolved(root, b) {
  const x = [];
  for (let i = 0; i < root.length; i++) {
    let sum = b[i];
    for (let k = 0; k < i; k++) sum -= root[i][k] * x[k];
    x.push(sum / root[i][i]);
  }
  return x;
}

/** x with Lᵀ x = b. */
function backwardSolved(root, b) {
  const x = new Array(root.length).fill(0);
  for (let i = root.length - 1; i >= 0; i--) {
    let sum = b[i];
    for (let k = i + 1; k < root.length; k++) sum -= root[k][i] * x[k];
    x[i] = sum / root[i][i];
  }
  return x;
}
