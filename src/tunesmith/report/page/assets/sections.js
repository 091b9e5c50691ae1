// Sections that need no choices: each takes the view and returns an element, or null.

const SETS = { tune: "Tune", dev: "Dev", test: "Test" };
// What was not tuned on comes first.
const ORDER = ["test", "dev", "tune"];
const KINDS = {
  overfitting: "Overfitting", length: "Length", monsters: "Monsters", edge: "Edge of a plateau",
  metric: "Metric", overlap: "Overlapping sets", test: "Test set", certificate: "Certificate", said: "Said by the run",
};

function head(view) {
  const s = view.summary;
  const main = s.scores.filter((one) => one.metric === s.metric).sort((a, b) => ORDER.indexOf(a.which) - ORDER.indexOf(b.which));
  const others = s.scores.filter((one) => one.metric !== s.metric).sort((a, b) => ORDER.indexOf(a.which) - ORDER.indexOf(b.which));
  return el("section", { id: "head", "aria-labelledby": "head-title" },
    el("h1", { id: "head-title" }, brief(s.title)),
    s.verdict ? el("p", { id: "verdict", class: advice(view.verdict) }, worded(s.verdict)) : null,
    el("p", {}, el("span", { class: "badge", id: "state" }, s.state),
      el("span", { class: "badge" }, short(s.tuner)),
      el("span", { class: "badge" }, short(called(s)), s.higher_is_better ? ", higher is better" : ", lower is better"),
      s.date ? el("span", { class: "badge" }, el("time", { datetime: s.date }, day(s.date))) : null,
      s.version ? el("span", { class: "badge" }, `tunesmith ${short(s.version)}`) : null),
    el("div", { class: "cards" }, main.map((one) => card(one, s.higher_is_better))),
    gains(main, view.verdict, s),
    others.length ? scoreTable(others) : null,
    s.notes.map((note) => el("p", {}, said(note))));
}

// 2026-11-19T12:00:00Z as people write it.
function day(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? visible(text) : date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
}

// What each set gained over the start, on one axis; with the interval where there is one.
function gains(main, verdict, s) {
  const rows = main.filter((one) => one.before != null && one.after != null).map((one) => {
    const ranged = verdict && verdict.on === one.which && verdict.low != null;
    // Of error rates a gain is a lower score.
    const ends = ranged ? (s.higher_is_better ? [verdict.low, verdict.high] : [-verdict.high, -verdict.low]) : [null, null];
    return { ...one, gain: one.after - one.before, low: ends[0], high: ends[1] };
  });
  if (rows.length < 2) return null;
  return el("div", { id: "gains" },
    el("h2", { class: "small" }, `Change of ${short(called(s))} from the start`),
    intervalBars(rows.map((r) => ({ name: SETS[r.which], value: r.gain, shown: change(r.gain, r.after), low: r.low, high: r.high, look: r.which }))),
    rows.some((r) => r.low != null) ? el("p", { class: "quiet" }, `The line on the bar is the 95 % interval: ${rows.filter((r) => r.low != null).map((r) => `${SETS[r.which]} ${change(r.low, r.after)} to ${change(r.high, r.after)}`).join("; ")}.`) : null);
}

// How the verdict looks: for the weights, against them, or neither.
const advice = (found) => ({ use: "up", "keep-start": "down" })[found && found.recommendation] || "";

// One set: what was reached, what it was before, and what more there could be.
function card(one, higher) {
  const gain = one.before == null || one.after == null ? null : one.after - one.before;
  const better = gain == null || gain === 0 ? "" : (gain > 0) === higher ? "up" : "down";
  const words = { up: "better", down: "worse", "": "unchanged" }[better];
  const more = [];
  if (one.oracle != null) more.push(`Best that the candidates allow: ${one.oracle_exact ? "" : higher ? "at least " : "at most "}${score(one.oracle)}.`);
  if (one.length_ratio != null) more.push(`Length ${one.length_ratio.toFixed(3)} of the references.`);
  if (one.brevity_penalty != null && one.brevity_penalty < 1) more.push(`Brevity penalty ${one.brevity_penalty.toFixed(3)}.`);
  return el("div", { class: "card" },
    el("div", { class: "what" }, `${SETS[one.which] || one.which}, ${short(called(one))}`),
    el("div", { class: "number" }, score(one.after)),
    gain == null ? null : el("div", { class: `change ${better}` }, `${change(gain, one.after)} (${words}), from ${score(one.before)}`),
    el("div", { class: "more" }, more.join(" ")));
}

const scoreTable = (rows) => table("Further metrics", [
  ["set", (r) => SETS[r.which] || r.which], ["metric", (r) => brief(called(r)), false, "name"],
  ["before", (r) => score(r.before), true], ["after", (r) => score(r.after), true],
  ["change", (r) => change(r.before == null || r.after == null ? null : r.after - r.before, r.after), true],
], rows);

function cautions(view) {
  const found = view.warnings.map((one) => el("div", { class: "caution" },
    el("b", {}, KINDS[one.kind] || one.kind), el("p", {}, worded(one.text)),
    one.advice && el("p", { class: "quiet" }, worded(one.advice))));
  return section("cautions", "Cautions", found.length ? "What to look at before these numbers are trusted." : null,
    found.length ? found : el("p", {}, "Nothing was found to warn about."));
}

function rounds(view) {
  const r = view.rounds;
  if (!r || !r.names.length) return null;
  const metric = called(view.summary);
  const columns = [[r.unit, (_, k) => brief(r.names[k])]];
  for (const [name, values] of Object.entries(r.series)) columns.push([seriesName(name), (_, k) => score(values[k]), true]);
  for (const [name, values] of Object.entries(r.length_ratios)) columns.push([`length, ${seriesName(name)}`, (_, k) => even(values[k], 4), true]);
  for (const [name, values] of Object.entries(r.table)) {
    const whole = values.every((x) => typeof x !== "number" || Number.isInteger(x));
    columns.push([name, (_, k) => (whole ? number(values[k]) : even(values[k], decimals(values))), values.some((x) => typeof x === "number")]);
  }
  const told = Object.entries(r.series).map(([name, values]) => `${seriesName(name)} from ${score(values[0])} to ${score(values[values.length - 1])}`).join("; ");
  return section("rounds", `Scores by ${r.unit}`,
    [r.unit === "climb" && "A climb goes from a start of its own to where no step helps; the best one is taken.",
      r.series.dev && "If Dev gets worse while Tune gets better, the weights fit the tuning set and not the task.",
      r.series.promised && "The dashed line is what the tuner was promised by its own lists."].filter(Boolean).join(" "),
    r.names.length > 2 ? chart(`${metric} by ${r.unit}: ${told}.`, () => lines(r.names, r.series, metric, { unit: r.unit, apart: !r.is_ordered, ...chosenRow(r, "chosen") })) : null,
    el("details", { open: r.names.length <= 2 }, el("summary", {}, "All numbers"),
      table(`Scores by ${r.unit}`, columns, r.names, { short: r.names.length > 12, chosen: (_, k) => k === r.chosen })));
}

const chosenRow = (r, word) => (r.chosen == null ? {} : { rules: [upright(r.chosen, word)] });

// Independent runs, of which this is one.
function replicates(view) {
  const r = view.replicates;
  if (!r || !r.names.length) return null;
  const metric = called(view.summary);
  const spread = ([name, values]) => {
    const known = values.filter((x) => x != null);
    const mean = known.reduce((sum, x) => sum + x, 0) / known.length;
    const deviation = Math.sqrt(known.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (known.length - 1));
    return `${seriesName(name)} ${score(mean)}${known.length > 1 ? `, deviation ${number(deviation, 3)}` : ""}`;
  };
  const words = `Means over ${number(r.names.length)} runs: ${Object.entries(r.series).map(spread).join("; ")}.`;
  const columns = [[r.unit, (_, k) => brief(r.names[k])], ...Object.entries(r.series).map(([name, values]) => [seriesName(name), (_, k) => score(values[k]), true])];
  return section("replicates", "Replicates", "Runs that differ in nothing but the seed. How far they are apart is the luck of the search: a gain that is smaller may be luck too.",
    el("p", { class: "said" }, words),
    chart(`${metric} by ${r.unit}. ${words}`, () => lines(r.names, r.series, metric, { unit: r.unit, apart: true, ...chosenRow(r, "this run") })),
    el("details", {}, el("summary", {}, "All numbers"), table("Replicates", columns, r.names, { short: r.names.length > 12, chosen: (_, k) => k === r.chosen })));
}

// By row; of one row alone the head of the page says it.
function lengths(view) {
  const r = view.rounds;
  if (!r || !Object.values(r.length_ratios).some((values) => values.filter((x) => x != null).length > 1)) return null;
  return section("lengths", `Length by ${r.unit}`,
    "Words of the output for each word of the references. At 1, the dotted line, both are equally long." + (/bleu/i.test(view.summary.metric) ? " Below it BLEU has its brevity penalty." : ""),
    chart(`Length ratio by ${r.unit}.`, () => lines(r.names, r.length_ratios, "length ratio", { unit: r.unit, apart: !r.is_ordered, rules: [level(1, "var(--ink)", "dot")] })));
}

function pairs(view) {
  if (!view.pairs.length) return null;
  const names = view.pairs.map((one) => one.name);
  const of = (key) => ({ positives: view.pairs.map((p) => p.positive[key] ?? null), negatives: view.pairs.map((p) => p.negative[key] ?? null) });
  const style = (name) => ({ color: `var(--${name === "positives" ? "tune" : name === "negatives" ? "dev" : "promised"})`, dash: name === "references" ? "dot" : "solid" });
  const drawn = ["length", "score"].filter((key) => view.pairs.some((p) => p.positive[key] != null)).map((key) => {
    const series = of(key);
    if (key === "length" && view.pairs.some((p) => p.reference_length != null)) series.references = view.pairs.map((p) => p.reference_length);
    return chart(`Mean ${key} of positives and negatives by round.`, () => lines(names, series, `mean ${key}`, { unit: "round", style }));
  });
  return section("pairs", "PRO: positives and negatives",
    "The better and the worse members of the pairs that it learns from. Positives that grow shorter, or negatives that grow much longer round by round, lead to short output and monsters.",
    el("div", { class: "charts" }, drawn),
    el("details", {}, el("summary", {}, "All numbers"), table("Pairs by round", [
      ["round", (p) => brief(p.name)], ["pairs", (p) => number(p.pairs), true], ["kept", (p) => number(p.kept), true],
      ["length +", (p) => number(p.positive.length), true], [`length ${MINUS}`, (p) => number(p.negative.length), true],
      ["score +", (p) => number(p.positive.score), true], [`score ${MINUS}`, (p) => number(p.negative.score), true],
    ], view.pairs, { short: view.pairs.length > 12 })));
}

// The settings among which a held-out set chose.
function path(view) {
  if (!view.path || !view.path.length) return null;
  const plain = (value) => value === null || typeof value !== "object";
  const keys = [...new Set(view.path.flatMap((row) => Object.keys(row).filter((key) => row[key] != null && plain(row[key]))))].filter((key) => key !== "chosen");
  const columns = keys.map((key) => [key.replaceAll("_", " "), (row) => number(row[key], 6), view.path.every((row) => typeof row[key] !== "string")]);
  return section("path", "Settings tried", "One row for each setting; the one that was chosen stands out.",
    table("Settings", columns, view.path, { short: view.path.length > 14, chosen: (row) => row.chosen === true }));
}

// No weights at all can do better than the bound; or none within an angle.
function certificate(view) {
  const parts = [view.certificate && proof(view.certificate, view), view.certified && nearby(view.certified)].filter(Boolean);
  if (!parts.length) return null;
  return section("certificate", "Certificate", "What was proven about these weights.", parts);
}

function proof(c, view) {
  const most = view.summary.higher_is_better ? "more" : "less";
  const words = c.optimal
    ? `No weights do better on these candidates: ${number(c.best, 8)} is the optimum, and that is proven.`
    : `No weights reach ${most} than ${number(c.bound, 8)}; these reach ${number(c.best, 8)}; the gap is ${number(c.gap, 4)}.`;
  const rows = Object.entries(c).filter(([, value]) => value === null || typeof value !== "object");
  return [el("p", { class: "said" }, words),
    el("details", {}, el("summary", {}, "All numbers"),
      table("Certificate", [["", ([name]) => name.replaceAll("_", " ")], ["value", ([, value]) => (typeof value === "boolean" ? String(value) : number(value, 10)), true]], rows))];
}

// What `tunesmith certify` found: a bound, or one for each of several angles.
function nearby(found) {
  const c = found.certificate;
  const where = c.within ? ` within ${visible(String(c.within))}` : "";
  const words = `${visible(found.metric)}: no weights${where} do better than ${number(c.bound, 6)}; these reach ${number(c.best, 6)}; the gap is ${number(c.gap, 4)}.`;
  if (!found.curve) return el("p", { class: "said" }, words);
  const points = [{ degrees: 0, bound: c.best }, ...found.curve];
  // Between two angles the bound of the greater one holds.
  const stairs = points.flatMap((p, k) => (k ? [{ ...p, degrees: points[k - 1].degrees }, p] : [p]));
  const at = (list) => ({ x: list.map((p) => p.degrees), y: list.map((p) => p.bound), color: "var(--tune)" });
  const build = () => ({ panels: [{
    x: { title: "degrees" }, y: { title: visible(found.metric) },
    marks: [{ kind: "line", points: false, ...at(stairs) }, { kind: "points", ...at(points), words: points.map((p) => `${number(p.degrees, 4)} degrees: ${number(p.bound, 5)}`) }, level(c.best, "var(--quiet)", "dash")],
  }] });
  return [el("p", { class: "said" }, words), el("div", { class: "charts" }, chart("The bound on what weights within an angle of these reach", build)),
    table("Bounds by angle", [["degrees", (p) => number(p.degrees, 4), true], ["bound", (p) => number(p.bound, 6), true], ["gap", (p) => number(p.gap, 4), true]], found.curve)];
}

function settings(view) {
  const s = view.summary;
  return section("settings", "Settings and signature", "What you need to run the same again.",
    s.command && [el("h3", {}, "Command"), copied("command", s.command, "the command")],
    s.signature && [el("h3", {}, "Signature"), copied("signature", s.signature, "the signature")],
    s.settings.length ? table("Settings", [["setting", ([name]) => brief(name), false, "name"], ["value", ([, value]) => said(value), false, "name"]], s.settings, { short: s.settings.length > 14 }) : null,
    s.data.length ? [el("h3", {}, "Data"), table("Data", [
      ["file", (file) => said(file.path), false, "name"], ["format", (file) => said(file.format || "")],
      ["SHA-256", (file) => el("span", { class: "mono" }, file.sha256 || ""), false, "name"]], s.data)] : null);
}

// A text with a button that copies it.
function copied(id, text, what) {
  return el("p", { class: "mono" }, el("span", { id }, said(text)), " ",
    el("button", { type: "button", class: "copy", "aria-label": `Copy ${what}`, click: (event) => copyText(id, event) }, "Copy"));
}

function copyText(id, event) {
  const range = document.createRange();
  range.selectNodeContents(document.getElementById(id));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  event.target.textContent = document.execCommand("copy") ? "Copied" : "Selected";
}

function missing(view) {
  if (!view.missing.length) return null;
  return section("missing", "Not on this page", "And what would bring it here.", el("ul", {}, view.missing.map((text) => el("li", {}, said(text)))));
}
