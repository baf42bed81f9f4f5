// Texts become tokens exactly as in Python. The page carries the classes of characters and the map to
// lower case of the Python that made it, because those of a browser can be of another version of Unicode.

const CAPITAL_SIGMA = 0x3a3;
const CAPITAL_DOTTED_I = 0x130;

/** A set of characters from "start length gap length gap …" in base 36. */
class CharacterSet {
  constructor(packed) {
    this.starts = [];
    this.ends = [];
    let at = 0;
    const numbers = packed === "" ? [] : packed.split(" ").map((one) => parseInt(one, 36));
    for (let i = 0; i + 1 < numbers.length; i += 2) {
      this.starts.push(at + numbers[i]);
      at += numbers[i] + numbers[i + 1];
      this.ends.push(at);
    }
    this.known = new Map();
  }

  has(point) {
    let found = this.known.get(point);
    if (found === undefined) {
      const i = countAtMost(this.starts, point) - 1;
      found = i >= 0 && point < this.ends[i];
      this.known.set(point, found);
    }
    return found;
  }
}

/** What Python knows about characters: see characters.py. */
class Characters {
  constructor(data) {
    for (const name of ["word", "space", "cased", "ignorable", "combining", "decomposed"]) {
      this[name] = new CharacterSet(data[name] || "");
    }
    this.lower = new Map();
    for (const run of (data.lower || "").split(" ").filter(Boolean)) {
      const [start, length, step, shift] = run.split(",").map((one) => parseInt(one, 36));
      for (let i = 0; i < length; i++) this.lower.set(start + i * step, start + i * step + shift);
    }
  }

  /** str.lower() */
  lowered(points) {
    const out = [];
    points.forEach((point, i) => {
      if (point === CAPITAL_DOTTED_I) out.push(0x69, 0x307);
      else if (point === CAPITAL_SIGMA) out.push(this.isFinalSigma(points, i) ? 0x3c2 : 0x3c3);
      else out.push(this.lower.get(point) ?? point);
    });
    return out;
  }

  /** A sigma ends a word if a cased letter is before it and none is after it. */
  isFinalSigma(points, at) {
    let i = at - 1;
    while (i >= 0 && this.ignorable.has(points[i])) i--;
    if (i < 0 || !this.cased.has(points[i])) return false;
    i = at + 1;
    while (i < points.length && this.ignorable.has(points[i])) i++;
    return i >= points.length || !this.cased.has(points[i]);
  }

  withoutAccents(points, form) {
    if (points.every((point) => point < 128)) return points;
    const out = [];
    for (const point of points) {
      const parts = this.decomposed.has(point)
        ? codePoints(String.fromCodePoint(point).normalize("NFKD"))
        : [point];
      for (const one of parts) {
        if (form === "ascii" ? one < 128 : !this.combining.has(one)) out.push(one);
      }
    }
    return out;
  }
}

const codePoints = (text) => Array.from(text, (one) => one.codePointAt(0));

function textOf(points) {
  let out = "";
  for (const point of points) out += String.fromCodePoint(point);
  return out;
}

class Tokenizer {
  constructor(settings, characters) {
    this.settings = settings;
    this.characters = characters;
    this.stopped = new Set(settings.stop_words);
    this.byCharacter = settings.analyzer === "char_wb";
  }

  prepared(text) {
    let points = codePoints(text);
    if (this.settings.lowercase) points = this.characters.lowered(points);
    const accents = this.settings.strip_accents;
    return accents === null ? points : this.characters.withoutAccents(points, accents);
  }

  /** The runs of characters of a class, each as a list. */
  runs(text, isInside) {
    const out = [];
    let run = [];
    for (const point of [...this.prepared(text), null]) {
      if (point !== null && isInside(point)) run.push(point);
      else if (run.length) {
        out.push(run);
        run = [];
      }
    }
    return out;
  }

  words(text) {
    const runs = this.runs(text, (point) => this.characters.word.has(point));
    const found = runs.filter((run) => run.length > 1).map(textOf);
    return this.stopped.size ? found.filter((word) => !this.stopped.has(word)) : found;
  }

  pieces(text) {
    return this.runs(text, (point) => !this.characters.space.has(point));
  }

  /** The n-grams of words, or of the characters of each word. */
  tokens(text) {
    const [low, high] = this.settings.ngrams;
    const out = [];
    if (this.byCharacter) {
      for (const piece of this.pieces(text)) {
        const word = [32, ...piece, 32];
        for (let n = Math.min(low, word.length); n <= Math.min(high, word.length); n++) {
          for (let i = 0; i + n <= word.length; i++) out.push(textOf(word.slice(i, i + n)));
        }
      }
      return out;
    }
    const words = this.words(text);
    for (let n = low; n <= high; n++) {
      for (let i = 0; i + n <= words.length; i++) out.push(words.slice(i, i + n).join(" "));
    }
    return out;
  }

  /** The number of words, or of characters with one space around each word. */
  length(text) {
    if (!this.byCharacter) return this.words(text).length;
    return this.pieces(text).reduce((sum, piece) => sum + piece.length + 1, 1);
  }
}
