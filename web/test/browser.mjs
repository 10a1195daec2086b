// The page in headless Chromium: it plays a handover, its hash is that of `msctp-lab sim`, the console has no errors.
//
//   node web/test/browser.mjs PROGRAM [FOLDER]     FOLDER gets screenshots; scripts/playground has run

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { FILE, choose, evaluate, faults, folder, key, open, picture, send, size, stop, theme, until, workerSeconds } from "./chromium.mjs";
import { served } from "./served.mjs";
import { ROOT } from "./simulator.mjs";

const program = process.argv[2];

// The hash that `msctp-lab sim` prints for what the page offers for download.
async function hashOfDownload() {
  const files = await evaluate(`Promise.all([...document.querySelectorAll("#download, #traces a")].map(async (link) =>
    [link.download, await (await fetch(link.href)).text()]))`);
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
  return JSON.parse(execFileSync(program, ["sim", join(folder, files[0][0]), "--json", "--hash"])).trace_hash;
}
const shownHash = () => evaluate("document.getElementById('hash').textContent");

try {
  // It plays by itself and begins at most a second before the switch.
  await size(1280, 900);
  await open();
  const start = await evaluate("({ time, playing, speed: document.getElementById('speed').value, at: runs[0].switches[0] })");
  assert.ok(start.playing && start.speed === "1" && start.at - start.time <= 1.01, JSON.stringify(start));
  await until("the switch is played", "time > runs[0].switches[0]", 30);
  const after = await evaluate("performance.now()");
  await until("the text names the new network", "document.getElementById('now').textContent.includes('over LTE')", 5);
  console.log(`the switch was played ${Math.round(after)} ms after the page was opened`);
  console.log(await evaluate("document.getElementById('state').textContent"));

  // The download has the page's hash.
  const there = await hashOfDownload();
  assert.equal(await shownHash(), there);

  // On a web server the page has its module beside it.
  const { address, stop: stopServer } = await served();
  await open("", "runs.length > 0", address);
  assert.equal(await evaluate("document.getElementById('hash').textContent"), there);
  stopServer();
  await open();

  // Keys: the scrub bar stops the play and moves time; a slider runs the experiment again and enters the address.
  await evaluate("document.getElementById('scrub').focus()");
  const before = await evaluate("time");
  await key("ArrowLeft", 37);
  assert.ok(await evaluate(`!playing && time < ${before} + 0.5`));
  await evaluate("document.getElementById('wifi-rate').focus()");
  await key("Home", 36);
  await until("the run with the slider's rate", `document.getElementById('hash').textContent !== "${there}"`);
  assert.match(await evaluate("decodeURIComponent(location.hash)"), /link\.wifi\.rate="100kbps"/);
  const changed = await evaluate("[location.hash, document.getElementById('hash').textContent]");
  await open(changed[0]);
  assert.equal(await evaluate("document.getElementById('hash').textContent"), changed[1], "the address holds the experiment");

  // Background traffic, by a slider; recorded rates, from a file that the link holds. The download has both.
  await open("#story=walk&policies=conservative");
  await evaluate("document.getElementById('wifi-background').focus()");
  await key("End", 35);
  await until("the run with background traffic", `document.getElementById('hash').textContent !== "${there}"`);
  const loaded = await shownHash();
  assert.equal(await hashOfDownload(), loaded);
  await choose("lte-trace", join(ROOT, "scenarios/traces/sample-two-networks.csv"));
  await until("the run with the trace", `document.getElementById('hash').textContent !== "${loaded}"`);
  assert.ok(await evaluate("document.getElementById('lte-rate') === null && document.getElementById('lte-delay') !== null"));
  const first = await shownHash();
  assert.equal(await hashOfDownload(), first);
  await evaluate("document.getElementById('lte-trace-column').value = 'lte'; document.getElementById('lte-trace-column').onchange()");
  await until("the run with the other column", `document.getElementById('hash').textContent !== "${first}"`);
  const column = [await evaluate("location.hash"), await shownHash()];
  await picture("trace");
  await open(column[0]);
  assert.equal(await shownHash(), column[1], "the address holds the trace");
  const long = join(folder, "long.trace");
  writeFileSync(long, Array.from({ length: 9000 }, (_, i) => `${i + 1}\n`).join(""));
  await choose("lte-trace", long);
  await until("the page says that the link lacks the trace", "document.getElementById('beside').textContent.includes('The link does not hold')");
  assert.doesNotMatch(await evaluate("location.hash"), /trace/);
  const bad = join(folder, "bad.trace");
  writeFileSync(bad, "4\nx\n");
  await choose("lte-trace", bad);
  await until("the fault of the trace", "!document.getElementById('error').hidden");
  assert.match(await evaluate("document.getElementById('error').textContent"), /bad\.trace:.*2/);

  // The map: a drag and the arrow keys change the walk, and with it the run, the address and the download.
  await open("#story=map");
  const plain = await shownHash();
  const box = await evaluate("(() => { const { left, top, width, height } = map.svg.getBoundingClientRect(); return { left, top, width, height }; })()");
  const spot = ([x, y]) => ({ x: box.left + (x + 90) / 360 * box.width, y: box.top + (105 - y) / 210 * box.height });
  const mouse = (type, place) => send("Input.dispatchMouseEvent", { type, ...spot(place), button: "left", buttons: 1, clickCount: 1 });
  await mouse("mousePressed", [20, 20]);
  for (let k = 0; k <= 10; k++) await mouse("mouseMoved", [20, 20 + k * 7]);
  await mouse("mouseReleased", [20, 90]);
  const drawn = await evaluate("experiment.walk.points");
  assert.ok(drawn.length === 2 && drawn[1][1] >= 80 && drawn[1][1] <= 90, JSON.stringify(drawn));
  await until("the run with the walk", `document.getElementById('hash').textContent !== "${plain}"`);
  const dragged = await shownHash();
  await evaluate("map.svg.focus()");
  await key("ArrowRight", 39);
  await key("ArrowRight", 39);
  await key("ArrowDown", 40);
  await key("Backspace", 8);
  const [x, y] = drawn[1];
  assert.deepEqual(await evaluate("experiment.walk.points"), [...drawn, [x + 20, y]]);
  await until("the run with the keys' walk", `document.getElementById('hash').textContent !== "${dragged}"`);
  // The keys come one after the other, and each starts a run: the last one's counts.
  await new Promise((resolve) => setTimeout(resolve, 500));
  await until("the end of the runs", "!document.getElementById('state').textContent.includes('simulating')");
  const walked = [await evaluate("location.hash"), await shownHash()];
  assert.equal(await hashOfDownload(), walked[1]);
  await picture("map");
  await open(walked[0]);
  assert.equal(await shownHash(), walked[1], "the address holds the walk");
  await evaluate("document.querySelector('#map button').click()");
  await until("the story's walk again", `document.getElementById('hash').textContent === "${plain}"`);

  // Packets in flight: a chunk's head moves along its link with time, both ways, and stays where it is when it was lost.
  await open("#story=walk&policies=conservative&link.wifi.loss=0.03");
  await evaluate("setPlaying(false); document.getElementById('speed').value = '0.05'; document.getElementById('speed').onchange()");
  const heads = async (at) => {
    await evaluate(`seek(${at})`);
    return evaluate("ladder.drawn");
  };
  const moved = { phone: 0, server: 0 };
  for (let at = 3; at < 3.4; at += 0.02) {
    const earlier = await heads(at);
    const later = await heads(at + 0.004);
    for (const head of earlier.filter(({ over }) => !over)) {
      const then = later.find((other) => ["network", "kind", "towards", "number"].every((key) => other[key] === head[key]));
      if (!then) continue;
      assert.ok(head.towards === "phone" ? then.x > head.x : then.x < head.x, JSON.stringify([head, then]));
      moved[head.towards]++;
    }
  }
  assert.ok(moved.phone > 3 && moved.server > 1, JSON.stringify(moved));
  const shapes = await evaluate("[...KINDS, LOST].map(({ shape }) => shape)");
  assert.equal(new Set(shapes).size, shapes.length, "every kind has a shape of its own");
  const lost = await evaluate(`(() => {
    const { from, to } = runs[0].networks[0].ways.find(({ lists }) => lists[0].towards === "phone").lists[KINDS.length];
    return { count: from.length, at: to[0] };
  })()`);
  assert.ok(lost.count > 30, JSON.stringify(lost));
  const crosses = (await heads(lost.at + 0.01)).filter(({ kind, over }) => kind === "lost" && over);
  assert.ok(crosses.length > 0, "the loss is drawn");
  await picture("flight");
  const moves = (await heads(await evaluate("runs[0].switches[0] + 0.03"))).map(({ kind }) => kind);
  assert.ok(moves.includes("ASCONF") && moves.includes("SACK"), `at the move: ${[...new Set(moves)]}`);
  // Bounded work: ten times the rate draws no more lines, and the page says so.
  await open("#story=walk&policies=conservative&link.wifi.rate=%22100000kbps%22");
  await evaluate("setPlaying(false)");
  const many = await heads(5);
  assert.ok(many.length <= 14 * 121 * 2 && many.length > 50, `${many.length} lines`);
  assert.match(await evaluate("document.getElementById('flight').textContent"), /drawn: 1 of \d+ DATA/);
  const spent = await evaluate(`(() => { const start = performance.now(); for (let i = 0; i < 50; i++) ladder.draw(5 + i / 50, 1);
    return (performance.now() - start) / 50; })()`);
  console.log(`a frame of the sequence diagram takes ${spent.toFixed(2)} ms, with ${many.length} lines`);

  // Who asks for reduced motion is shown a page that stands still.
  await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-reduced-motion", value: "reduce" }] });
  await open();
  assert.equal(await evaluate("playing"), false);
  await evaluate("setPlaying(true)");
  const seen = await evaluate(`new Promise((resolve) => {
    const times = new Set();
    const { draw } = ladder;
    ladder.draw = function (at, speed) { times.add(at); return draw.call(this, at, speed); };
    setTimeout(() => { ladder.draw = draw; resolve(times.size); }, 1500);
  })`);
  assert.ok(seen >= 1 && seen <= 5, `${seen} pictures in 1.5 s`);
  await send("Emulation.setEmulatedMedia", { features: [] });

  // A value that the simulator rejects is shown.
  await open("#story=walk&link.wifi.rate=%22-5%22", "!document.getElementById('error').hidden");
  assert.match(await evaluate("document.getElementById('error').textContent"), /link\.wifi\.rate/);
  await evaluate("document.getElementById('play').click()");

  // Every story runs at least 20 times faster than real time. The limit is on processor time of the worker in a second run, in
  // which the module is loaded.
  const stories = await evaluate("STORIES.map(({ id }) => id)");
  await size(1280, 900);
  for (const story of stories) {
    await open(`#story=${story}`);
    await until(`${story} has run`, "document.getElementById('state').textContent.includes('simulated in')", 120);
    const before = workerSeconds();
    await evaluate("runAll({ restart: false })");
    const [simulated, wall] = await evaluate("[sum(runs.map(({ duration }) => duration)), sum(runs.map(({ ms }) => ms)) / 1000]");
    const busy = before === undefined ? wall : Math.max(workerSeconds() - before, 0.01);
    console.log(`${story}: ${simulated} s simulated in ${busy.toFixed(2)} s of processor time: ${Math.round(simulated / busy)} times real time`);
    assert.ok(simulated / busy >= 20, `${story} runs ${(simulated / busy).toFixed(1)} times faster than real time: want at least 20`);
  }

  // The stories are chosen with the keys, and the address follows.
  await open();
  await evaluate("document.getElementById('story-walk').focus()");
  await key("ArrowDown", 40);
  await until("the next story", `experiment.story.id === "${stories[1]}" && location.hash.includes("story=${stories[1]}") && runs.length > 0`);
  assert.equal(await evaluate("document.activeElement.id"), `story-${stories[1]}`);

  // A story plays by itself from its time on. Nothing is wider than the page at any size; screenshots to look at.
  for (const [name, width, height, scheme] of [["desktop", 1280, 900, "light"], ["tablet", 820, 1180, "dark"], ["phone", 375, 812, "light"],
    ["desktop-dark", 1280, 900, "dark"], ["tablet-light", 820, 1180, "light"], ["phone-dark", 375, 812, "dark"]]) {
    await size(width, height);
    await theme(scheme);
    const other = name.includes("-");
    for (const story of other ? ["walk", "map", "fu-atiquzzaman"] : stories) {
      await open(`#story=${story}`);
      const begins = await evaluate("experiment.story.from ?? Math.max(0, (runs[0].switches[0] ?? 0) - LEAD)");
      if (name === "desktop") await until(`${story} plays`, `playing && time > ${begins} + 1.2`, 10);
      await until(`${story} has run`, "document.getElementById('state').textContent.includes('simulated in')", 120);
      await evaluate(`setPlaying(false); seek(Math.min(runs[0].duration, ${begins} + 2.2 * Number(document.getElementById("speed").value)))`);
      assert.ok(await evaluate("document.documentElement.scrollWidth <= innerWidth"), `${story} overflows at ${width} pixels`);
      const clipped = await evaluate(`[...document.querySelectorAll("main *")].filter((element) => !element.closest(".wide, .stories .row, svg, [hidden]"))
        .filter((element) => { const box = element.getBoundingClientRect(); return box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5); })
        .map((element) => element.id || element.className || element.tagName)`);
      assert.deepEqual(clipped, [], `${story} is clipped at ${width} pixels`);
      await picture(`${name}-${story}`);
    }
  }
  const unlabelled = await evaluate(`[...document.querySelectorAll("input, select, button, canvas, [role=region]")]
    .filter((element) => !element.closest("[aria-hidden]"))
    .filter((element) => !(element.labels?.length || element.textContent.trim() || element.ariaLabel)).map((element) => element.id)`);
  assert.deepEqual(unlabelled, [], "every control has a label");
  assert.deepEqual(faults, [], "the console has no errors");
  console.log("the page plays every story at three sizes; the console has no errors");
} finally {
  await stop();
}
