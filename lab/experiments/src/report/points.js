"use strict";
// Opens each point of a chart as its command: by a click on the chart, or in the list below it.
(() => {
  const { parts, panels } = JSON.parse(document.getElementById("points").textContent);
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  for (const box of document.querySelectorAll("details.points")) {
    const svg = box.closest("figure").querySelector("svg");
    // A line of the list is a point, or a whole series that one command prints.
    const lines = panels[box.dataset.panel].flatMap(({ name, at, commands, points }) => points === undefined
      ? [{ text: `${name}: every point, as x,value`, at, command: commands[0] }]
      : points.map((text, i) => ({ text: `${name}, ${text}`, at: [at[i]], command: commands[i] })));
    const ring = document.createElementNS(svg.namespaceURI, "circle");
    let list;
    let code;

    const show = (number, [x, y] = lines[number].at[0]) => {
      list.value = number;
      code.textContent = lines[number].command.map((part) => parts[part]).join("");
      for (const [key, value] of Object.entries({ cx: x, cy: y, r: 7, class: "ring" })) ring.setAttribute(key, value);
      svg.append(ring);
    };
    const fill = () => {
      if (list) return;
      list = make("select", { ariaLabel: "Point" }, ...lines.map(({ text }, value) => make("option", { value, textContent: text })));
      list.onchange = () => show(Number(list.value));
      code = make("code");
      const copy = make("button", { type: "button", textContent: "Copy" });
      copy.onclick = () => {
        getSelection().selectAllChildren(code);
        copy.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl-C";
        setTimeout(() => { copy.textContent = "Copy"; }, 2000);
      };
      box.lastElementChild.replaceWith(make("div", {}, list, copy, make("pre", {}, code)));
      show(0);
    };

    box.ontoggle = () => (box.open ? fill() : ring.remove());
    svg.classList.add("choose");
    svg.onclick = ({ clientX, clientY }) => {
      const { left, top, width } = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / width;
      const distance = ([x, y]) => Math.hypot(x - (clientX - left) * scale, y - (clientY - top) * scale);
      const all = lines.flatMap(({ at }, number) => at.map((point) => ({ number, point, far: distance(point) })));
      const { number, point } = all.reduce((a, b) => (b.far < a.far ? b : a));
      fill();
      box.open = true;
      show(number, point);
    };
  }
})();
