// The qlog viewer in headless Chromium: it shows every path and every move of a capture, and says what is wrong with other files.
//
//   node web/test/viewer.mjs PROGRAM [FOLDER]     FOLDER gets screenshots; run scripts/playground first
//
// The captures are one that msctp-lab sim writes and, if it is there, the one that the test of bench/handover leaves in target/tmp.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { FILE, choose, evaluate, faults, folder, key, picture, send, size, stop, theme, until } from "./chromium.mjs";
import { ROOT } from "./simulator.mjs";

const program = process.argv[2];
const BENCH = join(ROOT, "target/tmp/qlog/slow-up-make-before-break-0.sqlog");
const texts = (id) => evaluate(`[...document.querySelectorAll("#${id} tr")].map((row) => [...row.cells].map((cell) => cell.textContent))`);

// Opens a capture and compares what the page shows of each end with the capture's records.
async function compare(log, ends) {
  const records = readFileSync(log, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line.slice(1)));
  await choose("file", log);
  await until("the log is shown", `!document.getElementById("log").hidden && document.getElementById("state").textContent.endsWith("${records.length - 1} events")`);
  const groups = await evaluate("ends.map(({ group }) => group)");
  assert.deepEqual([...groups].sort(), ends);
  for (const [i, group] of groups.entries()) {
    await evaluate(`document.getElementById("end").value = ${i}; document.getElementById("end").onchange()`);
    const own = records.filter(({ group_id }) => group_id === group);
    const tuples = [...new Set(own.map(({ tuple }) => tuple).filter((tuple) => tuple !== undefined))];
    assert.ok(tuples.length >= 2, `${group} has the paths ${tuples}`);
    assert.deepEqual((await texts("paths")).map(([path]) => path), tuples);
    const moves = own.filter(({ name }) => name === "msctp:primary")
      .map(({ time, data }) => [data.to, `${(time / 1000).toFixed(3)} s`, data.from ?? "", data.cause]);
    assert.ok(moves.length > 0);
    assert.deepEqual(await texts("moves"), moves);
    console.log(`${records[0].title ?? log}, ${group}: ${tuples.length} paths; to ${moves.map(([to, at]) => `${to} at ${at}`).join(", ")}`);
  }
  await evaluate("document.getElementById('end').value = ends.findIndex(({ group }) => group.includes('server')); document.getElementById('end').onchange()");
  const top = await evaluate("charts.map(({ plot }) => Math.max(...plot.data.slice(1).flat().filter((value) => value !== null)))");
  assert.ok(top[0] > 20 && top[1] > 20 && top[2] > 1, `window, round trip, rate: ${top}`);
  assert.ok(await evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window");
}

try {
  await size(1280, 900);
  await send("Page.navigate", { url: FILE.replace("index.html", "viewer.html") });
  await until("the viewer", "typeof openFile !== 'undefined'");
  const log = join(folder, "handover.sqlog");
  execFileSync(program, ["sim", join(ROOT, "scenarios/handover.toml"), "--qlog", log]);
  await compare(log, ["download/client", "download/server"]);
  await picture("viewer-sim");
  // The keys choose the end.
  const before = await evaluate("document.getElementById('end').focus(); document.getElementById('end').value");
  await key(before === "0" ? "ArrowDown" : "ArrowUp", before === "0" ? 40 : 38);
  await until("the other end", `document.getElementById("end").value !== "${before}"`);
  if (existsSync(BENCH)) {
    await compare(BENCH, ["mobile.0", "server.0"]);
    for (const [name, width, scheme] of [["desktop", 1280, "light"], ["tablet", 820, "dark"], ["phone", 375, "light"]]) {
      await size(width, 900);
      await theme(scheme);
      await compare(BENCH, ["mobile.0", "server.0"]);
      await picture(`viewer-${name}`);
    }
  } else {
    console.log(`no capture of bench/handover: its test writes ${BENCH}`);
  }
  await choose("file", join(ROOT, "scenarios/walk.toml"));
  await until("the fault is shown", "!document.getElementById('error').hidden");
  assert.match(await evaluate("document.getElementById('error').textContent"), /^walk\.toml: line 1 is not JSON/);
  assert.deepEqual(faults, [], "the console has no errors");
} finally {
  await stop();
}
