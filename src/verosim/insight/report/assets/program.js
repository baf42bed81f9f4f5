// A program from its JSON: the posteriors of all classes, and log p(x) if the model is a density.

class Program {
  constructor(data, characters) {
    const shared = [];
    for (const part of data.shared) shared.push(restored(part, shared));
    this.output = data.output;
    this.classes = data.classes;
    this.logPrior = data.log_prior.map(withInfinity);
    this.inputs = new Map(data.inputs.map(({ column, type }) => [column, type]));
    this.readings = restored(data.readings, shared);
    this.terms = restored(data.terms, shared);
    prepareTerms(this.terms, new Characters(characters ?? {}));
  }

  /** The scores of the classes: log joint densities, log posteriors or scores. */
  scores(cells) {
    const values = this.readings.map((reading) => readCell(reading, cells));
    return totalOf(this.terms, values, this.logPrior);
  }

  /** The scores, the log posteriors (null without probabilities), and log p(x) of a density. */
  evaluate(cells) {
    const scores = this.scores(cells);
    if (this.output === "scores") return { scores, logPosterior: null, logDensity: null };
    const found = logPosterior(scores, this.logPrior);
    const logDensity = this.output === "log_joint" ? logSumExp(scores) : null;
    return { scores: this.output === "log_joint" ? scores : found, logPosterior: found, logDensity };
  }
}

function withInfinity(value) {
  if (Array.isArray(value)) return value.map(withInfinity);
  return value === "-inf" ? -Infinity : value;
}

/** Arrays of numbers that may have "-inf". Other lists of a term are texts or whole numbers. */
const ARRAYS = ["table", "absent", "present", "unseen", "missing", "bias", "log_weight", "log_prior"];

/** A part with the shared parts in place of their references. */
function restored(value, shared) {
  if (Array.isArray(value)) {
    const first = value[0];
    if (typeof first === "number" || typeof first === "string") return value;
    return value.map((one) => restored(one, shared));
  }
  if (value === null || typeof value !== "object") return value;
  const names = Object.keys(value);
  if (names.length === 1 && names[0] === "shared") return shared[value.shared];
  const out = {};
  for (const name of names) out[name] = restored(value[name], shared);
  return out;
}

function prepareTerms(terms, characters) {
  for (const term of terms) {
    if (term.prepared) continue;
    term.prepared = true;
    for (const name of ARRAYS) if (Array.isArray(term[name])) term[name] = withInfinity(term[name]);
    if (term.kind === "tokens") term.tokenizer = new Tokenizer(term, characters);
    if (term.length && term.length.kind === "words") {
      term.length.tokenizer = new Tokenizer({ ...term.length, ngrams: [1, 1] }, characters);
    }
    if (term.terms) prepareTerms(term.terms, characters);
  }
}
