"use strict";

// The sequence diagram of each network: the server's line on the left, the phone's on the right, time downwards to the
// present. A chunk's head moves along the present's line; behind it its way stays visible for a while.

// Shapes in a square of side 2 around the origin: told apart without colour.
const KINDS = [
  { letters: "d", name: "DATA", tcp: "segment", colour: null, shape: "M-.8-.8H.8V.8H-.8Z" },
  { letters: "r", name: "DATA, retransmitted", tcp: "segment, retransmitted", colour: null, shape: "M-1-1H1V1H-1ZM-.5-.5V.5H.5V-.5Z" },
  { letters: "s", name: "SACK", tcp: "ACK", colour: "--chunk-sack", shape: "M-.8 0A.8.8 0 1 0 .8 0A.8.8 0 1 0-.8 0Z" },
  { letters: "a", name: "ASCONF", colour: "--chunk-asconf", shape: "M0-1.3L1.3 0L0 1.3L-1.3 0Z" },
  { letters: "h", name: "HEARTBEAT", colour: "--chunk-heartbeat", shape: "M0-1.2L1.2 .9H-1.2Z" },
  { letters: "o", name: "other", colour: "--soft", shape: "M-1.1-.4H1.1V.4H-1.1Z" },
];
const LOST = { name: "lost", colour: "--lost", shape: "M-1-.6L-.6-1L0-.4L.6-1L1-.6L.4 0L1 .6L.6 1L0 .4L-.6 1L-1 .6L-.4 0Z" };
const MOST_DRAWN = 120; // ways of one kind and direction that a frame draws; the others are left out evenly

// Seconds of history for each speed: about as much as an eye can follow.
const historyAt = (speed) => Math.min(1, Math.max(0.04, speed));

// The journeys of a path as the diagram draws them: sorted by departure, one list for each kind.
function waysOf({ sent, took, kinds }, towards) {
  const lists = [...KINDS, LOST].map((kind) => ({ kind, towards, from: [], to: [], longest: 0 }));
  const arrivals = [];
  const known = took.filter((time) => time >= 0).sort((a, b) => a - b);
  const usual = known[known.length >> 1] ?? 1e5;
  let at = 0;
  sent.forEach((since, i) => {
    at += since;
    const lost = took[i] === -1;
    // The trace does not say where a chunk was lost: it is drawn to the middle.
    const time = took[i] >= 0 ? took[i] : usual / (lost ? 2 : 1);
    const list = lost ? lists[KINDS.length] : lists[KINDS.findIndex(({ letters }) => letters === kinds[i])];
    list.from.push(at / 1e6);
    list.to.push((at + time) / 1e6);
    list.longest = Math.max(list.longest, time / 1e6);
    arrivals.push((at + time) / 1e6);
  });
  // By arrival, to count what is under way.
  const departures = lists.flatMap(({ from }) => from).sort((a, b) => a - b);
  return { lists, departures, arrivals: arrivals.sort((a, b) => a - b) };
}

class Ladder {
  constructor(canvas, legend, note) {
    this.canvas = canvas;
    this.note = note;
    this.drawn = [];
    const all = [...KINDS, LOST];
    for (const kind of all) kind.path = new Path2D(kind.shape);
    this.labels = [];
    legend.replaceChildren(...all.map(({ name, tcp, colour, shape }) => {
      const item = document.createElement("li");
      item.innerHTML = `<svg viewBox="-1.5 -1.5 3 3" width="14" height="14" aria-hidden="true"><path fill-rule="evenodd"/></svg> `;
      item.querySelector("path").setAttribute("d", shape);
      item.querySelector("path").style.fill = `var(${colour ?? "--text"})`;
      const label = document.createTextNode(name);
      this.labels.push({ item, label, name, tcp, always: shape === LOST.shape });
      item.append(label);
      return item;
    }));
  }

  // `run`: {tcp, networks: [{name, ways}]}
  show(run) {
    this.run = run;
    for (const { item, label, name, tcp, always } of this.labels) {
      item.hidden = run.tcp && !tcp && !always;
      label.data = run.tcp && tcp ? tcp : name;
    }
  }

  draw(time, speed) {
    const { canvas, run } = this;
    if (!run) return;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio)) [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const history = historyAt(speed);
    const part = width / run.networks.length;
    this.drawn = [];
    const notes = run.networks.map((network, i) => {
      const area = { left: i * part + 30, right: (i + 1) * part - 30, top: 42, bottom: height - 24, time, history };
      this.frame(context, network, i, area);
      const shares = new Map(); // by kind: how many chunks one that is drawn stands for
      for (const list of network.ways.flatMap(({ lists }) => lists)) {
        const share = this.list(context, list, i, area);
        const name = run.tcp && list.kind.tcp ? list.kind.tcp : list.kind.name;
        shares.set(name, Math.max(share, shares.get(name) ?? 1));
      }
      const under = sum(network.ways.map(({ departures, arrivals }) => firstAtLeast(departures, time) - firstAtLeast(arrivals, time)));
      const sampled = [...shares].filter(([, share]) => share > 1).map(([name, share]) => `1 of ${share} ${name}`);
      return `${network.name}: ${under} under way${sampled.length > 0 ? ` (drawn: ${sampled.join(", ")})` : ""}`;
    });
    this.note.textContent = `${run.tcp ? "Segments" : "Chunks"} of the last ${history < 1 ? `${Math.round(history * 1000)} ms` : "second"}. ${notes.join("; ")}.`;
  }

  frame(context, network, i, { left, right, top, bottom, history }) {
    const narrow = right - left < 180;
    context.lineWidth = 2;
    context.strokeStyle = style("--soft");
    context.fillStyle = style("--soft");
    context.font = `12px ${style("--font")}`;
    context.textAlign = "center";
    for (const [x, name] of [[left, "server"], [right, "phone"]]) {
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, bottom + 8);
      context.stroke();
      context.fillText(name, x, top - 8);
    }
    context.lineWidth = 1;
    context.strokeStyle = style("--line");
    context.beginPath();
    context.moveTo(left, bottom);
    context.lineTo(right, bottom);
    context.stroke();
    context.fillText("now", (left + right) / 2, bottom + 20);
    if (!narrow) context.fillText(`${Math.round(history * 1000)} ms ago`, (left + right) / 2, top - 8);
    context.fillStyle = style(`--network-${i + 1}`);
    context.font = `600 14px ${style("--font")}`;
    context.fillText(network.name, (left + right) / 2, 16);
  }

  // Draws one kind in one direction; returns how many of it one that is drawn stands for.
  list(context, { kind, towards, from, to, longest }, number, { left, right, top, bottom, time, history }) {
    const begin = firstAtLeast(from, time - history - longest);
    const end = firstAtLeast(from, time);
    // A power of two, and always the same chunks: what is drawn does not flicker when the rate changes.
    let stride = 1;
    while ((end - begin) / stride > MOST_DRAWN) stride *= 2;
    const colour = style(kind.colour ?? `--network-${number + 1}`);
    const lost = kind === LOST;
    const x = (share) => (towards === "phone" ? left + share * (right - left) : right - share * (right - left));
    const y = (at) => bottom - (time - at) / history * (bottom - top);
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = 1;
    for (let k = Math.ceil(begin / stride) * stride; k < end; k += stride) {
      const [departed, arrived] = [from[k], to[k]];
      if (arrived < time - history) continue;
      const first = Math.max(departed, time - history);
      const last = Math.min(arrived, time);
      const goal = lost ? 0.5 : 1;
      const share = (at) => goal * (arrived > departed ? (at - departed) / (arrived - departed) : 1);
      const over = arrived <= time;
      context.globalAlpha = over && !lost ? 0.35 : 0.8;
      context.setLineDash(lost ? [3, 3] : []);
      context.beginPath();
      context.moveTo(x(share(first)), y(first));
      context.lineTo(x(share(last)), y(last));
      context.stroke();
      const head = { network: number, kind: kind.name, towards, number: k, x: x(share(last)), y: y(last), over };
      this.drawn.push(head);
      // What has arrived keeps its shape only if it is rare, else the lines say enough.
      if (over && !lost && (end - begin > 24)) continue;
      context.globalAlpha = 1;
      context.save();
      context.translate(head.x, head.y);
      context.scale(4.5, 4.5);
      context.fill(kind.path, "evenodd");
      context.restore();
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
    return stride;
  }
}
