// Serves target/playground/site on the loopback address, for tests.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join, normalize } from "node:path";

import { ROOT } from "./simulator.mjs";

const TYPES = { html: "text/html", gz: "application/gzip" };

// Returns the page's address and a function that stops the server.
export async function served() {
  const server = createServer((request, response) => {
    const name = normalize(new URL(request.url, "http://host").pathname).replace(/\/$/, "/index.html");
    try {
      const body = readFileSync(join(ROOT, "target/playground/site", name));
      response.writeHead(200, { "content-type": TYPES[name.split(".").pop()] ?? "text/plain" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, stop: () => server.close() };
}
