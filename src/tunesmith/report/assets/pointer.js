// What the pointer does on a chart: it shows the numbers under it, and zooms by dragging.

function pointers(target, picture, spec) {
  const tip = el("div", { class: "tip", hidden: true });
  target.append(tip);
  const place = (event) => { const box = picture.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const frameAt = ([x, y]) => target.frames.find((f) => x >= f.left && x <= f.left + f.width && y >= f.top && y <= f.top + f.height);
  let drag = null;

  picture.addEventListener("pointerdown", (event) => {
    const at = place(event), frame = frameAt(at);
    // A finger that moves over a chart scrolls the page; the buttons zoom.
    if (!spec.zoom || !frame || event.button || event.pointerType !== "mouse") return;
    drag = { frame, at, box: svg("rect", { fill: "var(--accent)", opacity: 0.2 }) };
    picture.append(drag.box);
    picture.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  picture.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (drag) drawDrag(drag, at);
    else show(frameAt(at), at);
  });
  picture.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const { frame, at, box } = drag;
    drag = null;
    box.remove();
    const [x, y] = within2(frame, place(event));
    if (Math.abs(x - at[0]) < 6) return;
    const ascending = (a, b) => [Math.min(a, b), Math.max(a, b)];
    const flat = !has(frame, "pixels") || Math.abs(y - at[1]) < 6;
    zoomTo(target, ascending(frame.xOf(at[0]), frame.xOf(x)), linkOf(target, frame), flat ? null : ascending(frame.yOf(at[1]), frame.yOf(y)));
  });
  picture.addEventListener("pointercancel", () => { drag?.box.remove(); drag = null; });
  picture.addEventListener("pointerleave", () => { tip.hidden = true; });
  if (spec.zoom) picture.addEventListener("dblclick", (event) => { const frame = frameAt(place(event)); if (frame) zoomTo(target, null, linkOf(target, frame)); });

  function show(frame, [x, y]) {
    const found = frame ? frame.panel.marks.map((mark) => MARKS[mark.kind].under?.(mark, frame, x, y)).filter(Boolean) : [];
    const alone = found.filter((one) => one.alone);
    const shown = alone.length ? alone.slice(0, 1) : found;
    tip.hidden = !shown.length;
    if (tip.hidden) return;
    const heading = shown.find((one) => one.heading)?.heading;
    tip.replaceChildren(...[heading && el("b", {}, brief(heading, 60)), ...shown.flatMap((one) => one.line.split("\n")).map((line) => el("div", {}, brief(line)))].filter(Boolean));
    const left = x > target.clientWidth / 2 ? x - tip.offsetWidth - 14 : x + 14;
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${picture.offsetTop + Math.max(0, y - tip.offsetHeight - 10)}px`;
  }
}

const has = (frame, kind) => frame.panel.marks.some((mark) => mark.kind === kind);
const linkOf = (target, frame) => frame.panel.link ?? target.frames.indexOf(frame);
const within2 = (f, [x, y]) => [clampTo([f.left, f.left + f.width], x), clampTo([f.top, f.top + f.height], y)];

// The part that is dragged over: all of the height, but for a grid.
function drawDrag({ frame, at, box }, to) {
  const [x, y] = within2(frame, to);
  const isGrid = has(frame, "pixels");
  const span = (name, a, b) => { box.setAttribute(name, Math.min(a, b)); box.setAttribute(name === "x" ? "width" : "height", Math.abs(a - b)); };
  span("x", at[0], x);
  span("y", isGrid ? at[1] : frame.top, isGrid ? y : frame.top + frame.height);
}
