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
      if (first) time = experiment.story.from ?? Math.max(0, (runs[0].switches[0] ?? 0) - LEAD);
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
  const variant = variantOf(story, policy);
  const edited = await ask({ call: "edit", text: scenarioText(story.file), values: valuesOf(experiment, policy) });
  const answer = await ask({ call: "run", text: edited.done, file: "scenario.toml", files: filesOf(experiment) });
  const traces = [...experiment.traces.values()];
  return { policy: variant.label, text: edited.done, traces, ms: answer.ms, ...curvesOf(answer.done, story, variant) };
}

// The mobile's stays in the cells of Mobile IP agents: when they begin, and with which agent.
const staysOf = (summary) => (summary.mobile_ip?.mobiles[0].handovers ?? []).map(({ at_s: at, to }) => ({ at, agent: to }));

// The part of a path's journeys that departed while `present` is true.
function during(path, present) {
  const some = { ...path, sent: [], took: [], kinds: "" };
  let [at, before] = [0, 0];
  path.sent.forEach((since, i) => {
    at += since;
    if (!present(at / 1e6)) return;
    some.sent.push(at - before);
    some.took.push(path.took[i]);
    some.kinds += path.kinds[i];
    before = at;
  });
  return some;
}

// What the page shows of a run.
function curvesOf({ interval, summary, delivery, traces, queues, journeys, messages }, story, variant) {
  const flow = variant.flow ?? story.flow ?? summary.associations[0].name;
  const sender = traces.find(({ association, side }) => association === flow && side === story.sender);
  const received = delivery.find(({ association, side }) => association === flow && side !== story.sender);
  const every = Math.max(1, Math.round(BIN / interval));
  const times = merged(received.bytes, every, () => 0).map((_, i) => i * every * interval);
  const rates = (bytes) => merged(bytes, every, (few) => sum(few) * 8 / (few.length * interval) / 1e6);
  const sampled = (values, merge, scale = 1) =>
    merged(values, every, merge).slice(0, times.length).map((value) => (value === null ? null : value * scale));
  const stays = staysOf(summary);
  const primaries = sender.marks.filter(({ event }) => event === "primary");
  const switches = story.networks[0].agent ? stays : primaries;
  const networks = story.networks.map((network, number) => {
    const own = ({ local, remote }) => network.agent !== undefined || [local, remote].includes(network.address);
    // Is this where the sender sends? Before the first switch it sends over the first network.
    const primaryAt = (at) => {
      const latest = switches.filter((mark) => mark.at <= at).pop();
      if (latest === undefined) return number === 0 && (network.agent !== undefined || sender.paths.some(own));
      return network.agent ? latest.agent === network.agent : own(latest);
    };
    // A flow has the same addresses in every agent's cell: it is shown in the cell where the mobile is.
    const present = network.agent ? primaryAt : () => true;
    const masked = (values, absent) => values.map((value, i) => (present(i * interval) ? value : absent));
    const bytes = masked(received.bytes.map((_, i) => sum(received.paths.filter(own).map((path) => path.bytes[i] ?? 0))), 0);
    const sent = sender.paths.filter(own);
    const samples = (name) => masked(received.bytes.map((_, i) => largest(sent.map((path) => path[name][i]))), null);
    const direction = summary.links.filter(({ name }) => name.split("/")[0] === (network.queue ?? network.link))
      .reduce((a, b) => (b.delivered_bytes > a.delivered_bytes ? b : a)).name;
    const packets = queues.find((queue) => queue.direction === direction).packets;
    // Networks may have a queue in common: each shows it while data is sent over it.
    const queue = network.queue ? packets.map((length, i) => (primaryAt(i * interval) ? length : null)) : packets;
    const rate = rates(bytes);
    return {
      name: network.name, bytes, queue, rate, primaryAt,
      ways: journeys.filter((path) => path.association === flow && own(path))
        .map((path) => waysOf(during(path, present), path.side === "server" ? "phone" : "server")),
      cwnd: sampled(samples("cwnd"), last, 1e-3),
      rtt: sampled(samples("rtt"), largest, 1e3),
      queued: sampled(queue, largest),
      rateAt: (at) => 1e6 * rate[Math.min(Math.floor(at / (every * interval)), rate.length - 1)],
    };
  });
  let silence = null; // before the first delivery
  const gaps = received.bytes.map((bytes) => (silence = bytes > 0 ? 0 : silence === null ? null : silence + interval));
  const total = rates(received.bytes);
  // Not the fastest moment: data that waited for a retransmission is delivered at once.
  const usual = [...total].sort((a, b) => a - b)[Math.floor(total.length * 0.95)];
  const { to_client, to_server } = [...summary.associations, ...summary.tcp].find(({ name }) => name === flow);
  return {
    interval, times, networks, total, duration: summary.duration_s,
    sender: story.sender,
    tcp: !summary.associations.some(({ name }) => name === flow),
    hash: summary.trace_hash,
    // About 80 dots a second.
    dot: Math.max(1, usual * 1e6 / 8 / 80),
    gap: sampled(gaps, largest, 1e3),
    cwnd: times.map((at, i) => (networks.find(({ primaryAt }) => primaryAt(at)) ?? networks[0]).cwnd[i] ?? null),
    delay: delaysOf(messages.find(({ app }) => app === story.video), times),
    switches: switches.map(({ at }) => at),
    flow: story.sender === "server" ? to_client : to_server,
  };
}

// The longest delay in ms of the messages that were generated in each interval and delivered.
function delaysOf(messages, times) {
  const delays = times.map(() => null);
  messages?.generated.forEach((at, i) => {
    const bin = Math.min(times.length - 1, Math.floor(at / times[1]));
    if (messages.took[i] !== null) delays[bin] = Math.max(delays[bin] ?? 0, messages.took[i] * 1000);
  });
  return delays;
}

// Showing ------------------------------------------------------------------------------------------------------------

const COMPARED = {
  total: { title: "Data delivered in each run", unit: "Mbps" },
  gap: { title: "Time since the last delivery in each run", unit: "ms" },
  cwnd: { title: "Congestion window in each run", unit: "kB" },
  delay: { title: "Delay of the messages in each run", unit: "ms" },
};

function showRuns() {
  const run = runs[shown];
  scene.show(run);
  ladder.show(run);
  for (const chart of charts) chart.remove();
  const parent = byId("charts");
  const common = { times: run.times, marks: run.switches, height: innerWidth < 600 ? 150 : 170 };
  const perNetwork = (of, more = {}) => run.networks.map((network, i) => (
    { label: network.name, values: network[of], colour: `--network-${i + 1}`, dash: DASHES[i], ...more }));
  const receiver = run.sender === "server" ? "phone" : "server";
  let list = [
    { title: `Data delivered to the ${receiver}`, unit: "Mbps", curves: perNetwork("rate", { fill: true }) },
    { title: "Congestion window", unit: "kB", curves: perNetwork("cwnd") },
    { title: "Round-trip time", unit: "ms", curves: perNetwork("rtt", { spanGaps: true }) },
    { title: `Queue towards the ${receiver}`, unit: "packets", curves: perNetwork("queued") },
    { title: "Time since the last delivery", unit: "ms", curves: [{ label: run.policy, values: run.gap, colour: `--policy-${shown + 1}`, dash: [] }] },
  ];
  // The curves that are drawn for all runs follow the first chart; what one run can show alone is not drawn twice.
  const { story } = experiment;
  const compared = (story.compare ?? ["total"]).filter((curve) => runs.length > 1 || curve === "delay");
  list.splice(1, 0, ...compared.map((curve) => ({
    ...COMPARED[curve],
    curves: runs.map((other, i) => ({ label: other.policy, values: other[curve], colour: `--policy-${i + 1}`, dash: DASHES[i], spanGaps: true })),
  })));
  if (compared.includes("gap")) list.pop();
  if (compared.includes("cwnd") && run.networks.length === 1) list = list.filter(({ title }) => title !== "Congestion window");
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
    const silence = Math.max(flow.longest_gap_s, run.duration - (flow.last_s ?? 0));
    const cells = [
      `${(flow.bytes / 1e6).toFixed(1)} MB`, showRate(flow.goodput_bps),
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
  byId("now").textContent = `${run.policy}: the ${run.sender === "server" ? "server" : "phone"} sends over ` +
    `${active?.name ?? "no network"}; ${showRate(total)} are delivered.`;
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
  for (const [id, paper, legend] of [["stories", false, "Story"], ["papers", true, "A paper's figure"]]) {
    byId(id).replaceChildren(make("legend", { textContent: legend }), make("div", { className: "row" },
      ...STORIES.filter((story) => Boolean(story.paper) === paper).map((story) => {
        const choose = make("input", { type: "radio", name: "story", id: `story-${story.id}`, checked: story === experiment.story });
        choose.onchange = () => {
          experiment = freshExperiment(story);
          start(false);
        };
        return make("span", { className: "choice" }, choose, make("label", { htmlFor: choose.id, textContent: story.title }));
      })));
    // The list scrolls on a phone.
    const chosen = byId(`story-${experiment.story.id}`)?.closest(".choice");
    if (chosen) chosen.parentElement.scrollLeft = chosen.offsetLeft - chosen.parentElement.offsetLeft - 40;
  }
}

let controls = 0;
async function showExperiment() {
  const mine = ++controls;
  const { story } = experiment;
  byId("about").textContent = story.about;
  const word = story.word ?? "policy";
  byId("results").textContent = `Each ${word} with the same seed`;
  byId("word").textContent = word;
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
  byId("policies").replaceChildren(make("legend", { textContent: `Side by side, up to ${MOST_POLICIES}` }),
    ...variantsOf(experiment.story).map(({ id: name, label, about }) => {
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
        make("label", { htmlFor: choose.id }, make("b", { textContent: label }), ` ${about}`));
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
  if (runs.length > 0) seek(Math.min(time, runs[shown].duration));
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

// Shows and runs a new experiment. The stories' own controls stay if one of them started it: it keeps the focus.
function start(withStories = true) {
  shown = 0;
  if (withStories) showStories();
  byId("speed").value = experiment.story.speed ?? "1";
  byId("scrub").step = Math.max(0.0005, Number(byId("speed").value) / 20);
  runAll({ restart: true });
  showExperiment().catch(() => {}); // runAll shows the fault
}
start();
