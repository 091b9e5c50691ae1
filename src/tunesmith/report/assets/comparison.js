// The page of a comparison of systems.

const view = JSON.parse(document.getElementById("view").textContent);

function head() {
  return el("section", { id: "head", "aria-labelledby": "head-title" },
    el("h1", { id: "head-title" }, "Comparison of ", brief(view.title)),
    view.verdicts.map(({ text, look }) => el("p", { class: `verdict ${look}` }, said(text))),
    el("p", {}, Object.entries(view.sampling).map(([name, value]) => el("span", { class: "badge" }, name === "seed" ? `seed ${value}` : `${number(value)} ${name}`))),
    view.notes.length ? view.notes.map((note) => el("div", { class: "caution" }, el("p", {}, said(note)))) : null);
}

// One metric: differences with their intervals, what each system scores, and the tests.
function metricSection(m, k) {
  const points = (x) => (x == null ? dash(null) : x.toFixed(m.digits).replace("-", MINUS));
  const signed = (x) => (x > 0 ? "+" : "") + points(x);
  const range = ([low, high], shown) => `${shown(low)} to ${shown(high)}`;
  const several = m.tests.length > 1;
  const bars = m.tests.map((t) => ({ name: `${visible(t.b)} ${MINUS} ${visible(t.a)}`, value: t.difference, shown: signed(t.difference), low: t.interval[0], high: t.interval[1], look: "tune" }));
  const p = (name, key) => [name, (t) => t[key].toFixed(4), true];
  return section(`metric-${k}`, m.called, m.higher_is_better ? "Higher is better." : "Lower is better.",
    intervalBars(bars),
    el("p", { class: "quiet" }, "Each bar is the difference from the baseline, the line on it the 95 % interval over resampled test sets. Where the line crosses 0, the difference may be chance."),
    el("h3", {}, "Systems"),
    table(`${m.called} of each system`, [
      ["system", (s) => brief(s.name), false, "name"], ["runs", (s) => number(s.runs.length), true], ["mean", (s) => points(s.mean), true],
      ["95 % interval", (s) => range(s.interval, points), true], ["deviation by seed", (s) => points(s.deviation), true], ["by test set", (s) => points(s.selection_deviation), true],
      ["lowest run", (s) => points(s.minimum), true], ["highest", (s) => points(s.maximum), true],
    ], m.systems),
    el("h3", {}, "Tests"),
    table(`Tests by ${m.called}`, [
      ["systems", (t) => brief(`${t.b} ${MINUS} ${t.a}`), false, "name"], ["difference", (t) => signed(t.difference), true], ["95 % interval", (t) => range(t.interval, signed), true],
      p("p, bootstrap", "p_bootstrap"), ...(several ? [p("Holm", "p_bootstrap_holm")] : []),
      p("p, randomisation", "p_randomization"), ...(several ? [p("Holm", "p_randomization_holm")] : []),
    ], m.tests),
    el("h3", {}, "Signature"), el("p", { class: "mono" }, said(m.signature)));
}

function rankingSection(r, k) {
  const marked = (pieces) => (pieces.length ? el("bdi", { dir: "auto" }, pieces.flatMap(([words, mark], i) => [i ? " " : null, el({ same: "span", out: "del", in: "ins" }[mark], {}, words)])) : "(empty)");
  const row = (name, content) => [el("dt", {}, name), el("dd", {}, content)];
  return section(`sentences-${k}`, `Sentences by ${short(r.metric, 40)}: ${short(r.b, 40)} ${MINUS} ${short(r.a, 40)}`,
    "Those whose own scores differ most. Words that only one of the outputs has are marked.",
    r.sentences.map((one) => el("div", { class: "pair" },
      el("h3", {}, `Sentence ${number(one.sentence)}: `, el("span", {}, change(one.difference, one.score_b))),
      el("dl", { class: "texts" },
        one.references.map((words, i) => row(one.references.length > 1 ? `Reference ${i + 1}` : "Reference", said(words))),
        row([brief(r.a), `, ${score(one.score_a)}`], marked(one.text_a)), row([brief(r.b), `, ${score(one.score_b)}`], marked(one.text_b))))));
}

const parts = [head(), ...view.metrics.map(metricSection), ...view.rankings.filter((r) => r.sentences.length).map(rankingSection)];
document.getElementById("page").replaceChildren(...parts);
contents([["head", "Overview"], ...view.metrics.map((m, k) => [`metric-${k}`, short(m.called, 30)]), ...(parts.length > 1 + view.metrics.length ? [["sentences-0", "Sentences"]] : [])]);
foot(view.version);
