// The page: all sections from the view, and again those whose part of it has changed.

const choices = { feature: null, mapX: null, mapY: null, which: null, filter: "all", search: "", order: "size", sentence: null, candidate: null, bars: "spread" };

// A section's name in the contents, its function, and what of the view it shows.
const SECTIONS = [
  ["head", "Overview", head, (v) => v.summary],
  ["cautions", "Cautions", cautions, (v) => v.warnings],
  ["rounds", "Scores", rounds, (v) => v.rounds],
  ["lengths", "Length", lengths, (v) => v.rounds],
  ["replicates", "Replicates", replicates, (v) => v.replicates],
  ["weights", "Weights", weights, (v) => v.weights],
  ["surface", "Error surface", surface, (v) => v.surfaces],
  ["map", "Map", map, (v) => v.maps],
  ["sentences", "Sentences", sentences, (v) => v.sentences],
  ["pairs", "PRO pairs", pairs, (v) => v.pairs],
  ["path", "Settings tried", path, (v) => v.path],
  ["certificate", "Certificate", certificate, (v) => [v.certificate, v.certified]],
  ["settings", "Settings", settings, (v) => [v.summary.settings, v.summary.signature, v.summary.data]],
  ["missing", "Missing", missing, (v) => v.missing],
];
const page = document.getElementById("page");
const before = {};
let view = null;

// Show a view; what looks as it did stays as it is.
function show(next) {
  view = next;
  if (!view) {
    page.replaceChildren(section("waiting", "Waiting", null, el("p", { id: "waiting-words" }, "The run has nothing to show yet.")));
    return;
  }
  document.getElementById("waiting")?.remove();
  SECTIONS.forEach(([id, , make, part], place) => {
    const key = JSON.stringify(part(view));
    if (before[id] !== key || !place) rebuild(id, make, place);
    before[id] = key;
  });
  contents(SECTIONS.filter(([id]) => document.getElementById(id)));
  foot(view.version);
}

// Put a section in its place, instead of what is there.
function rebuild(id, make, place) {
  const made = make(view);
  const old = document.getElementById(id);
  if (old && made) {
    old.replaceWith(made);
    made.querySelectorAll(".chart").forEach(draw);
  }
  else if (old) old.remove();
  else if (made) {
    const later = SECTIONS.slice(place + 1).map(([other]) => document.getElementById(other)).find(Boolean);
    page.insertBefore(made, later || null);
  }
}

// Take choices of the user, and show one section anew; the focus stays where it was.
function choose(some, id) {
  Object.assign(choices, some);
  const focusable = () => [...document.getElementById(id).querySelectorAll("button, select, input")];
  const focused = focusable().indexOf(document.activeElement);
  const place = SECTIONS.findIndex(([name]) => name === id);
  rebuild(id, SECTIONS[place][2], place);
  if (focused >= 0) focusable()[focused]?.focus({ preventScroll: true });
}

function state(word, cls) {
  const badge = document.getElementById("state");
  if (badge) { badge.textContent = word; badge.className = `badge ${cls}`; }
}

// Live: ask every few seconds whether the run has gone on.
async function follow(seconds) {
  let tag = null;
  for (;;) {
    try {
      const answer = await fetch("view.json", { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
      if (answer.status === 200) {
        tag = answer.headers.get("ETag");
        take(await answer.json());
      }
      status();
    } catch (error) {
      state("the server has ended", "gone");
    }
    await new Promise((done) => setTimeout(done, 1000 * seconds));
  }
}

let told = { words: "", running: true };

function take(answer) {
  told = { words: answer.words, running: answer.is_running };
  if (answer.view || !view) show(answer.view);
}

function status() {
  const words = document.getElementById("waiting-words");
  if (words) words.textContent = visible(told.words || "The run has nothing to show yet.");
  state(told.words && view ? visible(told.words) : view ? view.summary.state : told.running ? "running" : "ended", told.running ? "running" : "");
}

const given = JSON.parse(document.getElementById("view").textContent);
const live = Number(document.documentElement.dataset.live);
if (live) { take(given); status(); follow(live); } else show(given);
