"use strict";

// The stories. Each runs a scenario of the repository as it is, with the story's `values` set in it.
//
// file        the scenario
// policy      the key of the sender's handover policy, which the page offers; `choices` limits the policies
// variants    instead of `policy`: what the page offers side by side, each with the values that it sets
// policies    the names of the policies or variants that run first
// flow        the association or TCP connection that is shown, of the story or of a variant; the first association
// sender      the flow's end that sends: `server`, or the phone as `client`
// networks    the links that are shown. A network has the flow's paths of an address, or is the cell of a Mobile IP agent.
//             `sliders` limits its controls, a slider for losses sets every key of `loss`, `queue` names the link whose queue
//             is shown while data is sent over the network
// from, speed the time at which the page starts to play instead of a second before the switch, and its speed
// compare     the curves that are drawn for all runs: `total`, `gap`, `cwnd`, `delay` (of the messages of `video`)
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
    id: "tcp",
    title: "Why TCP dies",
    about: "The same walk out of Wi-Fi. TCP knows only the phone's address on Wi-Fi: at 12 s it stops, and each of its timeouts is twice as long as " +
      "the last. SCTP has the address on LTE too, and goes on.",
    file: "scenarios/walk-tcp.toml",
    values: [],
    word: "transport",
    variants: [
      { id: "sctp", label: "SCTP", about: "moves to the second address at 10 s", values: [], flow: "download" },
      {
        id: "tcp", label: "TCP", about: "has one address (CUBIC, SACK)", flow: "download-tcp",
        values: [["association.download.start", "\"20s\""], ["tcp.download-tcp.start", "\"0s\""], ["action.move", null]],
      },
    ],
    policies: ["tcp", "sctp"],
    sender: "server",
    networks: [
      { name: "Wi-Fi", link: "wifi", address: "10.0.1.2", loss: ["link.wifi.loss"] },
      { name: "LTE", link: "lte", address: "10.0.2.2", loss: ["link.lte.bler"], lossName: "radio blocks lost" },
    ],
    from: 11,
    compare: ["total", "gap"],
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
  {
    id: "kim-koh",
    paper: true,
    title: "Kim, Koh: a measured window",
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
    id: "fu-atiquzzaman",
    paper: true,
    title: "Fu, Atiquzzaman: Mobile IP",
    about: "An upload over Mobile IP: the phone walks from its home agent's cell to a foreign agent's. Each loses packets near its edge, " +
      "several of one window. Look at the window and the timeouts at the move, at about 65 s: SCTP's SACK reports every gap, TCP's three at most, Reno's none.",
    file: "scenarios/fu-atiquzzaman/mobile-ip.toml",
    values: [],
    seed: 4,
    word: "transport",
    variants: [
      { id: "sctp", label: "SCTP", about: "reports every gap", values: [], flow: "sctp" },
      {
        id: "sack", label: "TCP SACK", about: "reports at most three blocks", flow: "sack",
        values: [["association.sctp.start", "\"200s\""], ["tcp.sack.start", "\"0s\""]],
      },
      {
        id: "reno", label: "TCP Reno", about: "reports no gap", flow: "reno",
        values: [["association.sctp.start", "\"200s\""], ["tcp.reno.start", "\"0s\""]],
      },
    ],
    policies: ["sctp", "sack", "reno"],
    sender: "client",
    networks: [
      { name: "Home cell", link: "cell-ha", agent: "ha", sliders: ["rate"], trace: false },
      { name: "Foreign cell", link: "cell-fa", agent: "fa", sliders: ["rate"], trace: false },
    ],
    from: 60,
    speed: "2",
    compare: ["total", "cwnd"],
  },
  {
    id: "afif",
    paper: true,
    title: "Afif and others: the radio reports",
    about: "A download over EGPRS; at 700 s the phone changes its cell, and two seconds later its path. Look at the window then: with the chunk " +
      "QoS_Measurement it keeps to the radio's bandwidth-delay product, without it it doubles and fills the queue. Both deliver about as much.",
    file: "scenarios/afif/deterministic.toml",
    values: [],
    word: "sender",
    variants: [
      {
        id: "extended", label: "QoS_Measurement", about: "the phone reports its radio link",
        values: [["sctp.server.handover_policy", "\"qos-measurement\""], ["link.cell.report_quality", "true"]],
      },
      { id: "standard", label: "standard SCTP", about: "knows nothing of the radio", values: [] },
    ],
    policies: ["extended", "standard"],
    sender: "server",
    networks: [
      { name: "First SGSN", link: "gb-1", address: "10.0.0.1", queue: "cell", sliders: ["rate", "delay"], trace: false },
      { name: "Second SGSN", link: "gb-2", address: "10.0.1.1", queue: "cell", sliders: ["rate", "delay"], trace: false },
    ],
    from: 690,
    speed: "5",
    compare: ["cwnd", "total"],
  },
  {
    id: "eklund",
    paper: true,
    title: "Eklund and others: video",
    about: "Live video moves at 60 s to a slower path, where a TCP flow is at work. Look at the delay of the messages after the move: " +
      "up to 2.5 s with a first window of 3 packets, 1.6 s with 10, half a second with 50 kB.",
    file: "scenarios/eklund/lc.toml",
    // One video and one TCP flow.
    values: [["app.video-2.start", "\"action\""], ["app.bulk-2.start", "\"action\""]],
    word: "first window",
    variants: [
      ["packets-3", "3 packets", "RFC 9260 has about as much", "{ packets = 3 }"],
      ["packets-10", "10 packets", "the paper's proposal", "{ packets = 10 }"],
      ["packets-20", "20 packets", "the paper's proposal", "{ packets = 20 }"],
      ["no-limit", "50 kB", "hardly a limit", "{ bytes = 50000 }"],
    ].map(([id, label, about, window]) => ({ id, label, about, values: [["sctp.cn.policy.initial_window", window]] })),
    policies: ["packets-3", "packets-10", "no-limit"],
    sender: "server",
    flow: "session-1",
    video: "video-1",
    networks: [
      { name: "Old path", link: "path-1", address: "10.0.1.2", loss: ["link.path-1.loss"], sliders: ["rate", "delay", "loss", "background"] },
      { name: "New path", link: "target", address: "10.0.2.2", loss: ["link.target.loss"], sliders: ["rate", "delay", "loss", "background"] },
    ],
    compare: ["delay", "total"],
  },
  ...[
    {
      id: "park-jang-wlan", name: "WLAN", radio: [],
      about: "A download over WLAN, which loses 1 % of the packets, and not for congestion.",
    },
    {
      id: "park-jang-lte", name: "LTE",
      radio: [["link.radio.rate", "\"1Mbps\""], ["link.radio.delay", "\"200ms\""], ["link.radio.forward.loss", "0.05"]],
      about: "A download over LTE, as the paper has it: 1 Mbps, and 5 % of the packets lost on the air.",
    },
  ].map(({ id, name, radio, about }) => ({
    id,
    paper: true,
    title: `Park, Jang: losses on ${name}`,
    about: `${about} Look at the window: Reno halves it for each loss; the sender that judges losses by the round-trip time before them ` +
      "keeps it, and delivers more.",
    file: "scenarios/park-jang/plain.toml",
    values: [["duration", "\"60s\""], ["association.sctp-transfer.start", "\"60s\""], ["tcp.competitor.start", "\"60s\""], ...radio],
    word: "sender",
    variants: [
      {
        id: "told-apart", label: "losses told apart", about: "Park and Jang's classification, with F-RTO",
        values: [["loss_classifier", "\"park-jang\""], ["frto", "true"], ["restart_rtt_after_spurious", "true"]]
          .map(([key, value]) => [`tcp-profile.sender.${key}`, value]),
      },
      { id: "standard", label: "TCP Reno", about: "takes each loss for congestion", values: [] },
    ],
    policies: ["told-apart", "standard"],
    sender: "server",
    flow: "transfer",
    networks: [{ name, link: "radio", address: "10.0.1.2", loss: ["link.radio.forward.loss"], trace: false }],
    from: 20,
    compare: ["total", "cwnd"],
  })),
];

// The server's address in every story, from which the background traffic comes.
const SERVER = "10.0.0.1";

// The handover policies that can be chosen (lab/lab-schemes); the others need options of their own.
const POLICIES = [
  ["conservative", "starts the new path at the initial window"],
  ["inherit", "takes the old path's window along"],
  ["large-initial-window", "starts at a larger initial window"],
  ["adaptive", "starts at the window that its estimate of the bandwidth allows"],
  ["anticipate", "measures every path, moves by itself, starts at the measured rate"],
];
const MOST_POLICIES = 4;
