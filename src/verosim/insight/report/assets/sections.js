// The charts of the sections of a report. A folded part is drawn when it is opened.

const BOUNDARY_STEPS = 48;
const LEAST_REGION = 0.015; // share of the chart of a class with a label
const GAUSSIAN_STEPS = 121;
const DRAWN_DEVIATIONS = 3.5;

function drawSections(data, language) {
  for (const holder of document.querySelectorAll("[data-chart]")) {
    SECTION_CHARTS[holder.dataset.chart]?.(holder, data, language);
  }
}

const SECTION_CHARTS = {
  legend(holder, data) {
    holder.append(legend(data.classes));
  },

  confusion(holder, data, language) {
    holder.append(
      matrixChart(data.confusion, data.classes, {
        language, label: language.say("confusion"), rowLabel: language.say("true class"), columnLabel: language.say("predicted class"),
      }),
    );
  },

  calibration(holder, data, language) {
    const { confidence, accuracy, weight } = data.calibration;
    const curve = { name: language.say("calibration"), k: 0, x: confidence, y: accuracy, sizes: weight };
    holder.append(
      lineChart([curve], {
        language, label: language.say("calibration"), x: [Math.min(...confidence, ...accuracy, 0.5), 1], y: [Math.min(...confidence, ...accuracy, 0.5), 1],
        diagonal: true, xLabel: language.say("confidence"), yLabel: language.say("share correct"), width: chartWidth(holder),
      }),
    );
  },

  importance(holder, data, language) {
    const rows = data.importance.bars.map(([label, value]) => ({ label, value, note: language.number(value, 3) }));
    const most = Math.max(...rows.map((row) => row.value), 1e-9);
    const draw = (some, to) => to.append(barChart(some, { language, label: language.say("telling columns"), most, width: chartWidth(holder) }));
    draw(rows.slice(0, data.openCharts), holder);
    folded(holder, rows.slice(data.openCharts), language, draw);
  },

  densities(holder, data, language) {
    const draw = (some, to) => {
      const grid = made("div", { class: "charts" });
      to.append(grid);
      for (const one of some) {
        const name = one.part ? `${one.column} · ${one.part}` : one.column;
        const caption = made("figcaption", { title: name }, made("bdi", {}, shortened(name, 60)));
        if (one.source === "rows") caption.append(" ", made("span", {}, language.say("from rows")));
        if (one.left > 0) caption.append(" ", made("span", {}, language.say("values left", { count: one.left })));
        const figure = made("figure", {}, caption);
        grid.append(figure);
        figure.append(densityChart(one, data.classes, language, chartWidth(figure)));
      }
    };
    draw(data.densities.slice(0, data.openCharts), holder);
    folded(holder, data.densities.slice(data.openCharts), language, draw);
  },

  simulated(holder, data, language) {
    const names = [language.say("real rows"), language.say("simulated rows")];
    holder.append(legend(names));
    const grid = made("div", { class: "charts" });
    holder.append(grid);
    for (const one of data.simulated) {
      const figure = made("figure", {}, made("figcaption", { title: one.column }, made("bdi", {}, shortened(one.column, 60))));
      grid.append(figure);
      const series = one.y.map((y, k) => ({ name: names[k], k, x: one.edges, y }));
      const options = { language, label: one.column, width: chartWidth(figure) };
      figure.append(one.kind === "steps" ? lineChart(series, options) : groupedBars(one.values, series, options));
    }
  },

  boundary(holder, data, language) {
    holder.append(boundaryChart(data, language, chartWidth(holder)));
  },
};

/** A part that is drawn when the reader opens it. */
function folded(holder, rest, language, draw) {
  if (!rest.length) return;
  const box = made("details", {}, made("summary", {}, language.say("more columns", { count: rest.length })));
  let done = false;
  box.addEventListener("toggle", () => {
    if (box.open && !done) draw(rest, box);
    done ||= box.open;
  });
  holder.append(box);
}

function densityChart(one, classes, language, width) {
  const options = { language, label: one.column, width, yTicks: one.kind === "counts" };
  if (one.kind === "words") return wordsTable(one, classes, language);
  if (one.kind === "bars") {
    const series = one.y.map((y, k) => ({ name: classes[k], k, y }));
    return groupedBars(one.values, series, { ...options });
  }
  if (one.kind === "steps") {
    return lineChart(one.y.map((y, k) => ({ name: classes[k], k, x: one.edges, y })), options);
  }
  if (one.kind === "counts") {
    const most = Math.max(...one.rate); // the rate of a class with few rows is null
    const last = Math.ceil(most + 4 * Math.sqrt(most) + 1);
    const x = Array.from({ length: last + 1 }, (_, i) => i);
    const curves = one.rate.flatMap((rate, k) =>
      rate === null ? [] : [{ name: classes[k], k, x, y: x.map((v) => Math.exp(v * Math.log(rate) - rate - logGamma(v + 1))) }],
    );
    return lineChart(curves, options);
  }
  const known = one.mean.map((mean, k) => [mean, one.deviation[k]]).filter(([m, s]) => m !== null && s > 0);
  if (!known.length) return made("p", { class: "quiet" }, "–");
  const low = Math.min(...known.map(([m, s]) => m - DRAWN_DEVIATIONS * s));
  const high = Math.max(...known.map(([m, s]) => m + DRAWN_DEVIATIONS * s));
  const x = Array.from({ length: GAUSSIAN_STEPS }, (_, i) => low + ((high - low) * i) / (GAUSSIAN_STEPS - 1));
  const curves = [];
  one.mean.forEach((mean, k) => {
    const s = one.deviation[k];
    if (mean === null || !(s > 0)) return;
    curves.push({ name: classes[k], k, x, y: x.map((v) => Math.exp(-0.5 * ((v - mean) / s) ** 2) / (s * Math.sqrt(2 * Math.PI))) });
  });
  return lineChart(curves, options);
}

/** The words that are typical of each class. */
function wordsTable(one, classes, language) {
  const head = made("tr", {}, made("th", {}, language.say("class")), made("th", {}, language.say("typical words")));
  const rows = one.words.map((words, k) =>
    made("tr", {}, made("td", {}, made("bdi", {}, shortened(classes[k], 40))), made("td", { class: "text" }, words.map((word) => shortened(word, 40)).join(", "))),
  );
  return made("div", { class: "scroll" }, made("table", {}, made("thead", {}, head), made("tbody", {}, ...rows)));
}

/** The most probable class for two columns; all other columns are unknown, or typical. */
function boundaryChart(data, language, width) {
  const program = new Program(data.program, data.characters);
  const contributions = new Contributions(program, data.controls);
  const controls = data.boundary.map((name) => data.controls.find((one) => one.column === name));
  const [a, b] = controls;
  const start = Object.fromEntries(data.controls.map((one) => [one.column, contributions.unknown.has(one.column) ? null : one.typical]));
  const label = `${a.column} × ${b.column}`;
  const { svg, px, py } = frame({
    x: [a.low, a.high], y: [b.low, b.high], language, label, width, height: width * 0.72, xLabel: shortened(a.column, 40), yLabel: shortened(b.column, 40),
  });
  const at = (control, i) => control.low + ((control.high - control.low) * (i + 0.5)) / BOUNDARY_STEPS;
  const [w, h] = [(px(a.high) - px(a.low)) / BOUNDARY_STEPS, (py(b.low) - py(b.high)) / BOUNDARY_STEPS];
  const regions = data.classes.map(() => ({ count: 0, x: 0, y: 0 }));
  for (let j = 0; j < BOUNDARY_STEPS; j++) {
    let run = null;
    for (let i = 0; i <= BOUNDARY_STEPS; i++) {
      let next = null;
      if (i < BOUNDARY_STEPS) {
        const found = program.evaluate({ ...start, [a.column]: at(a, i), [b.column]: at(b, j) });
        const ranked = found.logPosterior ?? found.scores;
        let best = 0;
        ranked.forEach((one, k) => (best = one > ranked[best] ? k : best));
        regions[best].count += 1;
        regions[best].x += i + 0.5;
        regions[best].y += j + 0.5;
        const sure = found.logPosterior ? Math.exp(ranked[best]) : 1;
        next = { best, shade: sure > 0.9 ? 0.75 : sure > 0.7 ? 0.5 : 0.28, from: i };
      }
      if (run && (!next || next.best !== run.best || next.shade !== run.shade)) {
        const box = drawn("rect", {
          class: `cell ${colour(run.best)}`, x: (px(a.low) + run.from * w).toFixed(2), y: (py(b.low) - (j + 1) * h).toFixed(2),
          width: ((i - run.from) * w).toFixed(2), height: h.toFixed(2), "fill-opacity": run.shade,
        });
        box.append(drawn("title", {}, String(data.classes[run.best])));
        svg.append(box);
        run = next;
      }
      run ??= next;
    }
  }
  regions.forEach(({ count, x, y }, k) => {
    if (count < LEAST_REGION * BOUNDARY_STEPS ** 2) return;
    const place = { x: px(a.low) + (x / count) * w, y: py(b.low) - (y / count) * h, "text-anchor": "middle", class: "region" };
    svg.append(drawn("text", place, shortened(data.classes[k], 18)));
  });
  return svg;
}
