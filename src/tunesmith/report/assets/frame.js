// What stands around every page: its contents, light or dark colours, bars with intervals.

// Links to sections: ids and names.
function contents(sections) {
  const links = sections.map(([id, name]) => el("a", { href: `#${id}` }, name));
  const toggle = el("button", { type: "button", id: "theme", "aria-label": "Light or dark colours", click: turn }, isDark() ? "Light" : "Dark");
  const nav = document.getElementById("contents");
  if (nav.children.length && nav.querySelectorAll("a").length === links.length) return;
  nav.replaceChildren(el("span", { class: "name" }, "tunesmith"), el("div", { class: "links" }, links), toggle);
}

const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function turn() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  document.getElementById("theme").textContent = isDark() ? "Light" : "Dark";
}

const foot = (version) => document.getElementById("foot").replaceChildren(`Made by tunesmith ${visible(version)}. Everything on this page is in this file.`);

// Differences as bars from 0 on one axis, with a line for the interval where there is one.
function intervalBars(rows) {
  const ends = rows.flatMap((r) => [r.value, r.low ?? 0, r.high ?? 0, 0]);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const at = (x) => (100 * (x - least)) / (most - least || 1);
  const spanning = (cls, from, to) => {
    const made = el("div", { class: cls });
    Object.assign(made.style, { left: `${Math.min(at(from), at(to))}%`, width: `${Math.abs(at(to) - at(from))}%` });
    return made;
  };
  const zero = () => { const made = el("div", { class: "zero" }); made.style.left = `${at(0)}%`; return made; };
  return el("div", { class: "shares gains" }, rows.flatMap((r) => [
    el("div", {}, said(r.name)), el("div", { class: "n" }, r.shown),
    el("div", { class: "track", "aria-hidden": "true" }, spanning(`bar ${r.look}`, 0, r.value), r.low == null ? null : spanning("range", r.low, r.high), zero())]));
}
