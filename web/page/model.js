"use strict";

// The experiment: a story, its seed, its policies, the values that the user changed and the traces that the user loaded;
// what the address's hash holds.

// A slider's scale. `read` takes a value of the scenario, `write` gives one, `show` a text; positions are 0 to 1000.
const twoDigits = (number) => Number(number.toPrecision(2));
const logarithmic = (least, most) => ({
  toPosition: (value) => Math.round(1000 * Math.log(Math.max(value, least) / least) / Math.log(most / least)),
  fromPosition: (position) => twoDigits(least * (most / least) ** (position / 1000)),
});
const UNITS = { bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9, ns: 1e-6, us: 1e-3, ms: 1, s: 1e3 };
const withUnit = (toml) => {
  const [, number, unit] = /^"([\d.]+)\s*(\w+)"$/.exec(toml) || [];
  return number === undefined ? undefined : Number(number) * UNITS[unit];
};
const showRate = (bps) =>
  bps >= 999500 ? `${Number((bps / 1e6).toPrecision(3))} Mbps` : `${Number((bps / 1e3).toPrecision(3))} kbps`;
const BACKGROUND = logarithmic(1e4, 5e7);
const SCALES = {
  rate: {
    name: "rate", ...logarithmic(1e5, 1e8), read: withUnit, write: (bps) => `"${bps / 1e3}kbps"`, show: showRate,
  },
  delay: {
    name: "delay, one way", ...logarithmic(1, 500), read: withUnit, write: (ms) => `"${Math.round(ms * 1e3)}us"`,
    show: (ms) => `${ms} ms`,
  },
  loss: {
    name: "packets lost", toPosition: (share) => Math.round(share * 1e4), fromPosition: (position) => position / 1e4,
    read: (toml) => Number(toml ?? 0), write: String, show: (share) => `${twoDigits(share * 100)} %`,
  },
  queue: {
    name: "queue", ...logarithmic(5, 500), read: Number, write: (packets) => String(Math.round(packets)),
    show: (packets) => `${Math.round(packets)} packets`,
  },
  background: {
    name: "background traffic", toPosition: (bps) => (bps === 0 ? 0 : BACKGROUND.toPosition(bps)),
    fromPosition: (position) => (position === 0 ? 0 : BACKGROUND.fromPosition(position)),
    read: (toml) => withUnit(toml) ?? 0, write: (bps) => `"${bps / 1e3}kbps"`, show: (bps) => (bps === 0 ? "none" : showRate(bps)),
  },
};

// The sliders of a network. A link's trace takes the place of its rate and losses.
const slidersOf = ({ sliders }) => sliders ?? Object.keys(SCALES);
const scalesOf = (experiment, network) =>
  slidersOf(network).filter((scale) => !experiment.traces.has(network.link) || !["rate", "loss"].includes(scale));

const backgroundOf = (network) => `app.background-${network.link}`;

// The keys that a slider of a network sets.
function keysOf(network, scale) {
  if (scale === "loss") return network.loss;
  if (scale === "background") return [`${backgroundOf(network)}.rate`];
  return [`link.${network.link}.${scale === "queue" ? "queue.packets" : scale}`];
}

const storyOf = (id) => STORIES.find((story) => story.id === id);

// What a story offers side by side: its variants, or the handover policies that its scenario can run.
const variantsOf = ({ variants, choices, policy }) => variants ?? POLICIES
  .filter(([name]) => choices === undefined || choices.includes(name))
  .map(([name, about]) => ({ id: name, label: name, about, values: [[policy, `"${name}"`]] }));
const variantOf = (story, id) => variantsOf(story).find((variant) => variant.id === id);

const seedOf = (story) => story.seed ?? 1;

function freshExperiment(story) {
  return { story, seed: seedOf(story), policies: [...story.policies], edits: new Map(), traces: new Map(), walk: story.map?.walk };
}

// A trace: the name of the file beside the scenario, its text and the column that the link follows, if it has columns.
const MOST_TRACE_BYTES = 4e6;
const MOST_LINK_BYTES = 12000; // of all traces in the address's hash

function traceOf(link, name, text, column) {
  const columns = columnsOf(text);
  const file = `${link}-${name.replace(/[^\w.-]+/g, "-")}`;
  return { name, file, text, columns, column: columns.includes(column) ? column : columns[0] };
}

// The networks of a table of rates, whose first line is `time,wifi,lte`; none in Mahimahi's format.
function columnsOf(text) {
  const first = text.split("\n").map((line) => line.trim()).find((line) => line !== "" && !line.startsWith("#")) ?? "";
  const names = first.split(",").map((name) => name.trim());
  return names[0] === "time" ? names.slice(1) : [];
}

const tracesFit = ({ traces }) => sum([...traces.values()].map(({ text }) => text.length)) <= MOST_LINK_BYTES;

// Returns the values that make a link follow its trace.
function valuesOfTrace(network, { file, column }) {
  const link = `link.${network.link}`;
  return [
    [`${link}.type`, "\"trace\""], [`${link}.trace`, JSON.stringify(file)],
    ...(column === undefined ? [] : [[`${link}.column`, JSON.stringify(column)]]),
    ...["rate", "bler"].map((key) => [`${link}.${key}`, null]),
    // Actions that set what the trace sets.
    ...network.loss.filter((key) => key.startsWith("action.")).map((key) => [key.split(".").slice(0, 2).join("."), null]),
  ];
}

// Returns the values of an application that sends packets at a constant rate over a network.
function valuesOfBackground(network, rate) {
  const app = backgroundOf(network);
  return [
    [`${app}.name`, `"background-${network.link}"`], [`${app}.type`, "\"cbr\""], [`${app}.from`, `"${SERVER}"`],
    [`${app}.to`, `"${network.address}"`], [`${app}.rate`, rate],
  ];
}

function traceFromHash(link, part) {
  try {
    const [name, text, column] = JSON.parse(part).map(String);
    return traceOf(link, name, text, column);
  } catch {
    return undefined;
  }
}

// A walk: points in whole metres, from one to the next in a straight line at one speed in metres per second.
const MOST_POINTS = 24;
const SETS_OUT = 2000; // milliseconds after the start
const distanceOf = ([ax, ay], [bx, by]) => Math.hypot(bx - ax, by - ay);

// The walk's straight lines, with their times in milliseconds.
function legsOf({ speed, points }) {
  let at = SETS_OUT;
  return points.slice(1).map((to, i) => {
    const leg = { from: points[i], to, at, takes: Math.ceil(distanceOf(points[i], to) / speed * 1000) };
    at += leg.takes;
    return leg;
  });
}

function lengthOf(walk) {
  const legs = legsOf(walk);
  const { at, takes } = legs.at(-1) ?? { at: 0, takes: 0 };
  return { length: sum(legs.map(({ from, to }) => distanceOf(from, to))), ends: (at + takes) / 1000 };
}

function positionAt(walk, time) {
  const leg = legsOf(walk).filter(({ at }) => at <= time * 1000).pop();
  if (!leg) return walk.points[0];
  const share = Math.min(1, (time * 1000 - leg.at) / leg.takes);
  return [0, 1].map((axis) => leg.from[axis] + share * (leg.to[axis] - leg.from[axis]));
}

// Returns the values that make the mobile walk.
function valuesOfWalk({ node }, walk) {
  const legs = legsOf(walk).map(({ to, at }) => `{ at = "${at}ms", to = [${to.join(", ")}], speed = ${walk.speed} }`);
  return [[`node.${node}.position`, `[${walk.points[0].join(", ")}]`], [`node.${node}.waypoints`, `[${legs.join(", ")}]`]];
}

function walkFromHash({ area }, part) {
  const [, speed, list] = /^(\d{1,2}):([-\d,;]+)$/.exec(part ?? "") ?? [];
  const points = (list ?? "").split(";").map((point) => point.split(",").map(Number));
  const inside = ([x, y, more]) => more === undefined && x >= area.west && x <= area.east && y >= area.south && y <= area.north;
  const apart = (point, i) => i === 0 || distanceOf(point, points[i - 1]) > 0;
  const valid = Number(speed) >= 1 && points.length <= MOST_POINTS && points.every(inside) && points.every(apart);
  return valid ? { speed: Number(speed), points } : undefined;
}

// Only keys that a slider of the story sets are taken from an address.
function experimentFromHash(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const experiment = freshExperiment(storyOf(parts.get("story")) ?? STORIES[0]);
  const seed = Number(parts.get("seed") ?? experiment.seed);
  if (Number.isSafeInteger(seed) && seed >= 0) experiment.seed = seed;
  const known = variantsOf(experiment.story).map(({ id }) => id);
  const policies = (parts.get("policies") ?? "").split(",").filter((name) => known.includes(name));
  if (policies.length > 0) experiment.policies = [...new Set(policies)].slice(0, MOST_POLICIES);
  const allowed = experiment.story.networks.flatMap((network) =>
    slidersOf(network).flatMap((scale) => keysOf(network, scale)));
  for (const [key, value] of parts) if (allowed.includes(key)) experiment.edits.set(key, value);
  for (const { link } of experiment.story.networks.filter(({ trace }) => trace !== false)) {
    const trace = traceFromHash(link, parts.get(`trace.${link}`));
    if (trace) experiment.traces.set(link, trace);
  }
  if (experiment.story.map) experiment.walk = walkFromHash(experiment.story.map, parts.get("walk")) ?? experiment.walk;
  return experiment;
}

function hashOf(experiment) {
  const parts = new URLSearchParams({
    story: experiment.story.id, seed: experiment.seed, policies: experiment.policies.join(","),
  });
  for (const [key, value] of experiment.edits) parts.set(key, value);
  const { walk, story } = experiment;
  if (walk !== story.map?.walk) parts.set("walk", `${walk.speed}:${walk.points.map((point) => point.join()).join(";")}`);
  if (tracesFit(experiment)) {
    for (const [link, { name, column, text }] of experiment.traces) parts.set(`trace.${link}`, JSON.stringify([name, text, column ?? ""]));
  }
  return `#${parts}`;
}

// The values to set in the story's scenario for a policy or variant; without one those of the networks alone. Null removes a
// value.
function valuesOf(experiment, id) {
  const { story, edits, traces } = experiment;
  const values = [...story.values];
  for (const network of story.networks) {
    const trace = traces.get(network.link);
    for (const scale of scalesOf(experiment, network)) {
      for (const key of keysOf(network, scale).filter((key) => edits.has(key))) {
        if (scale === "background") values.push(...valuesOfBackground(network, edits.get(key)));
        else values.push([key, edits.get(key)]);
      }
    }
    if (trace) values.push(...valuesOfTrace(network, trace));
  }
  if (experiment.walk !== story.map?.walk) values.push(...valuesOfWalk(story.map, experiment.walk));
  if (experiment.seed !== 1) values.push(["seed", String(experiment.seed)]);
  return id ? [...values, ...variantOf(story, id).values] : values;
}

// The files that the scenario names, by their names.
const filesOf = ({ traces }) => Object.fromEntries([...traces.values()].map(({ file, text }) => [file, text]));
