"use strict";

// The map of a story whose cells have a reach: it draws the phone's walk, and a drag or the arrow keys change it.

const MAP_NAMESPACE = "http://www.w3.org/2000/svg";
const STEP = 10; // metres of an arrow key
const LEAST_DRAG = 8; // metres between two points of a drag
const MARGIN = 4; // metres that a walk may leave the drag's line by

class WalkMap {
  // `changed` is called with the walk after each change.
  constructor(figure, changed) {
    this.figure = figure;
    this.changed = changed;
    this.svg = figure.querySelector("svg");
    this.note = figure.querySelector("[data-note]");
    this.speed = figure.querySelector("input");
    this.svg.onpointerdown = (event) => this.begin(event);
    this.svg.onpointermove = (event) => this.move(event);
    this.svg.onpointerup = () => this.end();
    this.svg.onpointercancel = () => this.cancel();
    this.svg.onkeydown = (event) => this.key(event);
    this.speed.oninput = () => this.set({ ...this.walk, speed: Number(this.speed.value) });
    figure.querySelector("button").onclick = () => this.set(this.story.map.walk);
  }

  show({ story, walk }) {
    this.story = story;
    this.figure.hidden = !story.map;
    if (!story.map) return;
    this.walk = walk;
    this.speed.value = walk.speed;
    this.drag = undefined;
    const { west, south, east, north } = story.map.area;
    this.svg.setAttribute("viewBox", `${west} ${-north} ${east - west} ${north - south}`);
    this.draw(this.time ?? 0);
  }

  set(walk) {
    this.walk = walk;
    this.speed.value = walk.speed;
    this.draw(this.time);
    this.changed(walk);
  }

  draw(time) {
    this.time = time;
    if (!this.story?.map) return;
    const { cells, area } = this.story.map;
    const walk = this.drag ? { ...this.walk, points: this.drag } : this.walk;
    const metre = (area.east - area.west) / Math.max(1, this.svg.clientWidth); // metres of a pixel
    const at = positionAt(walk, this.drag ? 0 : time);
    const text = (x, y, name, words) => this.node("text", { x, y, class: name, "font-size": 13 * metre, "text-anchor": "middle" }, words);
    const line = walk.points.map(([x, y]) => `${x},${-y}`).join(" ");
    this.svg.replaceChildren(
      ...cells.flatMap(({ at: [x, y], reach, name }, i) => {
        const colour = `--colour: var(--network-${i + 1})`;
        return [
          this.node("circle", { cx: x, cy: -y, r: reach, class: "reach", style: colour }),
          this.node("circle", { cx: x, cy: -y, r: this.story.map.near, class: "near", style: colour }),
          this.node("path", { d: `M${x} ${-y}l${-5 * metre} ${12 * metre}h${10 * metre}Z`, class: "mast", style: colour }),
          text(x, -y - 6 * metre, "name", name),
        ];
      }),
      this.node("polyline", { points: line, class: "walk", "stroke-width": 2 * metre, "stroke-dasharray": `${5 * metre} ${4 * metre}` }),
      ...walk.points.map(([x, y]) => this.node("circle", { cx: x, cy: -y, r: 3 * metre, class: "point" })),
      this.node("rect", {
        x: at[0] - 7 * metre, y: -at[1] - 12 * metre, width: 14 * metre, height: 24 * metre, rx: 3 * metre, class: "phone",
      }),
    );
    const { length, ends } = lengthOf(walk);
    const away = cells.map((cell) => {
      const distance = distanceOf(cell.at, at);
      return `${Math.round(distance)} m from ${cell.name}${distance > cell.reach ? ", out of its reach" : ""}`;
    });
    this.note.textContent = `The walk has ${Math.round(length)} m and ends at ${ends.toFixed(1)} s. The phone is ${away.join("; ")}.`;
  }

  node(name, attributes, text) {
    const node = document.createElementNS(MAP_NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }

  // The place under the pointer.
  place({ clientX, clientY }) {
    const point = new DOMPoint(clientX, clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    return this.within([point.x, -point.y]);
  }

  within([x, y]) {
    const { west, south, east, north } = this.story.map.area;
    return [Math.round(Math.min(east, Math.max(west, x))), Math.round(Math.min(north, Math.max(south, y)))];
  }

  begin(event) {
    if (event.button !== 0) return;
    this.svg.setPointerCapture(event.pointerId);
    this.drag = [this.place(event)];
  }

  move(event) {
    if (!this.drag) return;
    const place = this.place(event);
    if (distanceOf(place, this.drag.at(-1)) < LEAST_DRAG) return;
    this.drag.push(place);
    this.draw(this.time);
  }

  // A drag is the new walk; a click changes nothing.
  end() {
    const drag = this.drag ?? [];
    this.drag = undefined;
    if (drag.length > 1) this.set({ ...this.walk, points: simplified(drag, MARGIN) });
  }

  cancel() {
    this.drag = undefined;
    this.draw(this.time);
  }

  key(event) {
    const [x, y] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
    const { points } = this.walk;
    const place = this.within([points.at(-1)[0] + x * STEP, points.at(-1)[1] + y * STEP]);
    if (event.key === "Backspace" && points.length > 1) this.set({ ...this.walk, points: points.slice(0, -1) });
    else if ((x || y) && distanceOf(place, points.at(-1)) > 0 && points.length < MOST_POINTS) {
      this.set({ ...this.walk, points: simplified([...points, place], 0) });
    } else if (!x && !y) return;
    event.preventDefault();
  }
}

// Leaves out points that are within `margin` of the line between those that stay (Douglas and Peucker).
function simplified(points, margin) {
  let kept = points;
  for (; ; margin = Math.max(1, margin * 2)) {
    kept = reduced(points, margin);
    if (kept.length <= MOST_POINTS) return kept;
  }
}

function reduced(points, margin) {
  const [first, final] = [points[0], points.at(-1)];
  let [farthest, most] = [0, margin];
  for (let i = 1; i < points.length - 1; i++) {
    const away = distanceToLine(points[i], first, final);
    if (away > most) [farthest, most] = [i, away];
  }
  if (farthest === 0) return points.length < 2 ? points : [first, final];
  return [...reduced(points.slice(0, farthest + 1), margin).slice(0, -1), ...reduced(points.slice(farthest), margin)];
}

function distanceToLine([x, y], [ax, ay], [bx, by]) {
  const square = (bx - ax) ** 2 + (by - ay) ** 2;
  const share = square === 0 ? 0 : Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / square));
  return distanceOf([x, y], [ax + share * (bx - ax), ay + share * (by - ay)]);
}
