// Runs the page's own worker and model under Node, for tests.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runInThisContext } from "node:vm";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const script = (name) => runInThisContext(readFileSync(`${ROOT}/web/page/${name}`, "utf8"), { filename: name });

// Returns a function that answers requests, as the worker does.
export function simulator() {
  const page = readFileSync(`${ROOT}/target/playground/index.html`, "utf8");
  const module = /id="module">\s*(\S+)\s*</.exec(page)[1];
  const waiting = new Map();
  globalThis.postMessage = ({ id, answer }) => waiting.get(id)(answer);
  globalThis.onmessage = null;
  script("worker.js");
  globalThis.onmessage({ data: { module } });
  let id = 0;
  return (request) => new Promise((resolve) => {
    waiting.set(++id, resolve);
    globalThis.onmessage({ data: { id, request } });
  });
}

// Returns the page's stories and the functions of its model.
export function model() {
  globalThis.sum = (values) => values.reduce((a, b) => a + b, 0);
  script("stories.js");
  script("model.js");
  return runInThisContext("({ STORIES, experimentFromHash, hashOf, freshExperiment, valuesOf, variantsOf, variantOf, slidersOf, filesOf, keysOf, traceOf, tracesFit, positionAt, SCALES })");
}
