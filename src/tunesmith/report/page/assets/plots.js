// Charts. They are drawn when they come into view, and again when colours or data change.

const charts = new Set();
const shownCharts = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
}, { rootMargin: "300px" });

// plotly takes some HTML for mark-up, and %{...} for a value: here all is text.
function label(text, most = isNarrow() ? 26 : 60) {
  const shown = visible(text);
  const cut = shown.length > most ? `${shown.slice(0, most - 1)}\u2026` : shown;
  return cut.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/%\{/g, "%\u200b{");
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// An element with a chart; build() returns traces and layout, words say what it shows.
function chart(words, build, tall = false) {
  const made = el("div", { class: `chart waiting${tall ? " tall" : ""}`, role: "figure", "aria-label": words });
  made.build = build;
  charts.add(made);
  shownCharts.observe(made);
  return made;
}

function draw(target) {
  if (typeof Plotly === "undefined" || !target.isConnected) return;
  const { data, layout } = target.build();
  target.classList.remove("waiting");
  Plotly.react(target, data, dressed(layout), {
    displaylogo: false, responsive: true, scrollZoom: false, doubleClickDelay: 500,
    modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]],
    toImageButtonOptions: { format: "svg", filename: "tunesmith" },
  });
  target.drawn = true;
}

// Draw again whatever has been drawn: colours or widths have changed.
function redraw() {
  for (const one of charts) if (one.drawn && one.isConnected) draw(one);
}

// Forget what is no longer on the page.
function tidy() {
  for (const one of charts) if (!one.isConnected) forget(one);
}

function forget(one) {
  charts.delete(one);
  shownCharts.unobserve(one);
  if (one.drawn) Plotly.purge(one);
}

const isNarrow = () => innerWidth < 600;

// Below the chart where the buttons need all the room above it.
function legend() {
  return isNarrow() ? { orientation: "h", y: -0.28, yanchor: "top", x: 0 } : { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 };
}

function dressed(layout) {
  const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true, fixedrange: false };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("ink"), family: "system-ui, sans-serif", size: 13 },
    margin: { t: 20, r: 16, b: 48, l: 56 }, hovermode: "closest",
    // A finger that moves over a chart scrolls the page; the buttons zoom.
    dragmode: isNarrow() ? false : "zoom",
    legend: legend(),
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("quiet"), activecolor: colour("accent") },
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") }, align: "left" },
    ...layout,
    xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
  };
}

const SERIES = new Map([["tune", "tune"], ["dev", "dev"], ["test", "test"], ["promised", "promised"], ["best so far", "promised"], ["smoothed", "plateau"], ["bound", "quiet"]]);
const SERIES_NAMES = new Map([["tune", "Tune"], ["dev", "Dev"], ["test", "Test"], ["promised", "promised (on the tuner's lists)"]]);
const seriesName = (name) => SERIES_NAMES.get(name) || name;

// A line for each series over named rows. Rows that do not follow on each other are points, and
// where nobody looked between two rows the line between them is dotted.
function lines(names, series, title, more = {}) {
  const dash = (name, values) => (name === "promised" ? "dash" : ["tune", "dev", "test"].includes(name) && values.includes(null) ? "dot" : "solid");
  const data = Object.entries(series).map(([name, values]) => {
    const shown = label((more.called || seriesName)(name), more.called ? 22 : undefined);
    return {
      type: "scatter", mode: name === "best so far" ? "lines" : more.apart ? "markers" : "lines+markers", name: shown, x: names.map((_, k) => k), y: values,
      text: names.map((one) => label(one)), connectgaps: true,
      line: { color: colour(SERIES.get(name) || "accent"), width: 2.5, dash: dash(name, values) },
      marker: { size: 7 }, hovertemplate: `%{text}: %{y:.5~g}<extra>${shown}</extra>`,
      ...(more.style ? more.style(name) : {}),
    };
  });
  return { data, layout: { xaxis: named(names, more.unit), yaxis: { title: { text: label(title) } }, shapes: more.shapes || [], annotations: more.annotations || [] } };
}

// An axis of rows: a tick for each, or for some of many.
function named(names, unit) {
  const step = Math.max(1, Math.ceil(names.length / (isNarrow() ? 6 : 16)));
  const places = names.map((_, k) => k).filter((k) => k % step === 0);
  return { title: { text: label(unit || "") }, tickvals: places, ticktext: places.map((k) => label(names[k], isNarrow() ? 6 : 18)), tickangle: 0, range: [-0.4, names.length - 0.6], zeroline: false };
}

function upright(x, text, style = {}) {
  const line = { type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line: { color: colour("ink"), width: 1.5, dash: "dash", ...style } };
  const annotation = { x, y: 1, yref: "paper", yanchor: "top", xanchor: "left", showarrow: false, text: label(text), font: { size: 12, color: colour("quiet") }, bgcolor: colour("paper"), opacity: 0.85 };
  return { line, annotation };
}
