"use strict";

// The picture of the two networks: a dot for every so many bytes that arrive, a bar for each queue.

const TRAVEL = 0.7; // seconds of virtual time that a dot is seen for, whatever the network's delay

class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    this.side = 0;
  }

  // `run`: {interval, networks: [{name, bytes, queue, primaryAt(time)}], dot: bytes}
  show(run) {
    this.run = run;
    for (const network of run.networks) {
      let waiting = 0;
      network.dots = [];
      network.bytes.forEach((bytes, i) => {
        waiting += bytes;
        const count = Math.floor(waiting / run.dot);
        for (let k = 0; k < count; k++) network.dots.push((i + (k + 0.5) / count) * run.interval);
        waiting -= count * run.dot;
      });
      network.longest = Math.max(largest(network.queue) ?? 0, 1);
    }
  }

  draw(time) {
    const { canvas, run } = this;
    if (!run) return;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio)) [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const narrow = width < 520;
    const [from, to] = [narrow ? 62 : 96, width - (narrow ? 50 : 84)];
    const rows = run.networks.length === 1 ? [height * 0.52] : [height * 0.31, height * 0.73];
    const active = run.networks.findIndex((network) => network.primaryAt(time));
    this.bar = narrow ? 40 : 60;
    this.side += ((active === 1 ? 1 : 0) - this.side) * 0.25;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.side = active === 1 ? 1 : 0;
    run.networks.forEach((network, i) => this.network(context, network, i, time, from, to, rows[i], active === i));
    this.server(context, from, height / 2, rows);
    this.phone(context, to + (narrow ? 24 : 40), rows[0] + (rows.at(-1) - rows[0]) * this.side);
  }

  network(context, network, i, time, from, to, y, active) {
    const colour = style(`--network-${i + 1}`);
    context.lineCap = "round";
    context.lineWidth = 22;
    context.strokeStyle = active ? `${colour}38` : style("--line");
    context.beginPath();
    context.moveTo(from, y);
    context.lineTo(to, y);
    context.stroke();
    context.fillStyle = colour;
    const begin = firstAtLeast(network.dots, time);
    for (let k = begin; k < network.dots.length && network.dots[k] < time + TRAVEL; k++) {
      const left = (network.dots[k] - time) / TRAVEL; // the share of its way that is before it
      const x = this.run.sender === "server" ? to - left * (to - from) : from + left * (to - from);
      context.beginPath();
      context.arc(x, y + ((k * 7) % 13 - 6), 3, 0, 2 * Math.PI);
      context.fill();
    }
    const number = Math.min(Math.floor(time / this.run.interval), network.queue.length - 1);
    const fill = network.queue[number] / network.longest;
    context.fillStyle = style("--line");
    context.fillRect(from - 4, y - 34, this.bar, 7);
    context.fillStyle = colour;
    context.fillRect(from - 4, y - 34, this.bar * fill, 7);
    context.font = `600 ${this.bar < 60 ? 12 : 14}px ${style("--font")}`;
    context.textAlign = "left";
    context.fillText(network.name, from + this.bar + 4, y - 26);
    context.textAlign = "right";
    context.fillStyle = style("--text");
    context.fillText(showRate(network.rateAt(time)), to, y - 25);
    context.font = `11px ${style("--font")}`;
    context.textAlign = "left";
    context.fillStyle = style("--soft");
    context.fillText("queue", from - 4, y - 39);
  }

  server(context, x, y, rows) {
    context.strokeStyle = style("--soft");
    context.lineWidth = 2;
    for (const row of rows) {
      context.beginPath();
      context.moveTo(x - 34, y);
      context.lineTo(x - 12, row);
      context.stroke();
    }
    context.fillStyle = style("--text");
    for (const shift of [-18, 0, 18]) {
      context.beginPath();
      context.roundRect(x - 58, y + shift - 8, 34, 14, 3);
      context.fill();
    }
    context.font = `12px ${style("--font")}`;
    context.textAlign = "center";
    context.fillText("server", x - 41, y + 40);
  }

  phone(context, x, y) {
    context.fillStyle = style("--text");
    context.beginPath();
    context.roundRect(x - 13, y - 24, 26, 48, 5);
    context.fill();
    context.fillStyle = style("--page");
    context.fillRect(x - 10, y - 18, 20, 34);
    context.fillStyle = style("--text");
    context.font = `12px ${style("--font")}`;
    context.textAlign = "center";
    context.fillText("phone", x, y + 40);
  }
}

// The number of the first of ascending values that is at least `value`.
function firstAtLeast(values, value) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
