// One figure of plotly, in the colours of the page, light or dark.
const given = JSON.parse(document.getElementById("figure").textContent);
const target = document.querySelector(".figure");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// What is black in a figure is ink: lines and outlines of marks.
function inked(trace) {
  const swap = (style) => (style && style.color === given.ink ? { ...style, color: colour("ink") } : style);
  return { ...trace, ...(trace.line ? { line: swap(trace.line) } : {}), ...(trace.marker ? { marker: { ...swap(trace.marker), ...(trace.marker.line ? { line: swap(trace.marker.line) } : {}) } } : {}) };
}

const isNarrow = () => innerWidth < 700;

function drawn() {
  const layout = isNarrow() ? narrowed(given.layout) : { ...given.layout };
  for (const name of Object.keys(layout)) {
    if (!/^[xy]axis/.test(name)) continue;
    const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true, ...layout[name] };
    layout[name] = { ...axis, title: { ...axis.title, standoff: 6 } };
  }
  const shapes = (layout.shapes || []).map((shape) => (shape.line && shape.line.color === given.ink ? { ...shape, line: { ...shape.line, color: colour("ink") } } : shape));
  return {
    data: given.data.map(inked),
    layout: {
      ...layout, shapes, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("ink"), family: "system-ui, sans-serif", size: 13 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("quiet"), activecolor: colour("accent") },
      hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } },
      // A finger that moves over a chart scrolls the page; the buttons zoom.
      dragmode: isNarrow() ? false : "zoom",
    },
  };
}

// Below each other where there is no room for panels side by side.
function narrowed(layout) {
  const key = (letter, k) => `${letter}axis${k ? k + 1 : ""}`;
  const count = Object.keys(layout).filter((name) => /^xaxis/.test(name)).length;
  const result = { ...layout, margin: { ...layout.margin, l: 20, r: 8 } };
  if (count === 1) return { ...result, legend: { orientation: "h", y: -0.14, yanchor: "top", x: 0 }, height: 520 };
  const panel = 250, above = 62, below = 52;
  const inner = count * (panel + above + below);
  result.height = inner + layout.margin.t + layout.margin.b;
  result.legend = { ...layout.legend, y: -20 / inner };
  result.annotations = [...layout.annotations];
  for (let k = 0; k < count; k++) {
    const top = 1 - (k * (panel + above + below) + above) / inner;
    result[key("x", k)] = { ...layout[key("x", k)], domain: [0, 1], nticks: 5, tickangle: 0 };
    result[key("y", k)] = { ...layout[key("y", k)], domain: [top - panel / inner, top] };
    const title = layout.annotations[k];
    result.annotations[k] = { ...title, x: 0, xanchor: "left", y: top, yanchor: "bottom", align: "left", text: title.text.replace(/(, plateau|, width| \()/g, "<br>$1").replace(/<br>, /g, ",<br>") };
  }
  return result;
}

function draw() {
  const { data, layout } = drawn();
  target.style.minHeight = "";
  Plotly.react(target, data, layout, {
    displaylogo: false, responsive: true,
    modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]],
    toImageButtonOptions: { format: "svg", filename: "tunesmith" },
  });
}

unpackPlotly().then(
  () => {
    draw();
    for (const query of ["(prefers-color-scheme: dark)", "(max-width: 699px)"]) matchMedia(query).addEventListener("change", draw);
  },
  () => { target.textContent = "This browser is too old to draw the picture."; },
);
