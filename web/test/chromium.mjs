// Headless Chromium for the tests, by the DevTools protocol: it starts with the first import.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ROOT } from "./simulator.mjs";

const pictures = process.argv[3]; // the folder that gets the screenshots
export const folder = mkdtempSync(join(tmpdir(), "msctp-playground-"));
const chromium = spawn("chromium", [
  "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", `--user-data-dir=${folder}`, "about:blank",
], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });

// The DevTools protocol over the pipe: JSON texts that end with a zero byte.
export const faults = [];
const waiting = new Map();
let rest = "";
let requests = 0;
chromium.stdio[4].setEncoding("utf8").on("data", (text) => {
  const messages = (rest + text).split("\0");
  rest = messages.pop();
  for (const message of messages.map((text) => JSON.parse(text))) {
    if (message.id) {
      const { resolve, reject } = waiting.get(message.id);
      message.error ? reject(new Error(message.error.message)) : resolve(message.result);
    } else if (message.method === "Runtime.exceptionThrown") {
      faults.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text);
    } else if (message.method === "Log.entryAdded" && ["error", "warning"].includes(message.params.entry.level)) {
      faults.push(message.params.entry.text);
    } else if (message.method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(message.params.type)) {
      faults.push(JSON.stringify(message.params.args));
    }
  }
});
let session;
export const send = (method, params = {}) => new Promise((resolve, reject) => {
  waiting.set(++requests, { resolve, reject });
  chromium.stdio[3].write(`${JSON.stringify({ id: requests, method, params, sessionId: session })}\0`);
});
export async function evaluate(expression) {
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  assert.equal(exceptionDetails, undefined, exceptionDetails?.exception?.description);
  return result.value;
}
export async function until(what, expression, seconds = 30) {
  const end = Date.now() + seconds * 1000;
  while (!(await evaluate(expression))) {
    assert.ok(Date.now() < end, `${what}: not after ${seconds} s; faults: ${faults.join("; ")}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
export const FILE = `file://${ROOT}/target/playground/index.html`;
export async function open(hash = "", ready = "runs.length > 0", address = FILE) {
  await send("Page.navigate", { url: "about:blank" });
  await send("Page.navigate", { url: `${address}${hash}` });
  await until("the page runs", `typeof runs !== "undefined" && ${ready}`);
}
export const size = (width, height) =>
  send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
export const theme = (value) => send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
export async function picture(name) {
  if (!pictures) return;
  const { data } = await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
  writeFileSync(join(pictures, `${name}.png`), data, "base64");
}
export async function key(name, code) {
  for (const type of ["keyDown", "keyUp"]) {
    await send("Input.dispatchKeyEvent", { type, key: name, code: name, windowsVirtualKeyCode: code });
  }
}

export async function choose(id, file) {
  const { root } = await send("DOM.getDocument");
  const { nodeId } = await send("DOM.querySelector", { nodeId: root.nodeId, selector: `#${id}` });
  await send("DOM.setFileInputFiles", { nodeId, files: [file] });
}

// Processor seconds of the page's worker thread since it started; undefined where there is no /proc. Unlike the wall clock it
// does not depend on what else the machine does.
export function workerSeconds() {
  const stat = (path) => readFileSync(`${path}/stat`, "utf8").replace(/^.*\) /s, "").split(" ");
  const ofChromium = (pid) => pid === chromium.pid || (pid > 1 && ofChromium(Number(stat(`/proc/${pid}`)[1])));
  let ticks;
  for (const pid of process.platform === "linux" ? readdirSync("/proc").filter((name) => /^\d+$/.test(name)) : []) {
    try {
      if (!ofChromium(Number(pid))) continue;
      for (const task of readdirSync(`/proc/${pid}/task`).map((id) => `/proc/${pid}/task/${id}`)) {
        if (!readFileSync(`${task}/comm`, "utf8").startsWith("DedicatedWorker")) continue;
        const [user, system] = stat(task).slice(11, 13).map(Number);
        ticks = (ticks ?? 0) + user + system;
      }
    } catch {
      // A process that ended meanwhile.
    }
  }
  return ticks === undefined ? undefined : ticks / 100;
}

const { targetId } = await send("Target.createTarget", { url: "about:blank" });
session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`);
// A screenshot has no scroll bar: without this the page would be as much wider than the picture.
await send("Emulation.setScrollbarsHidden", { hidden: true });

export async function stop() {
  chromium.kill();
  await new Promise((resolve) => chromium.once("exit", resolve));
  rmSync(folder, { recursive: true, force: true });
}
