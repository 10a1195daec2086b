"use strict";

// The qlog viewer: paths, moves, windows, round-trip times and losses of a file of msctp (docs/events.md).

const BINS = 600; // points of a curve
const COLOURS = ["--network-1", "--network-2", "--policy-1", "--policy-2", "--policy-3", "--policy-4"];
const byId = (id) => document.getElementById(id);
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const seconds = (ms) => (ms === undefined ? "" : `${(ms / 1000).toFixed(3)} s`);

// Reads the records of a qlog file (JSON text sequences). A recording that was cut off ends within a record, which is left out.
function recordsOf(text) {
  const lines = text.split("\n");
  const records = [];
  lines.forEach((line, i) => {
    const json = line.replace(/^\x1e/, "").trim();
    if (json === "") return;
    try {
      records.push(JSON.parse(json));
    } catch (error) {
      if (i < lines.length - 1) throw new Error(`line ${i + 1} is not JSON: ${error.message}`);
    }
  });
  if (!String(records[0]?.file_schema ?? records[0]?.qlog_format).match(/sequential|JSON-SEQ/)) {
    throw new Error("this is not a qlog file of msctp: its first record has no file_schema that ends in sequential");
  }
  return records;
}

// Returns the ends that recorded, each with its paths and moves.
function endsOf(records) {
  const ends = new Map();
  for (const { time, name, tuple, group_id: group = "", data = {} } of records.slice(1)) {
    if (!ends.has(group)) ends.set(group, { group, paths: new Map(), moves: [], until: 0 });
    const end = ends.get(group);
    end.until = Math.max(end.until, time);
    if (name === "msctp:primary") end.moves.push({ time, ...data });
    if (tuple === undefined) continue;
    if (!end.paths.has(tuple)) {
      end.paths.set(tuple, { tuple, windows: [], rtts: [], sent: [], received: [], again: 0, losses: [], timeouts: [] });
    }
    record(end.paths.get(tuple), time, name, data);
  }
  if (ends.size === 0) throw new Error("the file has no events");
  return [...ends.values()];
}

// Adds an event to its path.
function record(path, time, name, data) {
  const isData = () => data.frames?.[0]?.frame_type === "data";
  switch (name) {
    case "connectivity:tuple_assigned": path.added = time; break;
    case "msctp:path_removed": path.removed = time; break;
    case "recovery:packet_lost": path.losses.push(time); break;
    case "recovery:loss_timer_updated": if (data.event_type === "expired") path.timeouts.push(time); break;
    case "recovery:metrics_updated":
      if (data.congestion_window !== undefined) path.windows.push([time, data.congestion_window]);
      if (data.latest_rtt !== undefined) path.rtts.push([time, data.latest_rtt]);
      break;
    case "transport:packet_sent":
      if (!isData()) break;
      path.sent.push([time, data.raw.length]);
      if (data.frames[0].again) path.again++;
      break;
    case "transport:packet_received": if (isData()) path.received.push([time, data.raw.length]); break;
  }
}

// Collects samples in bins of `width` milliseconds and joins those of each.
function binned(samples, width, join) {
  const bins = Array.from({ length: BINS }, () => []);
  for (const [time, value] of samples) bins[Math.min(BINS - 1, Math.floor(time / width))].push(value);
  return bins.map(join);
}

let charts = [];
let ends = [];

function show(end) {
  for (const chart of charts) chart.remove();
  const width = Math.max(end.until, 1) / BINS;
  const times = Array.from({ length: BINS }, (_, i) => (i + 1) * width / 1000);
  const paths = [...end.paths.values()];
  const curves = (of) => paths.map((path, i) => (
    { label: path.tuple, values: of(path), colour: COLOURS[i % COLOURS.length], dash: DASHES[i % DASHES.length], spanGaps: true }));
  const rate = (samples) => binned(samples, width, (few) => sum(few) * 8 / width / 1000);
  const list = [
    { title: "Congestion window", unit: "kB", curves: curves((path) => binned(path.windows, width, (few) => few.length ? last(few) / 1000 : null)) },
    { title: "Round-trip time", unit: "ms", curves: curves((path) => binned(path.rtts, width, largest)) },
    { title: "Data sent", unit: "Mbps", curves: curves((path) => rate(path.sent)) },
    { title: "Data received", unit: "Mbps", curves: curves((path) => rate(path.received)) },
    { title: "Losses", unit: "fast retransmissions and timeouts",
      curves: curves((path) => binned([...path.losses, ...path.timeouts].map((time) => [time, 1]), width, sum)) },
  ];
  const marks = end.moves.map(({ time }) => time / 1000);
  charts = list.map((chart) => new Chart(byId("charts"), { times, marks, height: 170, ...chart }));
  for (const chart of charts) {
    chart.resize();
    chart.seek(times[BINS - 1]);
  }
  const megabytes = (samples) => `${(sum(samples.map(([, length]) => length)) / 1e6).toFixed(2)} MB`;
  byId("paths").replaceChildren(...paths.map((path) => row([
    path.tuple, seconds(path.added), seconds(path.removed), megabytes(path.sent), megabytes(path.received), path.again,
    path.losses.length, path.timeouts.length,
    path.rtts.length ? `${path.rtts.reduce((least, [, rtt]) => Math.min(least, rtt), Infinity).toFixed(1)} ms` : "",
  ])));
  byId("moves").replaceChildren(...end.moves.map(({ time, from, to, cause }) => row([to, seconds(time), from, cause])));
}

const row = ([head, ...cells]) => make("tr", {}, make("th", { scope: "row", textContent: head }),
  ...cells.map((text) => make("td", { textContent: text })));

async function openFile(file) {
  byId("error").hidden = true;
  byId("state").textContent = `reading ${file.name} …`;
  try {
    const records = recordsOf(await file.text());
    ends = endsOf(records);
    byId("end").replaceChildren(...ends.map(({ group }, i) => make("option", { value: i, textContent: group || "unnamed" })));
    // The end that sent most is the one of interest.
    const sent = ends.map(({ paths }) => sum([...paths.values()].map((path) => path.sent.length)));
    byId("end").value = sent.indexOf(Math.max(...sent));
    byId("log").hidden = false;
    show(ends[byId("end").value]);
    byId("state").textContent = `${records[0].title ?? file.name}: ${records.length - 1} events`;
  } catch (error) {
    byId("log").hidden = true;
    byId("state").textContent = "";
    byId("error").textContent = `${file.name}: ${error.message}`;
    byId("error").hidden = false;
  }
}

byId("file").onchange = () => byId("file").files[0] && openFile(byId("file").files[0]);
byId("end").onchange = () => show(ends[byId("end").value]);
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
});
addEventListener("resize", () => charts.forEach((chart) => chart.resize()));
