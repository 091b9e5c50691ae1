// Charts of rows: rounds, settings, runs, weights.

const SERIES = new Map([["tune", "tune"], ["dev", "dev"], ["test", "test"], ["promised", "promised"], ["best so far", "promised"], ["smoothed", "plateau"], ["bound", "quiet"]]);
const SERIES_NAMES = new Map([["tune", "Tune"], ["dev", "Dev"], ["test", "Test"], ["promised", "promised (on the tuner's lists)"]]);
const seriesName = (name) => SERIES_NAMES.get(name) || name;

// A line for each series over named rows. Rows that do not follow on each other are points, and
// where nobody looked between two rows the line between them is dotted.
function lines(names, series, title, more = {}) {
  const dash = (name, values) => (name === "promised" ? "dash" : ["tune", "dev", "test"].includes(name) && values.includes(null) ? "dot" : "solid");
  const marks = Object.entries(series).map(([name, values]) => ({
    kind: more.apart && name !== "best so far" ? "points" : "line", x: names.map((_, k) => k), y: values,
    name: (more.called || seriesName)(name), words: more.apart ? names.map((row, k) => `${visible(row)}\n${seriesName(name)}: ${significant(values[k])}`) : names,
    color: `var(--${SERIES.get(name) || "accent"})`, dash: dash(name, values), points: name !== "best so far",
    ...(more.style ? more.style(name) : {}),
  }));
  return { panels: [{
    x: { title: more.unit || "", ticks: names.map((name, k) => [k, short(name, isNarrow() ? 8 : 18)]), range: [-0.4, names.length - 0.6] },
    y: { title }, marks: [...marks, ...(more.rules || [])],
  }] };
}

// A dashed line at x, with a word beside it.
const upright = (x, words) => ({ kind: "rule", x, text: words, color: "var(--ink)", dash: "dash" });
const level = (y, color, dash) => ({ kind: "rule", y, color, dash });
