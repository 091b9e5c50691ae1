// Which sentences changed: a list to choose from, and the one that is chosen.

function sentences(view) {
  if (!view.sentences.length) return null;
  const set = view.sentences.find((one) => one.which === choices.which) || view.sentences[0];
  const metric = called(view.summary);
  const neither = set.changed - set.better - set.worse;
  const lead = `${number(set.changed)} of ${number(set.sentences)} outputs changed: ${number(set.better)} for the better, ${number(set.worse)} for the worse` +
    (neither > 0 ? `, ${number(neither)} without any effect on ${metric}.` : ".") +
    (set.shown.length && set.shown.length < set.changed ? ` Here are ${number(set.shown.length)}: of those for the better and of those for the worse the ones that changed it most.` : "");
  if (view.sentences.every((one) => !one.shown.length)) return section("sentences", "Sentences", lead);
  const detail = el("div", { id: "sentence", "aria-live": "polite" });
  const list = el("ol", { "aria-label": "Sentences" });
  const count = el("p", { class: "quiet" });
  const again = () => fillList(view, set, list, detail, count);
  const search = el("input", { type: "search", value: choices.search, placeholder: "a word", input: (event) => { Object.assign(choices, { search: event.target.value, candidate: null }); again(); } });
  const made = section("sentences", "Sentences", lead,
    el("div", { class: "controls" },
      view.sentences.length > 1 ? chooser("Set", view.sentences.map((one) => one.which), set.which, (which) => choose({ which, sentence: null, candidate: null }, "sentences"), (w) => SETS[w] || w) : null,
      buttons("Show", [["all", "All"], ["better", "Better"], ["worse", "Worse"]], choices.filter, (filter) => choose({ filter, candidate: null }, "sentences")),
      chooser("Order", ["size", "better", "worse", "id"], choices.order, (order) => choose({ order, candidate: null }, "sentences"), (o) => ({ size: "largest change first", better: "best first", worse: "worst first", id: "as in the data" })[o]),
      el("label", {}, "Search", search)),
    count, el("div", { class: "browser" }, list, detail));
  again();
  return made;
}

const textOf = (pieces) => pieces.map(([text]) => text).join(" ");

// Those that the choices leave, in their order.
function wanted(set) {
  const search = choices.search.toLowerCase();
  const holds = (one) => [one.id, one.source, ...one.references, textOf(one.before), textOf(one.after)].some((text) => text.toLowerCase().includes(search));
  const kept = set.shown.filter((one) =>
    (choices.filter === "all" || (choices.filter === "better" ? one.influence > 0 : one.influence < 0)) && (!search || holds(one)));
  const byId = (a, b) => a.id.localeCompare(b.id, "en", { numeric: true });
  const orders = { size: () => 0, better: (a, b) => b.influence - a.influence, worse: (a, b) => a.influence - b.influence, id: byId };
  return kept.sort(orders[choices.order]);
}

function fillList(view, set, list, detail, count) {
  const kept = wanted(set);
  const chosen = kept.find((one) => one.id === choices.sentence) || kept[0];
  count.textContent = `${number(kept.length)} shown`;
  const take = (id) => {
    Object.assign(choices, { sentence: id, candidate: null });
    for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.sentence === id));
    show(kept.find((one) => one.id === id));
  };
  const show = (one) => detail.replaceChildren(...(one ? sentenceDetail(view, set, one, () => show(one)) : [el("p", { class: "quiet" }, "No sentence is like that.")]));
  list.replaceChildren(...kept.map((one) => {
    const button = el("button", { type: "button", "aria-pressed": String(one === chosen), click: () => take(one.id) },
      el("span", { class: "top" }, brief(one.id), influence(one.influence)), el("span", { class: "text" }, said(short(textOf(one.after), 160) || "(empty)")));
    button.sentence = one.id;
    return el("li", {}, button);
  }));
  show(chosen);
}

const influence = (x) => el("span", { class: x > 0 ? "up" : x < 0 ? "down" : "" }, change(x));

function sentenceDetail(view, set, one, again) {
  const marked = (pieces) => el("bdi", { dir: "auto" }, pieces.flatMap(([text, mark], k) =>
    [k ? " " : null, el({ same: "span", out: "del", in: "ins" }[mark], {}, text)]));
  const row = (name, content) => [el("dt", {}, name), el("dd", {}, content)];
  const alone = (x) => (x == null ? "" : `, ${set.score_name} ${score(x)}`);
  const worth = one.influence === 0 ? `the change leaves ${called(view.summary)} as it is` : `the change alone ${one.influence > 0 ? "improves" : "worsens"} ${called(view.summary)} of the whole set by ${change(Math.abs(one.influence)).slice(1)}`;
  return [
    el("p", {}, el("strong", {}, "Sentence ", brief(one.id)), `: ${worth}.`),
    el("dl", { class: "texts" },
      one.source ? row("Source", said(one.source)) : null,
      one.references.map((text, k) => row(one.references.length > 1 ? `Reference ${k + 1}` : "Reference", said(text))),
      row(`Before${alone(one.score_before)}`, one.before.length ? marked(one.before) : "(empty)"),
      row(`After${alone(one.score_after)}`, one.after.length ? marked(one.after) : "(empty)")),
    one.candidates.length ? candidates(set, one, again) : null,
  ].filter(Boolean);
}

// Candidates of the sentence, and what each feature says of the one that is looked at.
function candidates(set, one, again) {
  const after = textOf(one.after), before = textOf(one.before);
  const base = one.candidates.find((c) => c.text === after) || one.candidates[0];
  const looked = one.candidates[choices.candidate] || one.candidates.find((c) => c.text === before && c !== base) || one.candidates.find((c) => c !== base) || base;
  const role = (c) => [c.text === after ? "after" : null, c.text === before ? "before" : null].filter(Boolean).join(", ");
  const places = decimals(one.candidates.map((c) => c.total));
  const press = (k) => { choices.candidate = k; again(); document.querySelectorAll("#sentence tbody button")[k].focus(); };
  return el("div", {},
    el("h3", {}, `Candidates (${number(one.candidates.length)} of ${number(one.count)})`),
    table("Candidates", [
      ["rank", (c) => number(c.rank_after), true],
      ["text", (c, k) => el("button", { type: "button", title: "Look at this candidate", click: () => press(k) }, said(short(c.text, 300) || "(empty)")), false, "text"],
      ["output", (c) => role(c)], [set.score_name, (c) => score(c.score), true],
      ["model", (c) => even(c.total, places), true], ["rank before", (c) => number(c.rank_before), true],
    ], one.candidates, { chosen: (c) => c === looked }),
    shares(set, looked, base));
}

function shares(set, looked, base) {
  if (looked === base) return el("p", { class: "quiet" }, "This one is chosen; others are compared with it. Choose another candidate to see what each feature says of it.");
  const most = Math.max(...looked.contributions.map(Math.abs), 1e-300);
  const order = looked.contributions.map((value, k) => [set.features[k], value]).filter(([, value]) => value !== 0).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const bar = (value) => { const made = el("div", { class: `bar ${value > 0 ? "for" : "against"}` }); made.style.width = `${(50 * Math.abs(value)) / most}%`; return made; };
  const total = looked.total - base.total;
  return el("div", { id: "shares" },
    el("p", {}, `What each feature says for it (right) or against it (left), beside the one that is chosen: weight times difference. Together ${change(total)}.`),
    el("div", { class: "shares" }, order.flatMap(([name, value]) => [el("div", {}, brief(name)), el("div", { class: "n" }, change(value)), el("div", { class: "track" }, bar(value))])));
}
