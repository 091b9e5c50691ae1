// Elements and texts. Whatever comes from data reaches the page as text alone: no function here
// or elsewhere parses it as HTML.

// Control characters are shown as their pictures; halves of characters and the like, and what
// would turn the order of letters round, as U+FFFD.
function visible(text) {
  return String(text)
    .replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\u007f/g, "\u2421")
    .replace(/[\u2028\u2029]/g, "\u2424")
    .replace(/[\u0080-\u009f\u202d\u202e]/g, "\ufffd")
    .replace(/[\ud800-\udfff]/gu, "\ufffd");
}

// An element; attributes by name, functions as listeners, and children: elements or texts.
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child == null || child === false) continue;
    made.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
  return made;
}

// A text of the data: it has a direction of its own, which changes nothing around it.
const said = (text) => el("bdi", { dir: "auto" }, text);

// A name of the data; very long ones are cut.
const short = (text, most = 120) => { const held = [...visible(text)]; return held.length > most ? `${held.slice(0, most - 1).join("")}\u2026` : held.join(""); };
const brief = (text) => said(short(text));

// A name within a sentence: one that is written from the right stays in its place.
function within(text, most = 60) {
  const held = short(text, most);
  return /[\u0590-\u08ff\u200f\u202a-\u202c\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefe]/.test(held) ? `\u2068${held.replace(/[\u202a-\u202c\u2066-\u2069]/g, "")}\u2069` : held;
}

// The metric as a person reads it.
const called = (one) => one.called || one.metric;

// A text in which options of the command line are not broken.
const worded = (text) => el("bdi", { dir: "auto" }, text.split(/(--[a-z][a-z-]*)/).map((part, k) => (k % 2 ? el("span", { class: "option" }, part) : part)));

const MINUS = "\u2212";
const dash = (x) => (x == null ? "\u2013" : null);

// Scores: four digits after the point where they are small, otherwise two.
function score(x) {
  return dash(x) || x.toFixed(x !== 0 && Math.abs(x) < 2 ? 4 : 2).replace("-", MINUS);
}

// What was added, with its sign; as many digits as a score has that it belongs to.
function change(x, like = null) {
  if (x == null) return "\u2013";
  const size = Math.abs(x);
  const usual = like == null ? (size < 2 ? 3 : 2) : Math.abs(like) < 2 ? 4 : 2;
  const digits = size !== 0 && size < 0.5 * 10 ** -usual ? size.toPrecision(2) : size.toFixed(usual);
  return (x > 0 ? "+" : x < 0 ? MINUS : "\u00b1") + digits;
}

function number(x, digits = 4) {
  if (typeof x !== "number") return x == null ? "\u2013" : visible(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return x.toLocaleString("en").replace("-", MINUS);
  return String(Number(x.toPrecision(digits))).replace("-", MINUS);
}

// How many decimals the numbers of a column need: four digits of the largest.
function decimals(values, digits = 4) {
  const largest = Math.max(0, ...values.filter((x) => typeof x === "number").map(Math.abs));
  return largest === 0 ? 0 : Math.min(12, Math.max(0, digits - 1 - Math.floor(Math.log10(largest))));
}

// A number of a column in which all have equally many decimals; very large ones as they are.
function even(x, places) {
  if (typeof x !== "number" || Math.abs(x) >= 1e9) return number(x);
  return x.toFixed(places).replace("-", MINUS);
}

// A table; columns are [heading, function of a row, is it a number].
function table(caption, columns, rows, options = {}) {
  const head = columns.map(([name, , n]) => el("th", { scope: "col", class: n ? "n" : null }, name));
  const cell = (row, index) => columns.map(([, value, n, cls]) =>
    el("td", { class: n ? "n" : cls }, value(row, index)));
  const body = rows.map((row, index) =>
    el("tr", { class: options.chosen && options.chosen(row, index) ? "chosen" : null }, cell(row, index)));
  return el("div", { class: options.short ? "scroll short" : "scroll", tabindex: "0", role: "group", "aria-label": caption },
    el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

// A choice among names; the function is told the one that is taken.
function chooser(label, names, chosen, take, shown = (name) => name) {
  const options = names.map((name, k) => el("option", { value: String(k), selected: name === chosen }, shown(name)));
  const select = el("select", { change: (event) => take(names[Number(event.target.value)]) }, options);
  return el("label", {}, label, select);
}

// Buttons of which one is pressed.
function buttons(label, names, chosen, take) {
  const made = names.map(([value, shown]) =>
    el("button", { type: "button", "aria-pressed": String(value === chosen), click: () => take(value) }, shown));
  return el("div", { class: "together", role: "group", "aria-label": label }, made);
}

function section(id, title, lead, ...content) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title), lead && el("p", { class: "lead" }, lead), ...content);
}
