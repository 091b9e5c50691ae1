// Weights, the error surface along each of them, and the map of two.

const MOST_BARS = 24, MOST_LINES = 10;
const WHEEL = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c8c00", "#999999", "#6a51a3", "#a65628"];

function weights(view) {
  const w = view.weights;
  if (!w.rows.length) return null;
  const spreads = w.rows.some((row) => row.spread != null);
  const scaled = spreads && choices.bars !== "weight";
  const rows = w.rows.slice(0, MOST_BARS);
  const value = (row, which) => row[which] * (scaled ? row.spread ?? 0 : 1);
  const bar = (which, place, color) => ({ kind: "bars", name: which, place, of: 2, color, values: rows.map((row) => value(row, which)), words: rows.map((row) => row.feature) });
  const bars = () => ({ height: 70 + 26 * Math.max(4, rows.length), panels: [{
    x: { title: scaled ? "weight × spread" : "weight" },
    y: { range: [rows.length - 0.5, -0.5], ticks: rows.map((row, k) => [k, short(row.feature, isNarrow() ? 20 : 26)]) },
    marks: [bar("start", 0, "var(--promised)"), bar("tuned", 1, "var(--tune)")],
  }] });
  const drawn = chart(`Weights before and after: ${rows.slice(0, 5).map((row) => `${within(row.feature)} from ${number(row.start)} to ${number(row.tuned)}`).join("; ")}.`, bars);
  return section("weights", "Weights",
    spreads ? "A weight counts as much as its feature varies among the candidates of a sentence: weight times spread is how much it says." : "The weights before and after.",
    spreads && el("div", { class: "controls" }, buttons("Bars show", [["spread", "weight × spread"], ["weight", "weight"]], scaled ? "spread" : "weight", (v) => choose({ bars: v }, "weights"))),
    drawn,
    w.rounds.length > 1 ? [el("h3", {}, `By ${w.unit || "round"}`), weightLines(w)] : null,
    weightTable(w, spreads));
}

function weightLines(w) {
  const rows = w.rows.slice(0, isNarrow() ? 6 : MOST_LINES).filter((row) => row.by_round.length);
  const series = Object.fromEntries(rows.map((row) => [row.feature, row.by_round]));
  const unit = w.unit || "round";
  return chart(`The first ${rows.length} weights by ${unit}, scaled alike.`, () => lines(w.rounds, series, "weight", {
    unit, apart: unit === "run", called: (name) => name,
    style: (name) => { const k = rows.findIndex((row) => row.feature === name); return { color: WHEEL[k % WHEEL.length] }; },
  }), true);
}

function weightTable(w, spreads) {
  const worth = (r) => (r.spread == null ? null : r.tuned * r.spread);
  const column = (name, value, places = decimals(w.rows.map(value))) => [name, (r) => even(value(r), places), true];
  const both = decimals(w.rows.flatMap((r) => [r.start, r.tuned]));
  const columns = [["feature", (r) => brief(r.feature), false, "name"], column("start", (r) => r.start, both), column("tuned", (r) => r.tuned, both)];
  if (spreads) columns.push(column("spread", (r) => r.spread), column("tuned × spread", worth));
  return el("details", {}, el("summary", {}, `All numbers${w.left_out ? ` (${number(w.left_out)} further features are left out)` : ""}`),
    table("Weights", columns, w.rows, { short: w.rows.length > 12 }));
}

function surface(view) {
  const s = view.surfaces;
  if (!s || !s.curves.length) return null;
  const curve = s.curves.find((one) => one.feature === choices.feature) || s.curves[0];
  const places = decimals(s.curves.map((one) => one.weight));
  const narrow = [...s.curves].sort((a, b) => (a.width ?? Infinity) - (b.width ?? Infinity));
  const take = (feature) => choose({ feature }, "surface");
  const drawn = chart(`${called(view.summary)} along the weight of ${within(curve.feature)}. ${plateauWords(curve, called(view.summary))}`, () => surfacePlot(curve, view.summary), true);
  drawn.id = "surface-plot";
  return section("surface", "Error surface",
    `The exact ${called(view.summary)} on ${SETS[s.which] || s.which} if one weight alone changes. The wider the plateau around a weight, the less it matters that it is a little off. Drag to zoom, double-click to go back.`,
    s.note && el("p", { class: "quiet" }, said(s.note)),
    el("div", { class: "controls" }, chooser("Feature", s.curves.map((one) => one.feature), curve.feature, take, (name) => short(name, 60)),
      el("div", { class: "together" }, el("button", { type: "button", click: () => zoomTo(drawn, null) }, "Whole line"),
        el("button", { type: "button", click: () => zoomTo(drawn, curve.close) }, "Around the weight"))),
    el("p", { class: "said", id: "plateau-words" }, plateauWords(curve, called(view.summary))), drawn,
    el("h3", {}, "How fragile is each weight?"),
    table("Widths of plateaus, the narrowest first", [
      ["feature", (c) => el("button", { type: "button", click: () => take(c.feature) }, brief(c.feature)), false, "name"],
      ["weight", (c) => even(c.weight, places), true], ["plateau", (c) => between(c.plateau, places + 2), true],
      ["width", (c) => share(c.width), true], ["nearer end", (c) => share(c.edge), true], ["steady", (c) => (c.steady ? between(c.steady, places + 1) : dash(null)), true], ["best along it", (c) => score(c.best_score), true],
    ], narrow, { short: narrow.length > 10, chosen: (c) => c === curve }),
    el("p", { class: "quiet" }, `Width and nearer end are relative to the weight, or to the largest one if it is 0. Steady is where ${called(view.summary)} is nowhere worse by more than ${number(curve.drop || 0, 2)}.`,
      s.left_out ? ` ${number(s.left_out)} further features are left out.` : null));
}

const between = ([low, high], places) => `${low == null ? `${MINUS}\u221e` : even(low, places)} to ${high == null ? "\u221e" : even(high, places)}`;
// Of a table: as many decimals everywhere.
const share = (x) => (x == null ? "\u221e" : `${even(100 * x, 3)} %`);

const end = (x, sign) => (x == null ? (sign < 0 ? `${MINUS}\u221e` : "\u221e") : number(x, 5));
const percent = (x) => (x == null ? "\u221e" : `${number(100 * x, 3)} %`);

function plateauWords(c, metric) {
  const [low, high] = c.plateau;
  if (low == null && high == null) return `The weight of ${within(c.feature)} is ${number(c.weight)}; whatever it is, ${metric} stays the same.`;
  const size = Math.abs(c.weight);
  const by = (distance) => (size ? percent(distance / size) : number(distance, 3));
  const falls = low == null ? "fall without end" : `fall by ${by(c.weight - low)}`;
  const rises = high == null ? "rise without end" : `rise by ${by(high - c.weight)}`;
  const best = c.best_score === c.score ? "Nothing along this line is better." : `The best along this line is ${score(c.best_score)}, from ${end(c.best[0], -1)} to ${end(c.best[1], 1)}; it is now ${score(c.score)}.`;
  return `The weight of ${within(c.feature)} is ${number(c.weight)}. It may ${falls} or ${rises} before ${metric} changes. ${best}`;
}

function surfacePlot(c, summary) {
  const name = called(summary), color = "var(--tune)";
  const inside = (x, instead) => Math.min(Math.max(x ?? instead, c.window[0]), c.window[1]);
  const best = (inside(c.best[0], -Infinity) + inside(c.best[1], Infinity)) / 2;
  const all = { kind: "steps", name, color, ends: [c.window[0], ...c.edges, c.window[1]], values: c.scores };
  const close = { kind: "steps", name, color, ends: [c.close[0], ...c.close_edges, c.close[1]], values: c.close_scores };
  const shown = c.band ? [{ kind: "band", name: "lowest to highest", color: "var(--band)", ...c.band }, ...(c.close_scores.length ? [close] : [])] : [all];
  return { zoom: true, panels: [{
    x: { title: `weight of ${visible(c.feature)}`, range: c.window },
    y: { title: `${name} (${summary.higher_is_better ? "higher" : "lower"} is better)` },
    marks: [{ kind: "area", name: "plateau", from: inside(c.plateau[0], -Infinity), to: inside(c.plateau[1], Infinity), color: "var(--plateau)" },
      ...shown, upright(c.weight, "tuned weight"),
      { kind: "points", name: "best", symbol: "star", size: 9, x: [best], y: [c.best_score], color: "var(--best)", outline: "var(--ink)", words: [`best: ${c.best_score.toFixed(4)}`] }],
  }] };
}

function map(view) {
  const m = view.maps;
  if (!m || !m.maps.length) return null;
  const features = [...new Set(m.maps.flatMap((one) => [one.x, one.y]))];
  const beside = (x) => features.filter((y) => y !== x && findMap(m, x, y));
  const x = features.includes(choices.mapX) ? choices.mapX : m.maps[0].x;
  const y = beside(x).includes(choices.mapY) ? choices.mapY : beside(x).includes(m.maps[0].y) ? m.maps[0].y : beside(x)[0];
  const found = findMap(m, x, y);
  const name = called(view.summary);
  const words = `At the tuned weights ${name} is ${score(found.current[2])}; the best pixel has a mean of ${score(found.best[2])}.`;
  const drawn = chart(`${name} over the weights of ${within(x)} and ${within(y)}. ${words}`, () => mapPlot(found, view.summary), true);
  drawn.id = "map-plot";
  return section("map", "Map of two weights",
    `What ${name} is if two weights change and all others stay. Each row of pixels is an exact line; a pixel has the mean along its part of it.`,
    el("div", { class: "controls" },
      chooser("Across", features, x, (v) => choose({ mapX: v }, "map"), (v) => short(v, 60)),
      chooser("Upwards", beside(x), y, (v) => choose({ mapX: x, mapY: v }, "map"), (v) => short(v, 60))),
    el("p", { class: "said" }, words), drawn,
    m.left_out ? el("p", { class: "quiet" }, `${number(m.left_out)} further pairs of features have no map here; `, el("code", { class: "option" }, "tunesmith report --map A,B"), " makes one of the features A and B.") : null);
}

// The map of two features; one that is stored the other way round is turned.
function findMap(m, x, y) {
  const same = m.maps.find((one) => one.x === x && one.y === y);
  if (same) return { ...same, pixelsOf: () => pixels(same) };
  const other = m.maps.find((one) => one.x === y && one.y === x);
  if (!other) return null;
  const turn = ([a, b, value]) => [b, a, value];
  return { ...other, x, y, x_range: other.y_range, y_range: other.x_range, columns: other.rows, rows: other.columns,
    current: turn(other.current), best: turn(other.best),
    pixelsOf: () => { const held = pixels(other); return held[0].map((_, c) => held.map((row) => row[c])); } };
}

// Scores of all pixels, the lowest row first.
function pixels(one) {
  const bytes = Uint8Array.from(atob(one.pixels), (c) => c.charCodeAt(0));
  const read = new DataView(bytes.buffer);
  const value = (k) => one.low + ((one.high - one.low) * read.getUint16(2 * k, true)) / 65535;
  return Array.from({ length: one.rows }, (_, r) => Array.from({ length: one.columns }, (_, c) => value(r * one.columns + c)));
}

function mapPlot(found, summary) {
  const mark = (name, [x, y, value], style) => ({ kind: "points", name, x: [x], y: [y], words: [`${name}: ${score(value)}\n(${significant(x)}, ${significant(y)})`], ...style });
  return { zoom: true, panels: [{
    x: { title: `weight of ${visible(found.x)}`, range: found.x_range },
    y: { title: `weight of ${visible(found.y)}`, range: found.y_range },
    marks: [
      { kind: "pixels", x: found.x_range, y: found.y_range, values: found.pixelsOf(), low: found.low, high: found.high, reversed: !summary.higher_is_better },
      mark("best pixel", found.best, { symbol: "star", size: 11, color: "#d55e00", outline: "#ffffff", outlineWidth: 1.5 }),
      mark("tuned weights", found.current, { size: 6, color: "#ffffff", outline: "#000000", outlineWidth: 2.5 }),
    ],
  }] };
}
