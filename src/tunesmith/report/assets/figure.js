// A page with one chart: what it shows in words, the chart, and how to read it.

const view = JSON.parse(document.getElementById("view").textContent);
document.getElementById("page").replaceChildren(el("section", { id: "head", "aria-labelledby": "head-title" },
  el("h1", { id: "head-title" }, brief(view.title)),
  chart(view.title, () => view.chart),
  el("p", { class: "quiet" }, view.caption),
  el("details", {}, el("summary", {}, "All of this in words"), view.summary.map((line) => el("p", {}, said(line))))));
contents([]);
foot(view.version);
