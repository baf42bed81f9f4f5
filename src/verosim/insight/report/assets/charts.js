// Charts as SVG, from numbers. Colours are classes of the style, so dark mode and print need no second set.

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = 8;
const WIDEST = 544; // pixels of a chart

function drawn(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes ?? {})) node.setAttribute(name, value);
  node.append(...children.filter((one) => one !== null));
  return node;
}

function made(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) node.setAttribute(name, value);
  node.append(...children.filter((one) => one !== null));
  return node;
}

/** The texts and numbers of one language. */
class Language {
  constructor(name, words) {
    this.name = name === "es" ? "es-419" : name; // Latin America: 0.5, as in the tables
    this.words = words;
  }

  say(key, values = {}) {
    let text = this.words[key] ?? key;
    for (const [name, value] of Object.entries(values)) text = text.split(`{${name}}`).join(value);
    return text;
  }

  number(x, digits = 4) {
    if (x === null || Number.isNaN(x)) return "–";
    if (x === Infinity) return "∞";
    if (x === -Infinity) return "−∞";
    const size = Math.abs(x);
    const far = size !== 0 && (size >= 1e7 || size < 1e-4);
    const text = new Intl.NumberFormat(this.name, {
      maximumSignificantDigits: digits,
      notation: far ? "scientific" : "standard",
      useGrouping: size >= 10000,
    }).format(x);
    return text.replace("-", "−");
  }

  share(p) {
    if (p > 0 && p < 0.001) return `< ${this.fixed(0.1, 1)} %`;
    if (p < 1 && p > 0.999) return `> ${this.fixed(99.9, 1)} %`;
    return `${this.fixed(100 * p, 1)} %`;
  }

  fixed(x, digits) {
    const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    return new Intl.NumberFormat(this.name, format).format(x).replace("-", "−");
  }

  signed(x) {
    if (!Number.isFinite(x)) return x > 0 ? "+∞" : "−∞";
    return (x >= 0 ? "+" : "") + this.fixed(x, 2);
  }
}

/** A text in one line with at most so many letters, with dots in place of the middle. Marks of direction stay inside of it. */
function shortened(text, most) {
  const letters = Array.from(String(text).replace(/\s+/gu, " "));
  if (letters.length <= most) return `\u2068${letters.join("")}\u2069`;
  const head = Math.floor(((most - 1) * 2) / 3);
  const tail = letters.length - (most - 1 - head);
  return `\u2068${letters.slice(0, head).join("")}…${letters.slice(tail).join("")}\u2069`;
}

const colour = (k) => `c${k % COLOURS}`;
const dash = (k) => `d${(k + Math.floor(k / COLOURS)) % COLOURS}`;

/** Round numbers between two limits. */
function ticksOf(low, high, most = 6) {
  if (!(high > low)) return [low];
  let step = 10 ** Math.floor(Math.log10((high - low) / most));
  step *= [1, 2, 5, 10].find((f) => (high - low) / (step * f) <= most) ?? 10;
  const out = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12) + 1e-300; i++) out.push(i === 0 ? 0 : i * step);
  return out;
}

/** A width at which the letters of a chart have about the size of other letters. */
function chartWidth(holder) {
  return Math.round(Math.min(Math.max(holder.clientWidth || WIDEST, 280), WIDEST));
}

/** An empty picture with a text for readers of the screen. */
function picture(width, height, label) {
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", class: "chart" });
  svg.append(drawn("title", {}, label));
  return svg;
}

/** Bars from left to right: rows of { label, value, note, k }. Bars below 0 go to the left. */
function barChart(rows, { language, label, signed = false, most = null, width = 420 }) {
  const finite = rows.map((row) => Math.abs(row.value)).filter(Number.isFinite);
  const top = most ?? Math.max(...finite, 1e-9);
  const height = 24;
  const left = width * 0.36;
  const right = width - 72;
  const zero = signed ? (left + right) / 2 : left;
  const scale = (signed ? (right - left) / 2 : right - left) / top;
  const svg = picture(width, rows.length * height + 6, label);
  rows.forEach((row, i) => {
    const y = i * height + 4;
    const length = Math.min(Math.abs(row.value), top) * scale;
    const group = drawn("g", {});
    const name = drawn("text", { x: left - 8, y: y + 13, "text-anchor": "end" }, shortened(row.label, Math.floor(left / 7.2)));
    name.append(drawn("title", {}, String(row.label)));
    const kind = signed ? (row.value >= 0 ? "for" : "against") : row.k === undefined ? "plain" : colour(row.k);
    group.append(
      name,
      drawn("rect", {
        class: `bar ${kind}`, x: row.value < 0 ? zero - length : zero, y, height: 16, rx: 2, width: Math.max(length, 0.5),
      }),
      drawn("text", { x: width - 2, y: y + 13, "text-anchor": "end", class: "figure" }, row.note ?? language.number(row.value)),
    );
    svg.append(group);
  });
  if (signed) svg.append(drawn("line", { class: "axis", x1: zero, x2: zero, y1: 0, y2: rows.length * height + 4 }));
  return svg;
}

/** The frame of a chart with two axes, and the functions that place numbers in it. */
function frame({ x, y, language, label, xLabel = "", yLabel = "", width = 420, height = 210, yTicks = true }) {
  const box = { left: yTicks ? 46 : 10, right: width - 10, top: yLabel ? 20 : 8, bottom: height - (xLabel ? 36 : 22) };
  const svg = picture(width, height, label);
  const px = (v) => box.left + ((v - x[0]) / (x[1] - x[0] || 1)) * (box.right - box.left);
  const py = (v) => box.bottom - ((v - y[0]) / (y[1] - y[0] || 1)) * (box.bottom - box.top);
  svg.append(drawn("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  for (const tick of ticksOf(x[0], x[1], 5)) {
    svg.append(
      drawn("line", { class: "axis", x1: px(tick), x2: px(tick), y1: box.bottom, y2: box.bottom + 4 }),
      drawn("text", { class: "tick", x: px(tick), y: box.bottom + 16, "text-anchor": "middle" }, language.number(tick, 6)),
    );
  }
  if (yTicks) {
    for (const tick of ticksOf(y[0], y[1], 4)) {
      svg.append(
        drawn("line", { class: "grid", x1: box.left, x2: box.right, y1: py(tick), y2: py(tick) }),
        drawn("text", { class: "tick", x: box.left - 5, y: py(tick) + 4, "text-anchor": "end" }, language.number(tick, 3)),
      );
    }
  }
  if (xLabel) svg.append(drawn("text", { class: "tick", x: (box.left + box.right) / 2, y: height - 4, "text-anchor": "middle" }, xLabel));
  if (yLabel) svg.append(drawn("text", { class: "tick", x: 2, y: 12 }, yLabel));
  return { svg, px, py, box };
}

const pathOf = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(2)} ${b.toFixed(2)}`).join("");

/** Curves: { name, k, x, y }. Steps if x are the edges of bins. */
function lineChart(curves, options) {
  const xs = curves.flatMap((one) => one.x);
  const ys = curves.flatMap((one) => one.y).filter(Number.isFinite);
  const x = options.x ?? [Math.min(...xs), Math.max(...xs)];
  const y = options.y ?? [0, Math.max(...ys, 1e-300) * 1.05];
  const { svg, px, py } = frame({ ...options, x, y });
  if (options.diagonal) svg.append(drawn("line", { class: "guide", x1: px(x[0]), y1: py(x[0]), x2: px(x[1]), y2: py(x[1]) }));
  for (const curve of curves) {
    const points = [];
    if (curve.x.length === curve.y.length + 1) {
      curve.y.forEach((v, i) => points.push([px(curve.x[i]), py(v)], [px(curve.x[i + 1]), py(v)]));
    } else curve.y.forEach((v, i) => points.push([px(curve.x[i]), py(v)]));
    const line = drawn("path", { class: `line ${colour(curve.k)}s ${dash(curve.k)}`, d: pathOf(points) });
    line.append(drawn("title", {}, String(curve.name)));
    svg.append(line);
    for (const [i, size] of (curve.sizes ?? []).entries()) {
      svg.append(drawn("circle", { class: `dot ${colour(curve.k)}`, cx: px(curve.x[i]), cy: py(curve.y[i]), r: 2 + 4 * Math.sqrt(size) }));
    }
  }
  return svg;
}

/** Groups of bars: one group for each value, one bar for each class. */
function groupedBars(values, series, { language, label, width = 420, most = null }) {
  const height = series.length > 6 ? 6 : series.length > 4 ? 9 : 13;
  const step = series.length * height + 10;
  const top = most ?? Math.max(...series.flatMap((one) => one.y), 1e-9);
  const left = width * 0.34;
  const right = width - 52;
  const svg = picture(width, values.length * step + 4, label);
  values.forEach((value, i) => {
    const y = i * step + 3;
    const name = drawn("text", { x: left - 8, y: y + (series.length * height) / 2 + 4, "text-anchor": "end" }, shortened(value, Math.floor(left / 7.2)));
    name.append(drawn("title", {}, String(value)));
    svg.append(name);
    series.forEach((one, s) => {
      const length = (one.y[i] / top) * (right - left);
      const bar = drawn("rect", { class: `bar ${colour(one.k)}`, x: left, y: y + s * height, width: Math.max(length, 0.5), height: height - 1.5 });
      bar.append(drawn("title", {}, `${one.name}: ${language.share(one.y[i])}`));
      svg.append(bar);
      if (series.length <= 4) {
        svg.append(drawn("text", { class: "tick", x: left + length + 4, y: y + s * height + height - 1 }, language.share(one.y[i])));
      }
    });
  });
  return svg;
}

/** A square table of numbers as shades: rows are true classes, columns are predictions. */
function matrixChart(matrix, names, { language, label, rowLabel, columnLabel }) {
  const C = names.length;
  const cell = C <= 4 ? 68 : C <= 6 ? 56 : C <= 12 ? 40 : 24;
  const left = 136;
  const top = C <= 6 ? 42 : 112;
  const svg = picture(Math.max(left + C * cell + (C <= 6 ? 8 : 52), 320), top + C * cell + 8, label);
  svg.append(
    drawn("text", { class: "tick", x: C <= 6 ? left : 0, y: 12 }, columnLabel),
    drawn("text", { class: "tick", x: 0, y: top - 8 }, rowLabel),
  );
  matrix.forEach((row, i) => {
    const total = row.reduce((a, b) => a + b, 0) || 1;
    const y = top + i * cell;
    const name = drawn("text", { x: left - 6, y: y + cell / 2 + 4, "text-anchor": "end" }, shortened(names[i], 15));
    name.append(drawn("title", {}, String(names[i])));
    const x = left + i * cell + cell / 2;
    const head = drawn("text", C <= 6 ? { x, y: top - 8, "text-anchor": "middle" } : { transform: `translate(${x + 4} ${top - 6}) rotate(-60)` }, shortened(names[i], C <= 4 ? 9 : C <= 6 ? 7 : 12));
    head.append(drawn("title", {}, String(names[i])));
    svg.append(name, head);
    row.forEach((count, j) => {
      const share = count / total;
      const box = drawn("rect", {
        class: i === j ? "right" : "wrong", x: left + j * cell, y, width: cell - 2, height: cell - 2, "fill-opacity": (0.04 + 0.5 * share).toFixed(3), rx: 2,
      });
      box.append(drawn("title", {}, `${names[i]} → ${names[j]}: ${language.number(count, 6)} (${language.share(share)})`));
      svg.append(box);
      if (cell >= 40) {
        const text = language.number(count, 4);
        svg.append(drawn("text", { class: "figure", x: left + j * cell + cell / 2 - 1, y: y + cell / 2 + 4, "text-anchor": "middle" }, text));
      }
    });
  });
  return svg;
}

/** Names and colours of the classes. */
function legend(names) {
  const list = made("ul", { class: "legend" });
  names.forEach((name, k) => {
    const key = drawn("svg", { viewBox: "0 0 24 10", class: "key", "aria-hidden": "true" });
    key.append(drawn("path", { class: `line ${colour(k)}s ${dash(k)}`, d: "M0 5L24 5" }));
    list.append(made("li", {}, key, made("bdi", {}, shortened(name, 30))));
  });
  return list;
}

/** The text of an SVG file: the same picture with the colours that it has on the page. */
function svgFile(svg) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size"]) {
      if (["svg", "g", "title"].includes(node.tagName)) continue;
      node.setAttribute(name, style.getPropertyValue(name));
    }
    node.removeAttribute("class");
  });
  const [, , width, height] = copy.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const paper = getComputedStyle(document.body).backgroundColor;
  copy.prepend(drawn("rect", { width: "100%", height: "100%", fill: paper }));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}
