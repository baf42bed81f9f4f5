// What each column adds to the score of each class. There are five kinds, and the page names the kind:
//
//   own      every term belongs to one column: its log density, which is also its Shapley value
//   term     the same for a model that is not a density, such as a twin
//   shapley  the mean over all orders of the columns, if other columns are unknown (at most 8 columns)
//   given    the change of the score if the value becomes unknown and all others stay
//   typical  the change of the score if a typical value takes its place (models without unknown values)

const MOST_SHAPLEY_COLUMNS = 8;
const MOST_PIECES = 60; // words of a text that are left out one by one

class Contributions {
  constructor(program, controls) {
    this.program = program;
    this.columns = controls.map((one) => one.column);
    this.typical = Object.fromEntries(controls.map((one) => [one.column, one.typical]));
    this.texts = new Set(controls.filter((one) => one.type === "text").map((one) => one.column));
    this.inputsOf = program.readings.map((reading) => [...columnsOf(reading)]);
    this.unknown = new Set(this.columns.filter((name) => this.takesUnknown(name)));
    this.kind = this.kindOf();
  }

  takesUnknown(name) {
    const scores = this.program.scores({ ...this.typical, [name]: null });
    return !scores.some(Number.isNaN);
  }

  kindOf() {
    const { program } = this;
    const single = program.terms.every((term) => term.kind === "amounts" || this.ownerOf(term) !== null);
    if (single && this.unknown.size === this.columns.length) return program.output === "log_joint" ? "own" : "term";
    if (this.unknown.size < this.columns.length) return "typical";
    const few = this.columns.length <= MOST_SHAPLEY_COLUMNS;
    return program.output === "log_joint" && few && !this.texts.size ? "shapley" : "given";
  }

  /** The only column of a term, or null if it has several. */
  ownerOf(term) {
    const names = new Set(term.reads.flatMap((j) => this.inputsOf[j]));
    return names.size === 1 ? [...names][0] : null;
  }

  /** A list of parts: { column, piece, scores }, for some of the columns. */
  of(cells, columns) {
    const parts = [];
    const shapley = this.kind === "shapley" ? this.shapley(cells) : null;
    for (const column of columns) {
      if (this.texts.has(column)) parts.push(...this.ofText(cells, column));
      else if (shapley) parts.push({ column, scores: shapley.get(column) });
      else parts.push({ column, scores: this.ofColumn(cells, column) });
    }
    return parts;
  }

  ofColumn(cells, column) {
    if (this.kind === "own" || this.kind === "term") return this.own(cells, column);
    const other = { ...cells, [column]: this.kind === "typical" ? this.typical[column] : null };
    return difference(this.program.scores(cells), this.program.scores(other));
  }

  own(cells, column) {
    const { program } = this;
    const scores = zeros(program.classes.length);
    for (const term of program.terms) {
      const values = () => term.reads.map((j) => readCell(program.readings[j], cells));
      if (term.kind === "amounts" && this.ownerOf(term) === null) {
        term.reads.forEach((j, i) => {
          if (this.inputsOf[j].includes(column)) addRow(scores, term.table[i], readCell(program.readings[j], cells) ?? 0);
        });
      } else if (this.ownerOf(term) === column) {
        TERMS[term.kind](term, values(), scores.length).forEach((one, k) => (scores[k] += one));
      }
    }
    return scores;
  }

  /** Each word of a text: the change of the score if it is left out. */
  ofText(cells, column) {
    const text = cells[column] ?? "";
    const pieces = [...new Set(text.split(/\s+/u).filter(Boolean))].slice(0, MOST_PIECES);
    const whole = this.program.scores(cells);
    return pieces.map((piece) => {
      const rest = text.split(/\s+/u).filter((one) => one !== piece).join(" ");
      const other = this.program.scores({ ...cells, [column]: rest });
      return { column, piece, scores: difference(whole, other) };
    });
  }

  /** The exact Shapley values of the game v(S) = score with all columns outside S unknown. */
  shapley(cells) {
    const known = this.columns.filter((name) => (cells[name] ?? null) !== null);
    const n = known.length;
    const values = [];
    for (let set = 0; set < 1 << n; set++) {
      const some = { ...cells };
      known.forEach((name, j) => {
        if (!((set >> j) & 1)) some[name] = null;
      });
      values.push(this.program.scores(some));
    }
    const factorial = [1];
    for (let i = 1; i <= n; i++) factorial.push(factorial[i - 1] * i);
    const out = new Map(this.columns.map((name) => [name, zeros(this.program.classes.length)]));
    known.forEach((name, j) => {
      const scores = out.get(name);
      for (let set = 0; set < 1 << n; set++) {
        if ((set >> j) & 1) continue;
        const size = countBits(set);
        const weight = (factorial[size] * factorial[n - size - 1]) / factorial[n];
        const [without, together] = [values[set], values[set | (1 << j)]];
        for (let k = 0; k < scores.length; k++) scores[k] += weight * minus(together[k], without[k]);
      }
    });
    return out;
  }
}

function countBits(x) {
  let out = 0;
  for (; x; x &= x - 1) out++;
  return out;
}

/** a − b, where −∞ − (−∞) is 0. */
const minus = (a, b) => (a === b ? 0 : a - b);

const difference = (a, b) => a.map((one, k) => minus(one, b[k]));

/** A score of class k against the mean of all other classes. */
function againstOthers(scores, k, possible) {
  const others = scores.filter((_, l) => l !== k && possible[l]);
  if (!others.length) return scores[k];
  return minus(scores[k], others.reduce((sum, one) => sum + one, 0) / others.length);
}

function* columnsOf(reading) {
  if (reading.column !== undefined) yield reading.column;
  if (reading.columns) yield* reading.columns;
  if (Array.isArray(reading.of)) for (const one of reading.of) yield* columnsOf(one);
  else if (reading.of) yield* columnsOf(reading.of);
}
