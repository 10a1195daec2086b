// Compares the trace hash of the page's WebAssembly module with that of `msctp-lab sim`, for every story and for changed
// experiments, and checks that each story's run shows what its text says.
//
//   node web/test/hash.mjs PROGRAM     PROGRAM is the msctp binary; run scripts/playground first

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { ROOT, model, simulator } from "./simulator.mjs";

const program = process.argv[2];
const ask = simulator();
const { STORIES, experimentFromHash, hashOf, freshExperiment, valuesOf, variantsOf, variantOf, slidersOf, filesOf, keysOf, traceOf, tracesFit, positionAt, SCALES } = model();
const folder = mkdtempSync(join(tmpdir(), "msctp-playground-"));
const done = (answer) => {
  assert.equal(answer.error, undefined);
  return answer.done;
};

const runs = new Map(); // the trace hash of each scenario text that ran

// Runs an experiment with one policy or variant in the module, and its download with `msctp-lab sim`. Both must have the same
// hash.
async function compare(experiment, policy) {
  const original = readFileSync(`${ROOT}/${experiment.story.file}`, "utf8");
  const text = done(await ask({ call: "edit", text: original, values: valuesOf(experiment, policy) }));
  const file = join(folder, "scenario.toml");
  writeFileSync(file, text);
  const files = filesOf(experiment);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const outcome = done(await ask({ call: "run", text, file: "scenario.toml", files }));
  const here = outcome.summary;
  const there = JSON.parse(execFileSync(program, ["sim", file, "--json", "--hash"], { maxBuffer: 1 << 26 }));
  assert.equal(here.trace_hash, there.trace_hash, `${hashOf(experiment)}, ${policy}`);
  assert.equal(here.packets, there.packets);
  assert.ok(moves(experiment.story, policy, here), `${hashOf(experiment)} has no handover`);
  runs.set(`${experiment.story.file}\n${text}`, `${experiment.story.file} ${here.trace_hash}`);
  console.log(`${here.trace_hash.slice(0, 16)}  ${experiment.story.id}, ${policy}, seed ${experiment.seed}: ${here.packets} packets`);
  return { ...here, outcome };
}

// Returns whether the run moves to another network if its story promises that. Three kinds of run do not: "useless" when
// the changed experiment removes its losses, TCP on one address, and a story with a single network.
function moves({ id, networks }, policy, { associations, mobile_ip: mobileIp }) {
  if (id === "useless" || policy === "tcp" || networks.length === 1) return true;
  return (networks[0].agent ? mobileIp.mobiles[0].handovers : associations[0].handovers).length > 0;
}

const flows = {}; // by story and variant: the counters of the flow that the story shows, and of its video
for (const story of STORIES) {
  for (const policy of story.policies) {
    const summary = await compare(freshExperiment(story), policy);
    const name = variantOf(story, policy).flow ?? story.flow ?? summary.associations[0].name;
    const flow = [...summary.associations, ...summary.tcp].find((candidate) => candidate.name === name);
    const { messages, traces, interval } = summary.outcome;
    flows[`${story.id} ${policy}`] = { ...(story.sender === "server" ? flow.to_client : flow.to_server), messages, traces, interval };
  }
  // Move every slider: each of its keys can be set in the scenario, and the address keeps every value.
  const changed = freshExperiment(story);
  changed.seed = 7;
  for (const network of story.networks) {
    for (const name of slidersOf(network)) {
      const scale = SCALES[name];
      for (const key of keysOf(network, name)) changed.edits.set(key, scale.write(scale.fromPosition(name === "loss" ? 50 : 400)));
    }
  }
  const again = experimentFromHash(hashOf(changed));
  assert.deepEqual([...again.edits], [...changed.edits]);
  await compare(again, variantsOf(story).at(-1).id);
}

// Returns the longest delay of the messages that the flow's first video generated in the 10 s after a time.
const delay = ({ messages: [{ generated, took }] }, at) => Math.max(...took.filter((_, i) => generated[i] >= at && generated[i] < at + 10));
// Returns the largest window of the server's path from an address in the 50 s after a time.
const window = ({ traces, interval }, local, at) => Math.max(...traces.find(({ side }) => side === "server").paths
  .find((path) => path.local === local).cwnd.slice(at / interval, (at + 50) / interval));

// Each story's text names an effect. The runs must show it.
const silence = ({ longest_gap_s: gap, last_s: last }) => Math.max(gap, 20 - last);
const told = {
  walk: flows["walk conservative"].longest_gap_s < 1,
  cut: flows["cut conservative"].retransmitted > 0,
  window: flows["window inherit"].retransmitted > flows["window conservative"].retransmitted,
  upgrade: flows["upgrade anticipate"].bytes > flows["upgrade conservative"].bytes,
  "kim-koh": flows["kim-koh adaptive"].bytes > flows["kim-koh conservative"].bytes + 40_000,
  useless: silence(flows["useless anticipate"]) < 1 && silence(flows["useless conservative"]) > 5,
  map: flows["map conservative"].longest_gap_s < 0.5,
  tcp: flows["tcp tcp"].last_s < 12.1 && flows["tcp tcp"].timeouts > 2 && flows["tcp sctp"].longest_gap_s < 0.5 && flows["tcp sctp"].last_s > 19.9,
  "fu-atiquzzaman": flows["fu-atiquzzaman sctp"].bytes > flows["fu-atiquzzaman sack"].bytes &&
    flows["fu-atiquzzaman sctp"].bytes > flows["fu-atiquzzaman reno"].bytes,
  afif: window(flows["afif extended"], "10.0.1.1", 703) < 30_000 && window(flows["afif standard"], "10.0.1.1", 703) > 60_000,
  eklund: delay(flows["eklund packets-3"], 60) > 2.4 && delay(flows["eklund packets-10"], 60) < 1.7 && delay(flows["eklund no-limit"], 60) < 0.6,
  "park-jang-wlan": flows["park-jang-wlan told-apart"].bytes > 1.3 * flows["park-jang-wlan standard"].bytes,
  "park-jang-lte": flows["park-jang-lte told-apart"].bytes > 1.1 * flows["park-jang-lte standard"].bytes,
};
for (const { id } of STORIES) assert.ok(told[id], `the story ${id} does not show what its text says`);

// 15 Mbps of background traffic leave the download 5 of Wi-Fi's 20 Mbps until the switch at 10 s.
const bytes = ({ associations }) => associations[0].to_client.bytes;
const busy = freshExperiment(STORIES[0]);
busy.edits.set("app.background-wifi.rate", SCALES.background.write(15e6));
const [alone, shared] = [await compare(freshExperiment(STORIES[0]), "conservative"), await compare(busy, "conservative")];
assert.ok(bytes(shared) < bytes(alone) - 10 * 15e6 / 8 * 0.8, `${bytes(shared)} of ${bytes(alone)} bytes beside background traffic`);

// Load a trace of each format: Mahimahi's on the first network, a table on the second. The link then has no rate of its
// own, and the address holds both traces, because they are short.
const mahimahi = Array.from({ length: 100 }, (_, i) => `${(i + 1) * 4}\n`).join(""); // 1500 bytes in 4 ms: 3 Mbps
const table = readFileSync(`${ROOT}/scenarios/traces/sample-two-networks.csv`, "utf8");
for (const story of STORIES.filter(({ networks }) => networks.every(({ trace }) => trace !== false))) {
  const traced = freshExperiment(story);
  const [first, second] = story.networks.map(({ link }) => link);
  traced.traces.set(first, traceOf(first, "up link.trace", mahimahi));
  traced.traces.set(second, traceOf(second, "drive.csv", table, "lte"));
  for (const [name, scale] of Object.entries(SCALES)) {
    for (const key of keysOf(story.networks[0], name)) traced.edits.set(key, scale.write(scale.fromPosition(10)));
  }
  const again = experimentFromHash(hashOf(traced));
  assert.deepEqual([...again.traces], [...traced.traces]);
  const result = await compare(again, variantsOf(story)[0].id);
  assert.equal(Object.keys(filesOf(again)).join(), `${first}-up-link.trace,${second}-drive.csv`);
  const forward = result.links.find(({ name }) => name === `${first}/forward`);
  assert.ok(forward.delivered_bytes * 8 <= 3.01e6 * result.duration_s, `${forward.delivered_bytes} bytes over a trace of 3 Mbps`);
}

// The map shows the scenario's cells and walk. A walk that is drawn on it is in the address and in the download.
const mapped = STORIES.find(({ map }) => map);
const ground = readFileSync(`${ROOT}/${mapped.file}`, "utf8");
const { cells, node } = mapped.map;
const places = [...cells.map(({ name }) => `node.${name}.position`), ...mapped.networks.map(({ link }) => `link.${link}.radio.coverage`)];
assert.deepEqual(done(await ask({ call: "read", text: ground, keys: [...places, `node.${node}.position`, `node.${node}.waypoints`] })),
  [...cells.map(({ at }) => `[${at.join(", ")}]`), ...cells.map(({ reach }) => `${reach}`), `[${mapped.map.walk.points[0].join(", ")}]`,
    `[{ at = "2s", to = [${mapped.map.walk.points[1].join(", ")}], speed = ${mapped.map.walk.speed} }]`]);
const strolled = freshExperiment(mapped);
strolled.walk = { speed: 5, points: [[20, 20], [100, 90], [140, 20], [20, 20]] };
assert.deepEqual(positionAt(strolled.walk, 1), [20, 20]);
assert.deepEqual(positionAt(strolled.walk, 99), [20, 20]);
assert.deepEqual(positionAt({ speed: 5, points: [[0, 0], [30, 40]] }, 7).map(Math.round), [15, 20]);
const stroll = experimentFromHash(hashOf(strolled));
assert.deepEqual(stroll.walk, strolled.walk);
const [straight, around] = [await compare(freshExperiment(mapped), "conservative"), await compare(stroll, "conservative")];
// The walk around passes (100, 90), which is out of reach of both cells: the download stops there.
assert.ok(straight.associations[0].to_client.longest_gap_s < 0.5 && around.associations[0].to_client.longest_gap_s > 5);
for (const broken of ["0:1,2;3,4", "5:1,2;1,2", "5:1,2,3", "5:999,0;0,0", "5", "x"]) {
  assert.equal(experimentFromHash(`#story=map&walk=${broken}`).walk, mapped.map.walk, `the address's walk ${broken} is ignored`);
}

// A long trace is not in the address. An invalid trace is rejected with its line.
const long = freshExperiment(STORIES[0]);
long.traces.set("wifi", traceOf("wifi", "long.trace", mahimahi.repeat(60)));
assert.ok(!tracesFit(long) && hashOf(long).length < 200, "the address does not hold a long trace");
long.traces.set("wifi", traceOf("wifi", "bad.trace", "4\nx\n"));
const bad = done(await ask({ call: "edit", text: readFileSync(`${ROOT}/${long.story.file}`, "utf8"), values: valuesOf(long) }));
assert.match((await ask({ call: "run", text: bad, file: "x.toml", files: filesOf(long) })).error, /wifi-bad\.trace:.*2/);
assert.equal(new Set(runs.values()).size, runs.size, "different experiments with one scenario have different hashes");

// An edit without values returns the scenario byte by byte. Invalid scenarios are rejected with the file's name.
const walk = readFileSync(`${ROOT}/scenarios/walk.toml`, "utf8");
assert.equal(done(await ask({ call: "edit", text: walk, values: [] })), walk);
assert.match((await ask({ call: "run", text: "name = 1", file: "x.toml" })).error, /^x\.toml: /);
assert.match((await ask({ call: "run", text: `${walk}\n[sctp.safe]\nprotection = "psk"\n`, file: "x.toml" })).error, /not available in a browser/);

const page = ["index.html", "simulator.wasm.gz"].map((name) => readFileSync(`${ROOT}/target/playground/site/${name}`));
const compressed = gzipSync(page[0]).length + page[1].length;
assert.ok(compressed < 3e6, `the page has ${compressed} bytes compressed`);
console.log(`the page has ${Math.round(compressed / 1000)} kB compressed`);
rmSync(folder, { recursive: true });
console.log(`${runs.size} scenarios: the same hash in WebAssembly and from ${program}`);
