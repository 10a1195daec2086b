"use strict";

// The page: runs the experiment in the worker, plays it, and keeps the address's hash and the download up to date.

const BIN = 0.1; // seconds between the points of a curve
const LEAD = 1; // seconds before the first switch at which the page starts to play
const byId = (id) => document.getElementById(id);
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

// The simulator ------------------------------------------------------------------------------------------------------

const worker = new Worker(URL.createObjectURL(new Blob([byId("worker").textContent], { type: "text/javascript" })));
const waiting = new Map();
let requests = 0;
worker.onmessage = ({ data }) => {
  const { resolve, reject } = waiting.get(data.id);
  waiting.delete(data.id);
  data.answer.error === undefined ? resolve({ ...data, done: data.answer.done }) : reject(new Error(data.answer.error));
};
// The module is the last element of the page that is one file, and a file beside the page that is made for web servers.
const loaded = new Promise((resolve) => addEventListener("DOMContentLoaded", resolve))
  .then(() => byId("module")?.textContent.trim() ?? fetched("simulator.wasm.gz"))
  .then((module) => worker.postMessage({ module }));
async function fetched(file) {
  const response = await fetch(file);
  if (!response.ok) throw new Error(`${file} cannot be loaded: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}
const ask = (request) => loaded.then(() => new Promise((resolve, reject) => {
  waiting.set(++requests, { resolve, reject });
  worker.postMessage({ id: requests, request });
}));

const scenarioText = (file) => document.querySelector(`[data-scenario="${file}"]`).textContent;

// State --------------------------------------------------------------------------------------------------------------

let experiment = experimentFromHash(location.hash);
let runs = []; // one for each policy
let shown = 0;
let charts = [];
let time = 0;
let playing = false;
let generation = 0;
const scene = new Scene(byId("scene"));
const ladder = new Ladder(byId("ladder"), byId("kinds"), byId("flight"));
const map = new WalkMap(byId("map"), (walk) => {
  experiment.walk = walk;
  runSoon();
});
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

// Running ------------------------------------------------------------------------------------------------------------

// Runs every policy; what is shown begins with the first, for the others take their time.
async function runAll({ restart }) {
  const mine = ++generation;
  byId("state").textContent = "simulating …";
  history.replaceState(null, "", hashOf(experiment));
  const { policies } = experiment;
  const results = [];
  try {
    for (const policy of policies) {
      const result = await runOne(policy);
      if (mine !== generation) return;
      results.push(result);
      const first = results.length === 1 && restart;
      if (!first && results.length < policies.length) continue;
      byId("error").hidden = true;
      runs = [...results];
      shown = Math.min(shown, runs.length - 1);
      if (first) time = Math.max(0, (runs[0].switches[0] ?? 0) - LEAD);
      showRuns();
      if (first) setPlaying(!stillness.matches);
    }
    const seconds = sum(runs.map((run) => run.ms)) / 1000;
    const simulated = sum(runs.map((run) => run.duration));
    byId("state").textContent = `${runs.length === 1 ? "1 run" : `${runs.length} runs`} of ${runs[0].duration} s, ` +
      `simulated in ${seconds.toFixed(2)} s (${Math.round(simulated / seconds)} times real time)`;
  } catch (error) {
    if (mine !== generation) return;
    showError(error);
  }
}

function showError(error) {
  byId("error").textContent = error.message;
  byId("error").hidden = false;
  byId("state").textContent = "";
}

async function runOne(policy) {
  const { story } = experiment;
  const edited = await ask({ call: "edit", text: scenarioText(story.file), values: valuesOf(experiment, policy) });
  const answer = await ask({ call: "run", text: edited.done, file: "scenario.toml", files: filesOf(experiment) });
  return { policy, text: edited.done, traces: [...experiment.traces.values()], ms: answer.ms, ...curvesOf(answer.done, story) };
}

// What the page shows of a run.
function curvesOf({ interval, summary, delivery, traces, queues, journeys }, story) {
  const sender = traces.find(({ side }) => side === story.sender);
  const received = delivery.find(({ side }) => side !== story.sender);
  const switches = sender.marks.filter(({ event }) => event === "primary");
  const every = Math.max(1, Math.round(BIN / interval));
  const times = merged(received.bytes, every, () => 0).map((_, i) => i * every * interval);
  const rates = (bytes) => merged(bytes, every, (few) => sum(few) * 8 / (few.length * interval) / 1e6);
  const networks = story.networks.map((network, number) => {
    const paths = received.paths.filter(({ local }) => local === network.address);
    const bytes = received.bytes.map((_, i) => sum(paths.map((path) => path.bytes[i] ?? 0)));
    const sent = sender.paths.filter(({ remote }) => remote === network.address);
    const samples = (name) => received.bytes.map((_, i) => largest(sent.map((path) => path[name][i])));
    const downlink = summary.links.filter(({ name }) => name.split("/")[0] === network.link)
      .reduce((a, b) => (b.delivered_bytes > a.delivered_bytes ? b : a)).name;
    const queue = queues.find(({ direction }) => direction === downlink).packets;
    const rate = rates(bytes);
    return {
      name: network.name, bytes, queue, rate,
      ways: journeys.filter(({ local, remote }) => [local, remote].includes(network.address))
        .map((path) => waysOf(path, path.side === story.sender ? "phone" : "server")),
      cwnd: merged(samples("cwnd"), every, (few) => last(few)).map((cwnd) => cwnd === null ? null : cwnd / 1000),
      rtt: merged(samples("rtt"), every, largest).map((rtt) => rtt === null ? null : rtt * 1000),
      queued: merged(queue, every, largest).slice(0, times.length),
      rateAt: (at) => 1e6 * rate[Math.min(Math.floor(at / (every * interval)), rate.length - 1)],
      primaryAt: (at) => (switches.filter((mark) => mark.at <= at).pop()?.to ?? story.networks[0].address) ===
        story.networks[number].address,
    };
  });
  let silence = 0;
  const gaps = received.bytes.map((bytes) => (silence = bytes > 0 ? 0 : silence + interval));
  const total = rates(received.bytes);
  // Not the fastest moment: data that waited for a retransmission is delivered at once.
  const usual = [...total].sort((a, b) => a - b)[Math.floor(total.length * 0.95)];
  return {
    interval, times, networks, total, duration: summary.duration,
    hash: summary.trace_hash,
    // About 80 dots a second.
    dot: Math.max(1, usual * 1e6 / 8 / 80),
    gap: merged(gaps, every, largest).map((gap) => gap * 1000),
    switches: switches.map(({ at }) => at),
    flow: summary.associations[0][story.sender === "server" ? "to_client" : "to_server"],
  };
}

// Showing ------------------------------------------------------------------------------------------------------------

function showRuns() {
  const run = runs[shown];
  scene.show(run);
  ladder.show(run);
  for (const chart of charts) chart.remove();
  const parent = byId("charts");
  const common = { times: run.times, marks: run.switches, height: innerWidth < 600 ? 150 : 170 };
  const perNetwork = (of, more = {}) => run.networks.map((network, i) => (
    { label: network.name, values: network[of], colour: `--network-${i + 1}`, dash: DASHES[i], ...more }));
  const list = [
    { title: "Data delivered to the phone", unit: "Mbps", curves: perNetwork("rate", { fill: true }) },
    { title: "Congestion window", unit: "kB", curves: perNetwork("cwnd") },
    { title: "Round-trip time", unit: "ms", curves: perNetwork("rtt", { spanGaps: true }) },
    { title: "Queue towards the phone", unit: "packets", curves: perNetwork("queued") },
    { title: "Time since the last delivery", unit: "ms", curves: [{ label: run.policy, values: run.gap, colour: `--policy-${shown + 1}`, dash: [] }] },
  ];
  if (runs.length > 1) {
    list.splice(1, 0, {
      title: "The same with each policy", unit: "Mbps",
      curves: runs.map((other, i) => ({ label: other.policy, values: other.total, colour: `--policy-${i + 1}`, dash: DASHES[i] })),
    });
  }
  charts = list.map((chart) => new Chart(parent, { ...common, ...chart }));
  for (const chart of charts) chart.resize(); // the first was measured before the others took their columns
  byId("scrub").max = run.duration;
  showTable();
  showDownload();
  seek(Math.min(time, run.duration));
}

function showTable() {
  const rows = runs.map((run, i) => {
    const choose = make("input", { type: "radio", name: "shown", id: `shown-${i}`, checked: i === shown });
    choose.onchange = () => {
      shown = i;
      showRuns();
      byId(`shown-${i}`).focus();
    };
    const label = make("label", { htmlFor: choose.id, textContent: run.policy });
    label.style.setProperty("--colour", `var(--policy-${i + 1})`);
    label.className = "key";
    const { flow } = run;
    const silence = Math.max(flow.longest_gap, run.duration - (flow.last ?? 0));
    const cells = [
      `${(flow.bytes / 1e6).toFixed(1)} MB`, showRate(flow.goodput),
      run.switches.map((at) => `${at.toFixed(1)} s`).join(", ") || "none",
      silence < 1 ? `${Math.round(silence * 1000)} ms` : `${silence.toFixed(1)} s`,
      flow.retransmitted, flow.timeouts,
    ];
    return make("tr", {}, make("th", { scope: "row" }, choose, label),
      ...cells.map((text) => make("td", { textContent: text })));
  });
  byId("rows").replaceChildren(...rows);
}

const download = (link, text, type) => {
  URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([text], { type }));
};

function showDownload() {
  const run = runs[shown];
  download(byId("download"), run.text, "application/toml");
  byId("hash").textContent = run.hash;
  for (const link of byId("traces").children) URL.revokeObjectURL(link.href);
  byId("traces").replaceChildren(...run.traces.map(({ file, text }) => {
    const link = make("a", { className: "button", textContent: `Download its trace ${file}` });
    link.download = file;
    download(link, text, "text/plain");
    return link;
  }));
  byId("beside").hidden = run.traces.length === 0;
  byId("beside").textContent = "The scenario names its traces: save them in its folder." +
    (tracesFit(experiment) ? "" : ` The link does not hold them, for they are longer than ${MOST_LINK_BYTES / 1e3} kB together.`);
}

function seek(to) {
  time = to;
  const run = runs[shown];
  byId("scrub").value = to;
  byId("clock").textContent = `${to.toFixed(Number(byId("speed").value) < 0.2 ? 3 : 1)} s`;
  byId("scrub").setAttribute("aria-valuetext", `${to.toFixed(1)} seconds`);
  scene.draw(to);
  const speed = Number(byId("speed").value);
  // Who asks for reduced motion gets pictures that change twice a second, not moving ones.
  const still = playing && stillness.matches && to < run.duration;
  ladder.draw(still ? Math.floor(to / speed * 2) / 2 * speed : to, speed);
  map.draw(to);
  for (const chart of charts) chart.seek(to);
  const active = run.networks.find((network) => network.primaryAt(to));
  const total = sum(run.networks.map((network) => network.rateAt(to)));
  byId("now").textContent = `${run.policy}: the server sends over ${active?.name ?? "no network"}; ${showRate(total)} are delivered.`;
}

// Playing ------------------------------------------------------------------------------------------------------------

let frame = 0;
function setPlaying(on) {
  if (runs.length === 0) return;
  playing = on;
  byId("play").textContent = on ? "Pause" : "Play";
  cancelAnimationFrame(frame);
  if (!on) return;
  if (time >= runs[shown].duration) time = 0;
  let before = performance.now();
  const step = (now) => {
    const end = runs[shown].duration;
    // A frame's time may lie before the start, and after a hidden tab far behind the last.
    const passed = Math.min(0.1, Math.max(0, now - before) / 1000);
    seek(Math.min(end, time + passed * Number(byId("speed").value)));
    before = now;
    if (time >= end) setPlaying(false);
    else frame = requestAnimationFrame(step);
  };
  frame = requestAnimationFrame(step);
}

// Controls -----------------------------------------------------------------------------------------------------------

function showStories() {
  byId("stories").replaceChildren(make("legend", { textContent: "Story" }), ...STORIES.map((story) => {
    const choose = make("input", { type: "radio", name: "story", id: `story-${story.id}`, checked: story === experiment.story });
    choose.onchange = () => {
      experiment = freshExperiment(story);
      shown = 0;
      showExperiment();
      runAll({ restart: true });
    };
    return make("span", { className: "choice" }, choose, make("label", { htmlFor: choose.id, textContent: story.title }));
  }));
}

let controls = 0;
async function showExperiment() {
  const mine = ++controls;
  const { story } = experiment;
  byId("about").textContent = story.about;
  map.show(experiment);
  byId("seed").value = experiment.seed;
  showPolicies();
  const text = scenarioText(story.file);
  const fieldsets = await Promise.all(story.networks.map(async (network, i) => {
    const scales = scalesOf(experiment, network);
    const keys = scales.map((scale) => keysOf(network, scale)[0]);
    const read = async (source) => (await ask({ call: "read", text: source, keys })).done;
    const edited = await ask({ call: "edit", text, values: valuesOf(experiment) }).catch(() => ({ done: text }));
    const values = await read(edited.done);
    const fieldset = make("fieldset", {}, make("legend", { textContent: network.name }));
    fieldset.style.setProperty("--colour", `var(--network-${i + 1})`);
    scales.forEach((scale, k) => fieldset.append(slider(network, scale, values[k])));
    if (network.trace !== false) fieldset.append(...traceControls(network, fieldset));
    return fieldset;
  }));
  if (mine === controls) byId("networks").replaceChildren(...fieldsets);
}

function slider(network, name, value) {
  const scale = SCALES[name];
  const id = `${network.link}-${name}`;
  const number = scale.read(value ?? undefined);
  const output = make("output", { htmlFor: id, textContent: scale.show(number) });
  const input = make("input", { type: "range", id, min: 0, max: 1000, step: name === "loss" ? 5 : 1, value: scale.toPosition(number) });
  input.setAttribute("aria-valuetext", scale.show(number));
  input.oninput = () => {
    const chosen = scale.fromPosition(Number(input.value));
    output.textContent = scale.show(chosen);
    input.setAttribute("aria-valuetext", scale.show(chosen));
    for (const key of keysOf(network, name)) {
      if (name === "background" && chosen === 0) experiment.edits.delete(key);
      else experiment.edits.set(key, scale.write(chosen));
    }
    runSoon();
  };
  const label = make("label", { htmlFor: id, textContent: name === "loss" ? network.lossName ?? scale.name : scale.name });
  return make("div", { className: "slider" }, label, output, input);
}

// The controls of a network's trace: a file is chosen or dropped on the network's controls.
function traceControls(network, fieldset) {
  const id = `${network.link}-trace`;
  const trace = experiment.traces.get(network.link);
  const file = make("input", { type: "file", id, accept: ".csv,.trace,.txt,.up,.down,text/plain" });
  file.onchange = () => file.files.length > 0 && loadTrace(network, file.files[0]);
  fieldset.ondragover = (event) => event.preventDefault();
  fieldset.ondrop = (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length > 0) loadTrace(network, event.dataTransfer.files[0]);
  };
  const row = make("div", { className: "row trace" }, make("label", { htmlFor: id, textContent: "Recorded rates (Mahimahi, or CSV)" }), file);
  if (!trace) return [row];
  const about = make("div", { className: "row" }, make("span", { textContent: `follows ${trace.name}` }));
  if (trace.columns.length > 1) {
    const column = make("select", { id: `${id}-column` }, ...trace.columns.map((name) => make("option", { textContent: name })));
    column.value = trace.column;
    column.onchange = () => {
      trace.column = column.value;
      runAll({ restart: false });
    };
    about.append(make("label", {}, "column ", column));
  }
  const remove = make("button", { type: "button", textContent: "Remove the trace" });
  remove.onclick = () => setTrace(network, undefined);
  about.append(remove);
  return [row, about];
}

async function loadTrace(network, file) {
  if (file.size > MOST_TRACE_BYTES) {
    showError(new Error(`${file.name} has ${(file.size / 1e6).toFixed(1)} MB: want a trace of at most ${MOST_TRACE_BYTES / 1e6} MB; cut it`));
    return;
  }
  const mine = experiment;
  const text = await file.text();
  if (mine === experiment) await setTrace(network, traceOf(network.link, file.name, text));
}

async function setTrace(network, trace) {
  trace ? experiment.traces.set(network.link, trace) : experiment.traces.delete(network.link);
  runAll({ restart: false });
  await showExperiment();
  byId(`${network.link}-trace`).focus();
}

let soon = 0;
function runSoon() {
  clearTimeout(soon);
  soon = setTimeout(() => runAll({ restart: false }), 120);
}

function showPolicies() {
  byId("policies").replaceChildren(make("legend", { textContent: `Policies, up to ${MOST_POLICIES}` }),
    ...policiesOf(experiment.story).map(([name, about]) => {
      const choose = make("input", { type: "checkbox", id: `policy-${name}`, checked: experiment.policies.includes(name) });
      choose.onchange = () => {
        const others = experiment.policies.filter((policy) => policy !== name);
        const chosen = choose.checked ? [...others, name] : others;
        if (chosen.length === 0 || chosen.length > MOST_POLICIES) {
          choose.checked = !choose.checked;
          return;
        }
        experiment.policies = chosen;
        runAll({ restart: false });
      };
      return make("div", { className: "policy" }, choose,
        make("label", { htmlFor: choose.id }, make("b", { textContent: name }), ` ${about}`));
    }));
}

byId("play").onclick = () => setPlaying(!playing);
byId("scrub").oninput = () => {
  if (runs.length === 0) return;
  setPlaying(false);
  seek(Number(byId("scrub").value));
};
byId("speed").onchange = () => {
  byId("scrub").step = Math.max(0.0005, Number(byId("speed").value) / 20);
  if (runs.length > 0) seek(time);
};
byId("seed").onchange = () => {
  const seed = Number(byId("seed").value);
  if (!Number.isSafeInteger(seed) || seed < 0) {
    byId("seed").value = experiment.seed;
    return;
  }
  experiment.seed = seed;
  runAll({ restart: false });
};
byId("copy").onclick = async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    byId("copy").textContent = "Copied";
  } catch {
    byId("copy").textContent = "Copy it from the address bar";
  }
  setTimeout(() => (byId("copy").textContent = "Copy link"), 2000);
};
addEventListener("hashchange", () => {
  experiment = experimentFromHash(location.hash);
  start();
});
addEventListener("resize", () => {
  for (const chart of charts) chart.resize();
  if (runs.length > 0) seek(time);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => runs.length > 0 && showRuns());

function start() {
  showStories();
  runAll({ restart: true });
  showExperiment().catch(() => {}); // runAll shows the fault
}
start();
