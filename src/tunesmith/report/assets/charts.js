// Charts as SVG: panels with axes, and marks on them (marks.js). A chart is a plain object:
//   { panels, columns, height, zoom, legend }; a panel { title, x, y, marks, link };
//   an axis { title, range, ticks }; panels with the same link are zoomed together.
// Colours are variables of the page's style, so that light and dark need no new drawing.

const SVG = "http://www.w3.org/2000/svg";
const SMALL = 12, LINE = 16;
// The narrowest range that is shown, as a share of its ends.
const CLOSEST = 1e-9;
const PAINT = new Set(["fill", "stroke", "opacity"]);
const ruler = document.createElement("canvas").getContext("2d");
let clips = 0;

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value == null) continue;
    if (PAINT.has(name)) node.style.setProperty(name, value);
    else node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) if (child != null) node.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  return node;
}

function textWidth(text, size = SMALL) {
  ruler.font = `${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

const text = (x, y, words, more) => svg("text", { x, y, "font-size": SMALL, fill: "var(--ink)", ...more }, words);

// A name on a chart; very long ones are cut.
const label = (words, most = isNarrow() ? 26 : 60) => short(words, most);
const isNarrow = () => innerWidth < 700;

// An element with a chart; build() returns the object, words say what it shows. It is drawn as
// soon as it has a width, and again when that changes.
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.clientWidth && target.clientWidth !== target.width) draw(target);
});

function chart(words, build, tall = false) {
  const made = el("div", { class: `chart${tall ? " tall" : ""}`, role: "figure", "aria-label": words });
  made.build = build;
  made.zoomed = new Map();
  widths.observe(made);
  return made;
}

function draw(target) {
  const spec = target.spec = target.build();
  const width = target.width = target.clientWidth;
  const columns = isNarrow() ? 1 : spec.columns || 1;
  const rows = Math.ceil(spec.panels.length / columns);
  const keys = legend(spec, width - (spec.zoom ? 190 : 60)); // beside the buttons
  const panelHeight = spec.height || (target.classList.contains("tall") ? (isNarrow() ? 360 : 480) : isNarrow() ? 270 : 330);
  const height = keys.height + rows * panelHeight;
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", "font-family": "system-ui, sans-serif" }, keys.nodes);
  target.frames = spec.panels.map((panel, k) => {
    const box = { left: (k % columns) * (width / columns), top: keys.height + Math.floor(k / columns) * panelHeight, width: width / columns, height: panelHeight };
    return drawPanel(picture, panel, box, target.zoomed.get(panel.link ?? k));
  });
  const pressed = [...target.querySelectorAll(".tools button")].indexOf(document.activeElement);
  target.replaceChildren(tools(target, spec), picture);
  if (pressed >= 0) target.querySelectorAll(".tools button")[pressed]?.focus({ preventScroll: true });
  pointers(target, picture, spec);
  target.drawn = true;
}

// Draw one panel within a box, and return its frame: scales between numbers and pixels.
function drawPanel(picture, panel, box, zoomed) {
  const xRange = zoomed?.x || panel.x.range || padded(extentOf(panel, "x", null));
  const yRange = zoomed?.y || panel.y.range || padded(extentOf(panel, "y", xRange));
  const titles = wrapped(panel.title || [], box.width - 75);
  const bar = panel.marks.find((mark) => mark.kind === "pixels");
  const top = box.top + titles.length * LINE + 10;
  const bottom = box.top + box.height - 46;
  const yTicks = panel.y.ticks || ticksWithin(yRange, Math.max(2, (bottom - top) / 50));
  const left = box.left + Math.max(...yTicks.map(([, words]) => textWidth(words)), 8) + (panel.y.title ? 30 : 12);
  const right = box.left + box.width - (bar ? 78 : 14);
  const frame = { panel, xRange, yRange, left, top, width: right - left, height: bottom - top };
  frame.x = (value) => left + ((value - xRange[0]) / (xRange[1] - xRange[0])) * frame.width;
  frame.y = (value) => bottom - ((value - yRange[0]) / (yRange[1] - yRange[0])) * frame.height;
  frame.xOf = (pixel) => xRange[0] + ((pixel - left) / frame.width) * (xRange[1] - xRange[0]);
  frame.yOf = (pixel) => yRange[0] + ((bottom - pixel) / frame.height) * (yRange[1] - yRange[0]);
  const clip = `clip-${++clips}`;
  const marks = svg("g", { "clip-path": `url(#${clip})` }, panel.marks.map((mark) => svg("g", { class: `mark ${mark.kind}` }, MARKS[mark.kind].draw(mark, frame))));
  picture.append(
    svg("clipPath", { id: clip }, svg("rect", { x: left, y: top, width: frame.width, height: frame.height })),
    svg("g", { class: "title" }, titles.map((words, k) => text(left, box.top + LINE * (k + 1) - 4, words, k ? { fill: "var(--quiet)" } : { "font-weight": 600 }))),
    axes(panel, frame, yTicks, box), marks, bar ? colourBar(bar, frame) : svg("g"),
    svg("rect", { class: "frame", x: left, y: top, width: frame.width, height: frame.height, fill: "none", stroke: "var(--line)" }));
  return frame;
}

function axes(panel, frame, yTicks, box) {
  const bottom = frame.top + frame.height, right = frame.left + frame.width;
  const inside = ([value]) => value >= Math.min(...frame.xRange) && value <= Math.max(...frame.xRange);
  const across = fitting((panel.x.ticks || []).filter(inside), frame) || roomy(frame);
  const grid = { stroke: "var(--line)", "stroke-width": 1 };
  const middle = frame.left + frame.width / 2;
  return svg("g", { class: "axes" },
    panel.y.ticks ? null : yTicks.map(([value]) => svg("line", { x1: frame.left, x2: right, y1: frame.y(value), y2: frame.y(value), ...grid })),
    across.map(([value]) => svg("line", { x1: frame.x(value), x2: frame.x(value), y1: frame.top, y2: bottom, ...grid })),
    yTicks.map(([value, words]) => text(frame.left - 6, frame.y(value) + 4, words, { "text-anchor": "end" })),
    across.map(([value, words]) => text(frame.x(value), bottom + LINE, words, { "text-anchor": "middle" })),
    panel.x.title ? text(middle, bottom + 36, cut(panel.x.title, frame.width), { "text-anchor": "middle", class: "x-title" }) : null,
    panel.y.title ? svg("g", { transform: `translate(${box.left + 12} ${frame.top + frame.height / 2}) rotate(-90)` }, text(0, 0, cut(panel.y.title, frame.height), { "text-anchor": "middle" })) : null);
}

function cut(words, room) {
  let shown = visible(words);
  while (shown.length > 4 && textWidth(shown) > room) shown = `${shown.slice(0, -2)}\u2026`;
  return shown;
}

// Break lines where they would leave the panel.
function wrapped(lines, room) {
  return lines.flatMap((line) => line.split(" ").reduce((rows, word) => {
    const longer = rows.length ? `${rows[rows.length - 1]} ${word}` : word;
    if (rows.length && textWidth(longer) > room) return [...rows, cut(word, room)];
    return [...rows.slice(0, -1), rows.length ? longer : cut(longer, room)];
  }, []));
}

// Whether two numbers differ by more than a share of their size.
const isWide = ([low, high], share) => high - low > share * Math.max(Math.abs(low), Math.abs(high));

// At most this many round numbers within a range, with enough decimals to tell them apart.
function ticksWithin([low, high], most) {
  if (!isWide([low, high], 1e-12)) return [];
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((k) => k * power >= 0.999 * rough);
  const places = Math.min(14, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push([k * step, even(k * step, places)]);
  return ticks;
}

// As many ticks across as have room beside each other.
function roomy(frame) {
  for (let most = 8; most > 1; most--) {
    const ticks = ticksWithin(frame.xRange, most);
    if (ticks.reduce((sum, [, words]) => sum + textWidth(words) + 18, 0) <= frame.width) return ticks;
  }
  return ticksWithin(frame.xRange, 1);
}

// The given ticks, or every second, third ... of them.
function fitting(ticks, frame) {
  if (!ticks.length) return null;
  const widest = Math.max(...ticks.map(([, words]) => textWidth(words))) + 12;
  const step = Math.max(1, Math.ceil((widest * ticks.length) / frame.width));
  return ticks.filter((_, k) => k % step === 0);
}

function extentOf(panel, axis, xRange) {
  const values = panel.marks.flatMap((mark) => MARKS[mark.kind][axis === "x" ? "across" : "upwards"]?.(mark, xRange) || []).filter((x) => x != null);
  const low = values.reduce((a, b) => Math.min(a, b), Infinity), high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!(low <= high)) return [0, 1];
  return isWide([low, high], 1e-9) ? [low, high] : [low - (Math.abs(low) || 1) * 0.05, high + (Math.abs(high) || 1) * 0.05];
}

const padded = ([low, high]) => [low - 0.07 * (high - low), high + 0.07 * (high - low)];

// Names of marks with a sample of each, in rows that fit.
function legend(spec, width) {
  const seen = new Set();
  const entries = (spec.legend || spec.panels.flatMap((panel) => panel.marks)).filter((mark) => mark.name && !seen.has(mark.name) && seen.add(mark.name));
  if (entries.length < 2 && !spec.legend) return { nodes: [], height: 28 };
  let x = 8, y = 18;
  const nodes = entries.map((mark) => {
    const words = label(mark.name), size = textWidth(words) + 46;
    if (x > 8 && x + size > width) [x, y] = [8, y + 20];
    const node = svg("g", { class: "key" }, sampleOf(mark, x, y - 4), text(x + 28, y, words));
    x += size;
    return node;
  });
  return { nodes, height: y + 14 };
}

// Buttons above the chart.
function tools(target, spec) {
  const button = (words, shown, press) => el("button", { type: "button", "aria-label": words, title: words, click: press }, shown);
  const zoom = spec.zoom ? [button("Zoom in", "+", () => zoomBy(target, 0.5)), button("Zoom out", MINUS, () => zoomBy(target, 2)), button("Reset the zoom", "Reset", () => zoomTo(target, null))] : [];
  return el("div", { class: "tools" }, zoom, button("Save as SVG", "SVG", () => save(target)));
}

// Show a range on all panels, or on those with one link; null shows everything.
function zoomTo(target, range, link = null, upwards = null) {
  target.spec.panels.forEach((panel, k) => {
    const key = panel.link ?? k;
    if (link != null && key !== link) return;
    if (range && !isWide(range, CLOSEST)) return;
    if (range) target.zoomed.set(key, { x: [...range], y: upwards });
    else target.zoomed.delete(key);
  });
  draw(target);
}

function zoomBy(target, factor) {
  const around = ([low, high]) => [0.5 * (low + high) - 0.5 * factor * (high - low), 0.5 * (low + high) + 0.5 * factor * (high - low)];
  const seen = new Set();
  target.frames.forEach(({ panel, xRange, yRange }, k) => {
    const key = panel.link ?? k;
    if (seen.has(key)) return;
    seen.add(key);
    if (!isWide(around(xRange), CLOSEST)) return;
    target.zoomed.set(key, { x: around(xRange), y: panel.marks.some((mark) => mark.kind === "pixels") ? around(yRange) : null });
  });
  draw(target);
}

function save(target) {
  const style = getComputedStyle(document.documentElement);
  const copy = target.querySelector("svg").cloneNode(true);
  copy.style.background = "var(--paper)";
  copy.removeAttribute("aria-hidden");
  copy.prepend(svg("title", null, target.getAttribute("aria-label")));
  const text = new XMLSerializer().serializeToString(copy).replace(/var\((--[a-z-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })), download: "tunesmith.svg" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
