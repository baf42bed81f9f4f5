// The live nomogram: one control per column, the posteriors of all classes, contributions and log p(x).

const UNSEEN = "‹\u0000›"; // a value that no row has
const WHOLE_TEXT = /^(-?(?:0|[1-9]\d*))\.0+$/;
const ROUNDING = 1e-12; // of a sum of logarithms: with all cells unknown, log p(x) is 0

function withoutRounding(value) {
  return Math.abs(value) < ROUNDING ? 0 : value;
}

class Nomogram {
  constructor(data, language) {
    this.data = data;
    this.language = language;
    this.program = new Program(data.program, data.characters);
    this.controls = data.controls;
    this.contributions = new Contributions(this.program, this.controls);
    this.possible = this.program.logPrior.map((one) => one > -Infinity);
    this.byName = new Map(this.controls.map((one) => [one.column, one]));
    this.chosen = null; // the class of the contributions; null for the most probable one
    this.fields = new Map();
    this.form = document.getElementById("controls");
    this.cells = this.startCells();
    this.build();
    this.readFragment();
    this.show();
    window.addEventListener("hashchange", () => {
      if (location.hash.slice(1) === this.written) return;
      this.cells = this.startCells();
      this.chosen = null;
      this.readFragment();
      this.show();
    });
  }

  /** All values unknown; typical values where the model needs one. */
  startCells() {
    return Object.fromEntries(
      this.controls.map((one) => [one.column, this.contributions.unknown.has(one.column) ? null : one.typical]),
    );
  }

  typicalCells() {
    return Object.fromEntries(this.controls.map((one) => [one.column, one.typical]));
  }

  // Controls ----------------------------------------------------------------------------------------

  build() {
    const rest = [];
    this.controls.forEach((control, i) => {
      const row = this.controlRow(control, i);
      if (i < this.data.open) this.form.append(row);
      else rest.push(row);
    });
    if (rest.length) {
      const summary = made("summary", {}, this.language.say("more columns", { count: rest.length }));
      this.form.append(made("details", { id: "more" }, summary, ...rest));
    }
    this.form.addEventListener("submit", (event) => event.preventDefault());
    const select = document.getElementById("of-class");
    select.append(made("option", { value: "" }, this.language.say("most probable")));
    this.data.classes.forEach((name, k) => select.append(made("option", { value: k }, shortened(name, 40))));
    select.addEventListener("change", () => {
      this.chosen = select.value === "" ? null : Number(select.value);
      this.changed();
    });
    const press = (id, work) => document.getElementById(id).addEventListener("click", work);
    press("reset", () => this.set(this.startCells()));
    press("typical", () => this.set(this.typicalCells()));
    press("print", () => window.print());
    press("save", () => this.save());
  }

  set(cells) {
    this.cells = cells;
    this.changed();
  }

  changed() {
    this.writeFragment();
    this.show();
  }

  change(column, value) {
    this.cells[column] = value;
    this.changed();
  }

  controlRow(control, i) {
    const id = `column-${i}`;
    const row = made("div", { class: `control ${control.type}` });
    const label = made("label", { for: id, title: control.column }, made("bdi", {}, shortened(this.labelOf(control), 60)));
    row.append(label);
    const field = { row, control, inputs: {} };
    this.fields.set(control.column, field);
    CONTROL_KINDS[control.type](this, field, id);
    if (this.contributions.unknown.has(control.column) && control.type !== "text" && !field.inputs.select) {
      const box = made("input", { type: "checkbox", id: `${id}-unknown` });
      const name = this.language.say("unknown value of", { column: control.column });
      box.setAttribute("aria-label", name);
      box.addEventListener("change", () => this.change(control.column, box.checked ? null : control.typical));
      field.inputs.unknown = box;
      row.append(made("label", { class: "unknown", for: `${id}-unknown` }, box, ` ${this.language.say("unknown")}`));
    }
    return row;
  }

  /** The only column of a model of texts has no name of its own. */
  labelOf(control) {
    const alone = this.controls.length === 1 && control.type === "text" && control.column === "x0";
    return alone ? this.language.say("text") : control.column;
  }

  // State -------------------------------------------------------------------------------------------

  /** The state as the fragment of the address: only values that are not the first ones. */
  writeFragment() {
    const start = this.startCells();
    const out = new URLSearchParams();
    for (const { column } of this.controls) {
      const value = this.cells[column];
      if (value === start[column]) continue;
      if (value === null) out.append(`-${column}`, "");
      else if (value === UNSEEN) out.append(`?${column}`, "");
      else out.append(`.${column}`, String(value));
    }
    if (this.chosen !== null) out.append("!", String(this.chosen));
    this.written = out.toString();
    try {
      history.replaceState(null, "", this.written ? `#${this.written}` : location.pathname + location.search);
    } catch {
      // A frame without an address has no state to keep.
    }
  }

  readFragment() {
    for (const [key, text] of new URLSearchParams(location.hash.slice(1))) {
      const control = this.byName.get(key.slice(1));
      if (key === "!") {
        const k = Number(text);
        if (Number.isInteger(k) && k >= 0 && k < this.data.classes.length) this.chosen = k;
      } else if (control !== undefined) {
        const unknown = this.contributions.unknown.has(control.column);
        if (key[0] === "-" && unknown) this.cells[control.column] = null;
        else if (key[0] === "?" && control.type === "category") this.cells[control.column] = UNSEEN;
        else if (key[0] === ".") {
          const value = FROM_TEXT[control.type](text, control);
          if (value !== undefined) this.cells[control.column] = value;
        }
      }
    }
    this.written = location.hash.slice(1);
  }

  // Results -----------------------------------------------------------------------------------------

  show() {
    for (const field of this.fields.values()) CONTROL_SHOWN[field.control.type](this, field, this.cells[field.control.column]);
    const { language } = this;
    const { scores, logPosterior, logDensity } = this.program.evaluate(this.cells);
    const ranked = logPosterior ?? scores;
    let best = 0;
    ranked.forEach((one, k) => {
      if (one > ranked[best]) best = k;
    });
    const probable = logPosterior !== null;
    const name = shortened(this.data.classes[best], 60);
    document.getElementById("decision").textContent = probable
      ? language.say("decision", { class: name, share: language.share(Math.exp(logPosterior[best])) })
      : language.say("decision by score", { class: name });
    this.showPosteriors(ranked, probable);
    const density = document.getElementById("density");
    density.textContent = logDensity === null ? language.say("no density") : language.say("log density", { value: language.number(withoutRounding(logDensity), 6) });
    if (logDensity === null) density.removeAttribute("data-value");
    else density.setAttribute("data-value", String(logDensity));
    this.showParts(this.chosen ?? best);
  }

  showPosteriors(ranked, probable) {
    const { language, data } = this;
    const low = Math.min(...ranked.filter(Number.isFinite));
    const rows = ranked.map((one, k) => ({
      label: data.classes[k], k, value: probable ? Math.exp(one) : one, exact: one,
      note: probable ? language.share(Math.exp(one)) : language.number(one),
    }));
    const shown = rows.length > 12 ? [...rows].sort((a, b) => b.exact - a.exact).slice(0, 12) : rows;
    const chart = barChart(
      probable ? shown : shown.map((row) => ({ ...row, value: Math.max(row.value - low, 0) })),
      { language, label: language.say("posterior"), most: probable ? 1 : null, width: this.width() },
    );
    const holder = document.getElementById("posteriors");
    holder.replaceChildren(chart);
    if (rows.length > shown.length) holder.append(made("p", { class: "quiet" }, language.say("other classes", { count: rows.length - shown.length })));
    holder.setAttribute("data-values", JSON.stringify(ranked.map((one) => (Number.isFinite(one) ? one : String(one)))));
  }

  /** The bars of the columns: those that are open, and all that have a value. */
  showParts(k) {
    const { language } = this;
    const start = this.startCells();
    const columns = this.controls.filter((one, i) => i < this.data.open || this.cells[one.column] !== start[one.column]).map((one) => one.column);
    const parts = this.contributions.of(this.cells, columns);
    const rows = parts
      .map((part) => ({
        label: part.piece ?? part.column, value: againstOthers(part.scores, k, this.possible),
        known: part.piece !== undefined || this.cells[part.column] !== null,
      }))
      .filter((row) => row.known && !Number.isNaN(row.value));
    rows.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const prior = againstOthers(this.program.logPrior, k, this.possible);
    rows.unshift({ label: language.say("prior"), value: prior });
    const shown = rows.slice(0, 31);
    const noted = shown.map((row) => ({ ...row, note: language.signed(row.value) }));
    document.getElementById("of-class").value = this.chosen === null ? "" : String(this.chosen);
    const holder = document.getElementById("parts");
    const label = language.say("evidence label", { class: shortened(this.data.classes[k], 60) });
    holder.replaceChildren(barChart(noted, { language, label, signed: true, width: this.width() }));
    const texts = this.contributions.texts.size;
    const kinds = texts === this.controls.length ? ["kind words"] : [`kind ${this.contributions.kind}`, ...(texts ? ["kind words"] : [])];
    document.getElementById("kind").textContent = [label, ...kinds.map((one) => language.say(one))].join(" ");
    holder.setAttribute("data-kind", this.contributions.kind);
  }

  /** The width of the charts: letters keep their size on a narrow screen. */
  width() {
    return chartWidth(document.getElementById("parts"));
  }

  save() {
    const charts = ["posteriors", "parts"].map((id) => document.querySelector(`#${id} svg`));
    const heights = charts.map((one) => Number(one.getAttribute("viewBox").split(" ")[3]));
    const svg = drawn("svg", { viewBox: `0 0 ${this.width()} ${heights[0] + heights[1] + 44}`, xmlns: SVG, class: "chart" });
    const decision = drawn("text", { x: 4, y: 18 }, document.getElementById("decision").textContent);
    const first = drawn("g", { transform: "translate(0 30)" }, ...[...charts[0].cloneNode(true).childNodes]);
    const second = drawn("g", { transform: `translate(0 ${heights[0] + 42})` }, ...[...charts[1].cloneNode(true).childNodes]);
    svg.append(decision, first, second);
    document.getElementById("parts").append(svg); // its colours are those of the page
    const text = svgFile(svg);
    svg.remove();
    const link = made("a", { download: "nomogram.svg", href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

// Kinds of controls ---------------------------------------------------------------------------------

const CONTROL_KINDS = {
  number(nomogram, field, id) {
    const { control } = field;
    const number = made("input", { type: "number", id, step: "any", inputmode: "decimal" });
    if (control.least !== null) number.min = control.least;
    const range = made("input", { type: "range", min: control.low, max: control.high, step: control.step });
    range.setAttribute("aria-label", control.column);
    number.addEventListener("input", () => {
      const value = FROM_TEXT.number(number.value, control);
      if (value !== undefined) nomogram.change(control.column, value);
      else if (number.value === "" && nomogram.contributions.unknown.has(control.column)) nomogram.change(control.column, null);
    });
    range.addEventListener("input", () => nomogram.change(control.column, Number(range.value)));
    Object.assign(field.inputs, { number, range });
    field.row.append(range, number);
  },

  category(nomogram, field, id) {
    const { control, inputs } = field;
    if (control.typed) {
      inputs.text = made("input", { type: "text", id, list: `${id}-list`, maxlength: 10000 });
      const list = made("datalist", { id: `${id}-list` });
      for (const value of control.values) list.append(made("option", { value }));
      inputs.text.addEventListener("input", () => {
        const text = inputs.text.value;
        if (text !== "") nomogram.change(control.column, control.texts ? text.replace(WHOLE_TEXT, "$1") : plainValue(text, control));
        else if (nomogram.contributions.unknown.has(control.column)) nomogram.change(control.column, null);
      });
      field.row.append(inputs.text, list);
      return;
    }
    const select = made("select", { id });
    if (nomogram.contributions.unknown.has(control.column)) select.append(made("option", { value: "unknown" }, nomogram.language.say("unknown")));
    control.values.forEach((value, i) => select.append(made("option", { value: i }, shortened(value, 80))));
    select.append(made("option", { value: "unseen" }, nomogram.language.say("another value")));
    select.addEventListener("change", () => {
      const value = select.value === "unknown" ? null : select.value === "unseen" ? UNSEEN : control.values[Number(select.value)];
      nomogram.change(control.column, value);
    });
    inputs.select = select;
    field.row.append(select);
  },

  boolean(nomogram, field, id) {
    const select = made("select", { id });
    if (nomogram.contributions.unknown.has(field.control.column)) select.append(made("option", { value: "" }, nomogram.language.say("unknown")));
    select.append(made("option", { value: "1" }, nomogram.language.say("true")), made("option", { value: "0" }, nomogram.language.say("false")));
    select.addEventListener("change", () => nomogram.change(field.control.column, select.value === "" ? null : Number(select.value)));
    field.inputs.select = select;
    field.row.append(select);
  },

  date(nomogram, field, id) {
    const input = made("input", { type: "datetime-local", id, step: 1 });
    input.addEventListener("input", () => {
      const value = FROM_TEXT.date(input.value);
      if (value !== undefined) nomogram.change(field.control.column, value);
    });
    field.inputs.date = input;
    field.row.append(input);
  },

  text(nomogram, field, id) {
    const box = made("textarea", { id, rows: 6, placeholder: nomogram.language.say("type a text"), spellcheck: "false" });
    box.addEventListener("input", () => nomogram.change(field.control.column, box.value === "" ? null : box.value));
    field.inputs.text = box;
    field.row.append(box);
  },
};

/** A typed value that is not a text: a number where the listed values are numbers. */
function plainValue(text, control) {
  const number = Number(text);
  return Number.isFinite(number) && control.values.some((one) => typeof one === "number") ? number : text;
}

const CONTROL_SHOWN = {
  number(nomogram, { inputs, control }, value) {
    if (document.activeElement !== inputs.number) inputs.number.value = value === null ? "" : String(value);
    inputs.range.value = String(value ?? control.typical);
    inputs.range.classList.toggle("off", value === null);
    if (inputs.unknown) inputs.unknown.checked = value === null;
  },
  category(nomogram, { inputs, control }, value) {
    if (inputs.text) {
      if (document.activeElement !== inputs.text) inputs.text.value = value === null ? "" : value === UNSEEN ? "" : String(value);
      if (inputs.unknown) inputs.unknown.checked = value === null;
      return;
    }
    const at = control.values.indexOf(value);
    inputs.select.value = value === null ? "unknown" : at < 0 ? "unseen" : String(at);
  },
  boolean(nomogram, { inputs }, value) {
    inputs.select.value = value === null ? "" : String(Number(value));
  },
  date(nomogram, { inputs }, value) {
    if (document.activeElement !== inputs.date) inputs.date.value = value === null ? "" : new Date(value).toISOString().slice(0, 19);
    if (inputs.unknown) inputs.unknown.checked = value === null;
  },
  text(nomogram, { inputs }, value) {
    if (document.activeElement !== inputs.text) inputs.text.value = value ?? "";
  },
};

/** The value of a text of the address or of a field; undefined if it is not a value. */
const FROM_TEXT = {
  number(text, control) {
    const value = text.trim() === "" ? NaN : Number(text);
    return Number.isFinite(value) && !(control.least !== null && value < control.least) ? value : undefined;
  },
  category: (text, control) => (control.texts ? text.replace(WHOLE_TEXT, "$1") : plainValue(text, control)),
  boolean: (text) => (text === "1" || text === "0" ? Number(text) : undefined),
  date(text) {
    if (/^-?\d+$/.test(text)) return Number(text);
    const value = Date.parse(text.length === 16 ? `${text}:00Z` : `${text}Z`);
    return Number.isNaN(value) ? undefined : value;
  },
  text: (text) => text,
};
