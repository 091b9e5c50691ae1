// Tables that scroll can be reached, and scrolled, by keyboard.
addEventListener("DOMContentLoaded", () => {
  for (const wrapper of document.querySelectorAll(".table-wrapper, .highlight pre")) wrapper.tabIndex = 0;
});
