"use strict";

// The stories: a scenario of the repository each, the values that the story changes in it, and what the page's controls
// set. `policy` is the key of the sender's handover policy; a slider sets every key of its list.
const STORIES = [
  {
    id: "walk",
    title: "Walk out of Wi-Fi",
    about: "A phone downloads over Wi-Fi. At 10 s it asks the server to send over LTE instead; at 12 s Wi-Fi is out of reach.",
    file: "scenarios/walk.toml",
    values: [],
    policy: "sctp.server.handover_policy",
    policies: ["conservative", "large-initial-window"],
    sender: "server",
    networks: [
      { name: "Wi-Fi", link: "wifi", address: "10.0.1.2", loss: ["link.wifi.loss", "action.fade.loss"] },
      { name: "LTE", link: "lte", address: "10.0.2.2", loss: ["link.lte.bler"], lossName: "radio blocks lost" },
    ],
  },
  {
    id: "cut",
    title: "Wi-Fi is cut off",
    about: "At 10 s Wi-Fi is gone, with everything that was in flight on it. LTE was there all the time.",
    file: "scenarios/wifi-lte.toml",
    values: [["association.download.server_sctp", "\"server\""]],
    policy: "sctp.server.handover_policy",
    policies: ["conservative"],
    sender: "server",
    networks: [
      { name: "Wi-Fi", link: "wifi", address: "10.0.1.2", loss: ["link.wifi.loss"] },
      { name: "LTE", link: "lte", address: "10.0.2.2", loss: ["link.lte.bler"], lossName: "radio blocks lost" },
    ],
  },
  {
    id: "window",
    title: "A big window hurts",
    about: "From a network of 10 Mbps to one of 1 Mbps at 30 s, whose queue holds 10 packets. The policy inherit takes " +
      "the old window along, which overflows that queue.",
    file: "scenarios/compare/two-paths.toml",
    values: [
      ["link.old.rate", "\"10Mbps\""],
      ["link.old.delay", "\"20ms\""],
      ["link.new.rate", "\"1Mbps\""],
      ["link.new.delay", "\"200ms\""],
      ["link.new.queue.packets", "10"],
    ],
    policy: "sctp.cn.handover_policy",
    policies: ["inherit", "conservative"],
    sender: "server",
    networks: [
      { name: "Fast network", link: "old", address: "10.0.1.2", loss: ["link.old.loss"] },
      { name: "Slow network", link: "new", address: "10.0.2.2", loss: ["link.new.loss"] },
    ],
  },
  {
    id: "upgrade",
    title: "From 3G to Wi-Fi",
    about: "A phone on 3G comes into reach of Wi-Fi, thirty times as fast, and moves to it at 30 s.",
    file: "scenarios/handover.toml",
    values: [],
    policy: "sctp.default.handover_policy",
    policies: ["conservative", "anticipate"],
    sender: "server",
    networks: [
      { name: "3G", link: "3g", address: "10.0.1.2", loss: ["link.3g.loss"] },
      { name: "Wi-Fi", link: "wlan", address: "10.0.2.2", loss: ["link.wlan.loss"] },
    ],
  },
  {
    id: "kim-koh",
    title: "Kim and Koh: a measured window",
    about: "From WLAN to 3G at 30 s, without background traffic, as in the paper's Fig. 10. Look at the seconds after the move: adaptive, " +
      "which measured 3G before, fills it at once, while conservative starts with one packet.",
    file: "scenarios/kim-koh/wlan-to-3g.toml",
    values: [["app.background.start", "\"action\""]],
    policy: "sctp.cn.handover_policy",
    choices: ["conservative", "inherit", "adaptive"], // the scenario has options of adaptive
    policies: ["adaptive", "conservative"],
    sender: "server",
    networks: [
      { name: "WLAN", link: "wlan", address: "10.0.2.2", loss: ["link.wlan.loss"] },
      { name: "3G", link: "3g", address: "10.0.1.2", loss: ["link.3g.loss"] },
    ],
  },
  {
    id: "useless",
    title: "Wi-Fi that is there and useless",
    about: "From 5 s on Wi-Fi is up and delivers nothing, and the phone asks for nothing. Look at the time since the last delivery: the policy " +
      "anticipate moves to LTE within a second, conservative waits for timeout after timeout.",
    file: "scenarios/walk.toml",
    values: [["action.fade.loss", "1"], ["action.move", null], ["action.out-of-reach", null]],
    policy: "sctp.server.handover_policy",
    policies: ["anticipate", "conservative"],
    sender: "server",
    networks: [
      { name: "Wi-Fi", link: "wifi", address: "10.0.1.2", loss: ["action.fade.loss"], lossName: "packets lost from 5 s on", trace: false },
      { name: "LTE", link: "lte", address: "10.0.2.2", loss: ["link.lte.bler"], lossName: "radio blocks lost" },
    ],
  },
  {
    id: "map",
    title: "Walk on a map",
    about: "The phone walks from one Wi-Fi cell to another, and asks for the cell whose access point it is near (the inner circle). " +
      "Drag another walk on the map: leave the west cell before the east one is near, and the download stops.",
    file: "scenarios/two-cells.toml",
    values: [],
    policy: "sctp.server.handover_policy",
    policies: ["conservative"],
    sender: "server",
    networks: [
      { name: "West cell", link: "cell-west", address: "10.0.1.2", loss: ["link.cell-west.loss"], trace: false },
      { name: "East cell", link: "cell-east", address: "10.0.2.2", loss: ["link.cell-east.loss"], trace: false },
    ],
    // Metres eastwards and northwards, as in the scenario.
    map: {
      node: "mobile",
      area: { west: -90, south: -105, east: 270, north: 105 },
      cells: [{ name: "west", at: [20, 0], reach: 100 }, { name: "east", at: [160, 0], reach: 100 }],
      near: 65,
      walk: { speed: 6, points: [[20, 20], [160, 20]] },
    },
  },
];

// The server's address in every story, from which the background traffic comes.
const SERVER = "10.0.0.1";

// The handover policies that can be chosen (crates/schemes); the others need options of their own.
const POLICIES = [
  ["conservative", "starts the new path at the initial window"],
  ["inherit", "takes the old path's window along"],
  ["large-initial-window", "starts at a larger initial window"],
  ["adaptive", "starts at the window that its estimate of the bandwidth allows"],
  ["anticipate", "measures every path, moves by itself, starts at the measured rate"],
];
const MOST_POLICIES = 4;
