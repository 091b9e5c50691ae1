// What charts are made of. Each kind says what numbers it has across and upwards (within a range
// across), draws itself in a frame, and says what is under the pointer: a text for each line.

const stroke = (mark, width = 2) => ({ fill: "none", stroke: mark.color, "stroke-width": mark.width || width, "stroke-dasharray": { dash: "7 5", dot: "2 4" }[mark.dash], "stroke-linejoin": "round" });
const clampTo = ([low, high], x) => Math.min(Math.max(x, low), high);
const significant = (x) => number(x, 5);
const fixed4 = (x) => (x == null ? "no number" : x.toFixed(4));

// The intervals of `ends` that a range touches: the first, and the one after the last.
function touched(ends, [low, high]) {
  const first = Math.max(0, bisect(ends, low) - 1);
  return [first, Math.max(first + 1, Math.min(ends.length - 1, bisect(ends, high)))];
}

// How many numbers of an ascending list are at most x.
function bisect(values, x) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nearest(values, x) {
  return values.reduce((best, value, k) => (value != null && (best < 0 || Math.abs(value - x) < Math.abs(values[best] - x)) ? k : best), -1);
}

const between5 = (ends, k) => `from ${number(ends[k], 8)} to ${number(ends[k + 1], 8)}`;

const SYMBOLS = {
  circle: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
  square: (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  star: (r) => `M${Array.from({ length: 10 }, (_, k) => { const [a, s] = [(k * Math.PI) / 5, k % 2 ? 0.42 * r : r]; return `${(s * Math.sin(a)).toFixed(2)} ${(-s * Math.cos(a)).toFixed(2)}`; }).join("L")}z`,
};

const symbol = (mark, x, y) => svg("path", { d: SYMBOLS[mark.symbol || "circle"](mark.size || 4), transform: `translate(${x} ${y})`, fill: mark.color, stroke: mark.outline, "stroke-width": mark.outline ? mark.outlineWidth || 1 : null });

const MARKS = {
  // Points joined by a line; where nothing is known between two of them the line goes on.
  line: {
    across: (mark) => mark.x,
    upwards: (mark) => mark.y,
    draw(mark, f) {
      const points = mark.x.map((x, k) => [x, mark.y[k]]).filter(([, y]) => y != null).map(([x, y]) => [f.x(x), f.y(y)]);
      return [points.length > 1 ? svg("path", { d: `M${points.map((p) => p.join(" ")).join("L")}`, ...stroke(mark, 2.5) }) : null,
        mark.points === false && points.length > 1 ? null : points.map(([x, y]) => symbol(mark, x, y))];
    },
    under(mark, f, x) {
      const k = nearest(mark.x, f.xOf(x));
      return mark.y[k] == null ? null : { heading: mark.words?.[k], line: `${mark.name ? `${visible(mark.name)}: ` : ""}${significant(mark.y[k])}` };
    },
  },
  points: {
    across: (mark) => mark.x,
    upwards: (mark, range) => mark.y.filter((_, k) => !range || (mark.x[k] >= range[0] && mark.x[k] <= range[1])),
    draw: (mark, f) => mark.x.map((x, k) => (mark.y[k] == null ? null : symbol(mark, f.x(x), f.y(mark.y[k])))),
    under(mark, f, x, y) {
      const k = mark.x.findIndex((one, k) => mark.y[k] != null && Math.hypot(f.x(one) - x, f.y(mark.y[k]) - y) < 12);
      return k < 0 ? null : { alone: true, line: mark.words?.[k] ?? `${mark.name ? `${visible(mark.name)}: ` : ""}${significant(mark.y[k])}` };
    },
  },
  // A value from each end to the next.
  steps: {
    across: (mark) => [mark.ends[0], mark.ends[mark.ends.length - 1]],
    upwards: (mark, range) => mark.values.slice(...touched(mark.ends, range)),
    draw(mark, f) {
      const [first, after] = touched(mark.ends, f.xRange);
      const parts = mark.values.slice(first, after).map((value, k) => `${f.y(value)}H${f.x(mark.ends[first + k + 1])}`);
      return svg("path", { d: `M${f.x(mark.ends[first])} ${parts.join("V")}`, ...stroke(mark) });
    },
    under(mark, f, x) {
      const k = clampTo([0, mark.values.length - 1], bisect(mark.ends, f.xOf(x)) - 1);
      return { heading: between5(mark.ends, k), line: `${(mark.label || mark.name) ? `${visible(mark.label || mark.name)} ` : ""}${fixed4(mark.values[k])}` };
    },
  },
  // The lowest and the highest value from each end to the next.
  band: {
    across: (mark) => [mark.ends[0], mark.ends[mark.ends.length - 1]],
    upwards(mark, range) { const part = touched(mark.ends, range); return [...mark.low.slice(...part), ...mark.high.slice(...part)]; },
    draw(mark, f) {
      const [first, after] = touched(mark.ends, f.xRange);
      const x = mark.ends.slice(first, after + 1).map(f.x);
      const side = (values) => values.slice(first, after).map(f.y);
      const [high, low] = [side(mark.high), side(mark.low)];
      const there = high.map((y, k) => `${y}H${x[k + 1]}`).join("V");
      const back = low.map((y, k) => `${y}H${x[k]}`).reverse().join("V");
      return svg("path", { d: `M${x[0]} ${there}V${back}z`, fill: mark.color, stroke: mark.color, "stroke-width": 1 });
    },
    under(mark, f, x) {
      const k = clampTo([0, mark.low.length - 1], bisect(mark.ends, f.xOf(x)) - 1);
      return { heading: between5(mark.ends, k), line: `${mark.label ? `${visible(mark.label)} ` : ""}${fixed4(mark.low[k])} to ${fixed4(mark.high[k])}` };
    },
  },
  // Horizontal bars, one per row; `place` of `of` within a row.
  bars: {
    across: (mark) => [0, ...mark.values],
    upwards: (mark) => [-0.5, mark.values.length - 0.5],
    draw(mark, f) {
      const unit = Math.abs(f.y(1) - f.y(0)), thick = (0.7 * unit) / mark.of;
      const zero = f.x(0);
      return [mark.values.map((value, k) => svg("rect", { x: Math.min(zero, f.x(value)), width: Math.max(1, Math.abs(f.x(value) - zero)), y: f.y(k) - 0.35 * unit + mark.place * thick, height: thick, fill: mark.color })),
        svg("line", { x1: zero, x2: zero, y1: f.top, y2: f.top + f.height, stroke: "var(--quiet)" })];
    },
    under(mark, f, x, y) {
      const k = clampTo([0, mark.values.length - 1], Math.round(f.yOf(y)));
      return { heading: mark.words[k], line: `${mark.name}: ${significant(mark.values[k])}` };
    },
  },
  // A grid of values as colours; `reversed` where a low value is good.
  pixels: {
    across: (mark) => mark.x,
    upwards: (mark) => mark.y,
    draw(mark, f) {
      const rows = mark.values.length, columns = mark.values[0].length;
      const canvas = el("canvas", { width: columns, height: rows });
      const paint = canvas.getContext("2d"), image = paint.createImageData(columns, rows);
      mark.values.forEach((row, r) => row.forEach((value, c) => {
        const [red, green, blue] = colourOf(mark, value);
        image.data.set([red, green, blue, 255], 4 * ((rows - 1 - r) * columns + c));
      }));
      paint.putImageData(image, 0, 0);
      const x = f.x(mark.x[0]), y = f.y(mark.y[1]);
      return svg("image", { href: canvas.toDataURL(), x, y, width: f.x(mark.x[1]) - x, height: f.y(mark.y[0]) - y, preserveAspectRatio: "none", style: "image-rendering: pixelated" });
    },
    under(mark, f, x, y) {
      const [a, b] = [f.xOf(x), f.yOf(y)];
      const cell = (ends, count, at) => clampTo([0, count - 1], Math.floor(((at - ends[0]) / (ends[1] - ends[0])) * count));
      const [r, c] = [cell(mark.y, mark.values.length, b), cell(mark.x, mark.values[0].length, a)];
      const range = mark.lowest ? ` (${mark.lowest[r][c].toFixed(4)} to ${mark.highest[r][c].toFixed(4)})` : "";
      return { heading: `(${significant(a)}, ${significant(b)})`, line: `mean ${mark.values[r][c].toFixed(4)}${range}` };
    },
  },
  // A part of the panel from one number to another across.
  area: {
    draw(mark, f) {
      const [from, to] = [mark.from, mark.to].map((x) => clampTo([f.left, f.left + f.width], f.x(x)));
      return svg("rect", { x: from, width: Math.max(0, to - from), y: f.top, height: f.height, fill: mark.color, opacity: 0.35 });
    },
  },
  // A straight line through the panel, at x upright or at y level, with a word beside it.
  rule: {
    upwards: (mark) => (mark.y == null ? [] : [mark.y]),
    draw(mark, f) {
      if (mark.y != null) return svg("line", { x1: f.left, x2: f.left + f.width, y1: f.y(mark.y), y2: f.y(mark.y), ...stroke(mark, 1.5) });
      const x = f.x(mark.x), isLate = x > f.left + 0.7 * f.width;
      return [svg("line", { x1: x, x2: x, y1: f.top, y2: f.top + f.height, ...stroke(mark, 1.5) }),
        mark.text ? text(x + (isLate ? -5 : 5), f.top + 15, mark.text, { "text-anchor": isLate ? "end" : "start", fill: "var(--quiet)", stroke: "var(--paper)", "stroke-width": 3, "paint-order": "stroke" }) : null];
    },
  },
};

// A sample of a mark for the legend.
function sampleOf(mark, x, y) {
  if (mark.kind === "points" || mark.symbol) return symbol(mark, x + 12, y);
  if (["bars", "area", "band"].includes(mark.kind)) return svg("rect", { x: x + 5, y: y - 6, width: 14, height: 12, fill: mark.color, opacity: mark.kind === "area" ? 0.5 : 1 });
  return svg("line", { x1: x, x2: x + 24, y1: y, y2: y, ...stroke(mark, 2.5) });
}

// Viridis at nine places.
const VIRIDIS = [[68, 1, 84], [72, 40, 120], [62, 73, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88], [253, 231, 37]];

function colourOf(mark, value) {
  const share = clampTo([0, 1], (value - mark.low) / (mark.high - mark.low || 1));
  const at = (mark.reversed ? 1 - share : share) * (VIRIDIS.length - 1);
  const k = Math.min(VIRIDIS.length - 2, Math.floor(at));
  return VIRIDIS[k].map((c, i) => Math.round(c + (at - k) * (VIRIDIS[k + 1][i] - c)));
}

function colourBar(mark, f) {
  const x = f.left + f.width + 14, count = 64, part = f.height / count;
  const y = (value) => f.top + f.height - ((value - mark.low) / (mark.high - mark.low || 1)) * f.height;
  const value = (k) => mark.low + ((count - 1 - k) / (count - 1)) * (mark.high - mark.low);
  return svg("g", { class: "scale" },
    Array.from({ length: count }, (_, k) => svg("rect", { x, width: 12, y: f.top + k * part, height: part + 0.5, fill: `rgb(${colourOf(mark, value(k)).join(",")})` })),
    ticksWithin([mark.low, mark.high], Math.max(2, f.height / 60)).map(([at, words]) => text(x + 16, y(at) + 4, words)));
}
