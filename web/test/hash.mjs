// A scenario has the same hash in the page's WebAssembly module and from `msctp sim`.
//
//   node web/test/hash.mjs PROGRAM     PROGRAM is msctp; scripts/playground has run

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { ROOT, model, simulator } from "./simulator.mjs";

const program = process.argv[2];
const ask = simulator();
const { STORIES, experimentFromHash, hashOf, freshExperiment, valuesOf, filesOf, keysOf, traceOf, tracesFit, positionAt, SCALES } = model();
const folder = mkdtempSync(join(tmpdir(), "msctp-playground-"));
const done = (answer) => {
  assert.equal(answer.error, undefined);
  return answer.done;
};

// Runs what the page would run and download.
async function compare(experiment, policy) {
  const original = readFileSync(`${ROOT}/${experiment.story.file}`, "utf8");
  const text = done(await ask({ call: "edit", text: original, values: valuesOf(experiment, policy) }));
  const file = join(folder, "scenario.toml");
  writeFileSync(file, text);
  const files = filesOf(experiment);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const here = done(await ask({ call: "run", text, file: "scenario.toml", files })).summary;
  const there = JSON.parse(execFileSync(program, ["sim", file, "--json", "--hash"], { maxBuffer: 1 << 26 }));
  assert.equal(here.trace_hash, there.trace_hash, `${hashOf(experiment)}, ${policy}`);
  assert.equal(here.packets, there.packets);
  // Without the losses of its story, Wi-Fi that is there is not useless.
  assert.ok(here.associations[0].handovers.length > 0 || experiment.story.id === "useless", `${hashOf(experiment)} has no handover`);
  console.log(`${here.trace_hash.slice(0, 16)}  ${experiment.story.id}, ${policy}, seed ${experiment.seed}: ${here.packets} packets`);
  return { hash: here.trace_hash, summary: here };
}

const hashes = [];
const flows = {}; // by story and policy: what the phone received
for (const story of STORIES) {
  for (const policy of story.policies) {
    const { hash, summary } = await compare(freshExperiment(story), policy);
    hashes.push(hash);
    flows[`${story.id} ${policy}`] = summary.associations[0].to_client;
  }
  // Every slider's key exists or can be created, and the hash of the address keeps the experiment.
  const changed = freshExperiment(story);
  changed.seed = 7;
  for (const network of story.networks) {
    for (const [name, scale] of Object.entries(SCALES)) {
      for (const key of keysOf(network, name)) changed.edits.set(key, scale.write(scale.fromPosition(name === "loss" ? 50 : 400)));
    }
  }
  const again = experimentFromHash(hashOf(changed));
  assert.deepEqual([...again.edits], [...changed.edits]);
  hashes.push((await compare(again, story.choices?.at(-1) ?? "anticipate")).hash);
}

// What a story's sentence says is in its run.
const silence = ({ longest_gap: gap, last }) => Math.max(gap, 20 - last);
const told = {
  walk: flows["walk conservative"].longest_gap < 1,
  cut: flows["cut conservative"].retransmitted > 0,
  window: flows["window inherit"].retransmitted > flows["window conservative"].retransmitted,
  upgrade: flows["upgrade anticipate"].bytes > flows["upgrade conservative"].bytes,
  "kim-koh": flows["kim-koh adaptive"].bytes > flows["kim-koh conservative"].bytes + 40_000,
  useless: silence(flows["useless anticipate"]) < 1 && silence(flows["useless conservative"]) > 5,
  map: flows["map conservative"].longest_gap < 0.5,
};
for (const { id } of STORIES) assert.ok(told[id], `the story ${id} does not show what it says: ${JSON.stringify(flows)}`);

// Background traffic takes its rate from the download: 15 of 20 Mbps until the switch at 10 s.
const bytes = ({ summary }) => summary.associations[0].to_client.bytes;
const busy = freshExperiment(STORIES[0]);
busy.edits.set("app.background-wifi.rate", SCALES.background.write(15e6));
const [alone, shared] = [await compare(freshExperiment(STORIES[0]), "conservative"), await compare(busy, "conservative")];
assert.ok(bytes(shared) < bytes(alone) - 10 * 15e6 / 8 * 0.8, `${bytes(shared)} of ${bytes(alone)} bytes beside background traffic`);
hashes.push(shared.hash);

// Traces in both formats. A story's links lose the keys that a trace does not have; the address keeps a trace that is short.
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
  const result = await compare(again, "conservative");
  hashes.push(result.hash);
  assert.equal(Object.keys(filesOf(again)).join(), `${first}-up-link.trace,${second}-drive.csv`);
  const forward = result.summary.links.find(({ name }) => name === `${first}/forward`);
  assert.ok(forward.delivered_bytes * 8 <= 3.01e6 * result.summary.duration, `${forward.delivered_bytes} bytes over a trace of 3 Mbps`);
}
// Walks on the map. The map is the scenario's, and the walk of the address and the download is the one that was drawn.
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
hashes.push(around.hash);
// Between the cells nothing arrives: (100, 90) is more than 100 m from both.
assert.ok(straight.summary.associations[0].to_client.longest_gap < 0.5 && around.summary.associations[0].to_client.longest_gap > 5);
for (const broken of ["0:1,2;3,4", "5:1,2;1,2", "5:1,2,3", "5:999,0;0,0", "5", "x"]) {
  assert.equal(experimentFromHash(`#story=map&walk=${broken}`).walk, mapped.map.walk);
}

const long = freshExperiment(STORIES[0]);
long.traces.set("wifi", traceOf("wifi", "long.trace", mahimahi.repeat(60)));
assert.ok(!tracesFit(long) && hashOf(long).length < 200, "the address does not hold a long trace");
long.traces.set("wifi", traceOf("wifi", "bad.trace", "4\nx\n"));
const bad = done(await ask({ call: "edit", text: readFileSync(`${ROOT}/${long.story.file}`, "utf8"), values: valuesOf(long) }));
assert.match((await ask({ call: "run", text: bad, file: "x.toml", files: filesOf(long) })).error, /wifi-bad\.trace:.*2/);
assert.equal(new Set(hashes).size, hashes.length, "different experiments have different hashes");

// Nothing changed: the scenario's own bytes.
const walk = readFileSync(`${ROOT}/scenarios/walk.toml`, "utf8");
assert.equal(done(await ask({ call: "edit", text: walk, values: [] })), walk);
assert.match((await ask({ call: "run", text: "name = 1", file: "x.toml" })).error, /^x\.toml: /);
assert.match((await ask({ call: "run", text: `${walk}\n[sctp.safe]\nprotection = "psk"\n`, file: "x.toml" })).error, /not available in a browser/);
const page = ["index.html", "simulator.wasm.gz"].map((name) => readFileSync(`${ROOT}/target/playground/site/${name}`));
const compressed = gzipSync(page[0]).length + page[1].length;
assert.ok(compressed < 3e6, `the page has ${compressed} bytes compressed`);
console.log(`the page has ${Math.round(compressed / 1000)} kB compressed`);
rmSync(folder, { recursive: true });
console.log(`${hashes.length} runs: the same hash in WebAssembly and from ${program}`);
