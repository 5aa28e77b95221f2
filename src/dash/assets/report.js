// Shows a point's figures while the pointer is on it or it has the focus.
(() => {
  "use strict";
  const tip = document.getElementById("tip");
  const element = (name, text) => {
    const made = document.createElement(name);
    made.textContent = text;
    return made;
  };
  const show = (point) => {
    tip.replaceChildren(element("b", point.dataset.name));
    for (const line of point.dataset.tip.split("\n")) {
      const [name, value] = line.split("\t");
      const row = document.createElement("div");
      row.append(element("span", name), element("span", value ?? ""));
      tip.append(row);
    }
    tip.hidden = false;
    const at = point.getBoundingClientRect();
    const size = tip.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    let left = at.right + 8;
    if (left + size.width > room - 8) left = at.left - size.width - 8;
    if (left < 8) left = Math.max(8, (room - size.width) / 2);
    const top = Math.max(8, at.top + at.height / 2 - size.height / 2);
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${top + scrollY}px`;
  };
  const hide = () => { tip.hidden = true; };
  for (const point of document.querySelectorAll(".pt")) {
    point.addEventListener("pointerenter", () => show(point));
    point.addEventListener("pointerleave", hide);
    point.addEventListener("focus", () => show(point));
    point.addEventListener("blur", hide);
    point.addEventListener("click", () => show(point));
  }
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
})();
