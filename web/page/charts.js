"use strict";

// The charts: uPlot for the curves; what the play head has not reached yet is drawn under a veil.

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

class Chart {
  // `curves`: {label, values, colour (a CSS variable), dash}; `marks`: times of switches.
  constructor(parent, { title, unit, times, curves, marks, height }) {
    this.time = 0;
    this.marks = marks;
    this.figure = document.createElement("figure");
    this.figure.className = "chart";
    const caption = document.createElement("figcaption");
    caption.innerHTML = `<b></b> <span class="unit"></span>`;
    caption.firstChild.textContent = title;
    caption.lastChild.textContent = unit;
    for (const curve of curves) {
      const label = document.createElement("span");
      label.className = "key";
      label.style.setProperty("--colour", `var(${curve.colour})`);
      label.textContent = curve.label;
      caption.append(label);
    }
    this.figure.append(caption);
    parent.append(this.figure);
    const most = Math.max(...curves.map(({ values }) => values.reduce((a, b) => Math.max(a, b ?? 0), 0)), 1e-9);
    const axis = { stroke: () => style("--soft"), grid: { stroke: () => style("--line"), width: 1 }, ticks: { show: false } };
    const series = curves.map((curve) => ({
      label: curve.label, stroke: () => style(curve.colour), width: 2, dash: curve.dash, spanGaps: curve.spanGaps ?? false,
      points: { show: false }, fill: curve.fill ? () => `${style(curve.colour)}30` : undefined,
    }));
    this.plot = new uPlot({
      width: this.width(), height, legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: [0, times[times.length - 1]] }, y: { range: [0, most * 1.08] } },
      axes: [{ ...axis, size: 26 }, { ...axis, size: 46 }],
      series: [{}, ...series],
      hooks: { draw: [(plot) => this.veil(plot)] },
    }, [times, ...curves.map(({ values }) => values)], this.figure);
    this.plot.root.setAttribute("aria-hidden", "true");
  }

  width() {
    return Math.max(200, this.figure.clientWidth);
  }

  resize() {
    this.plot.setSize({ width: this.width(), height: this.plot.height });
  }

  veil(plot) {
    const { left, top, width, height } = plot.bbox;
    const context = plot.ctx;
    const at = plot.valToPos(this.time, "x", true);
    context.save();
    context.fillStyle = style("--veil");
    context.fillRect(at, top, left + width - at, height);
    context.lineWidth = devicePixelRatio;
    context.strokeStyle = style("--soft");
    for (const mark of this.marks) {
      const x = plot.valToPos(mark, "x", true);
      context.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, top + height);
      context.stroke();
    }
    context.setLineDash([]);
    context.lineWidth = 2 * devicePixelRatio;
    context.strokeStyle = style("--text");
    context.beginPath();
    context.moveTo(at, top);
    context.lineTo(at, top + height);
    context.stroke();
    context.restore();
  }

  seek(time) {
    this.time = time;
    this.plot.redraw(false);
  }

  remove() {
    this.plot.destroy();
    this.figure.remove();
  }
}

// Merges samples into intervals `every` times as long.
function merged(samples, every, merge) {
  const result = [];
  for (let i = 0; i < samples.length; i += every) result.push(merge(samples.slice(i, i + every)));
  return result;
}
const sum = (values) => values.reduce((a, b) => a + b, 0);
const largest = (values) => values.reduce((a, b) => (b === null || b === undefined ? a : Math.max(a ?? b, b)), null);
const last = (values) => values[values.length - 1];
