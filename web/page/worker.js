"use strict";

// Runs the simulator in a worker. The first message is the module (gzip, as bytes or in base64), every other one a
// request.
const simulator = new Promise((resolve) => {
  onmessage = ({ data }) => {
    resolve(instantiate(data.module));
    onmessage = async ({ data }) => {
      const started = performance.now();
      const answer = await simulator.then((exports) => call(exports, data.request), (error) => ({ error: String(error) }));
      postMessage({ id: data.id, answer, ms: performance.now() - started });
    };
  };
});

async function instantiate(compressed) {
  const bytes = typeof compressed === "string" ? Uint8Array.from(atob(compressed), (letter) => letter.charCodeAt(0)) : compressed;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const module = await new Response(stream).arrayBuffer();
  return (await WebAssembly.instantiate(module, {})).instance.exports;
}

// Passes a request to the module and returns its answer.
function call(exports, request) {
  const argument = new TextEncoder().encode(JSON.stringify(request));
  const at = exports.input(argument.length);
  new Uint8Array(exports.memory.buffer, at, argument.length).set(argument);
  const text = (length) => new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.output(), length));
  try {
    return JSON.parse(text(exports.call()));
  } catch (trap) {
    return { error: `the simulator failed: ${text(exports.output_len()) || trap}` };
  }
}
