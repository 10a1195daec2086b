//! Shrinks a failing plan as long as it still fails.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::random_operations::plan::{Ending, Heal, Op, Plan, Quality, Tuning};
use crate::random_operations::world::{Outcome, run};

/// Largest number of runs for shrinking.
const BUDGET: u32 = 1500;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// Location of the last panic.
    static PLACE: Cell<String> = const { Cell::new(String::new()) };
}

/// Runs a plan; on a failure, returns the panic's message without printing it.
pub(crate) fn attempt(plan: &Plan) -> Result<Outcome, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
            if let Some(place) = info.location() {
                PLACE.set(format!("{place}"));
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(|| run(plan)));
    QUIET.set(false);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        format!("{} at {}", text.unwrap_or_default(), PLACE.take())
    })
}

/// Returns the location of the failure.
pub(crate) fn place(message: &str) -> Option<&str> {
    message.rsplit_once(" at ").map(|(_, place)| place)
}

/// Returns a smaller plan that fails at the same location, and its message.
pub(crate) fn shrink(plan: Plan, message: String) -> (Plan, String) {
    let mut search = Search { best: plan, message, budget: BUDGET };
    loop {
        let before = search.budget;
        let better = search.fewer_operations() | search.plainer_operations() | search.plainer_setup();
        if !better || search.budget == 0 || before == search.budget {
            return (search.best, search.message);
        }
    }
}

struct Search {
    best: Plan,
    message: String,
    budget: u32,
}

impl Search {
    fn try_plan(&mut self, plan: Plan) -> bool {
        if self.budget == 0 || plan == self.best || !plan.setup.is_possible() {
            return false;
        }
        self.budget -= 1;
        let Err(message) = attempt(&plan) else { return false };
        if place(&message) != place(&self.message) {
            return false;
        }
        (self.best, self.message) = (plan, message);
        true
    }

    fn fewer_operations(&mut self) -> bool {
        let mut better = false;
        let mut step = self.best.ops.len();
        while step > 0 {
            let mut start = 0;
            while start < self.best.ops.len() {
                let mut plan = self.best.clone();
                let end = (start + step).min(plan.ops.len());
                plan.ops.drain(start..end);
                if self.try_plan(plan) {
                    better = true;
                } else {
                    start += step;
                }
            }
            step /= 2;
        }
        better
    }

    fn plainer_operations(&mut self) -> bool {
        let mut better = false;
        for index in 0..self.best.ops.len() {
            loop {
                let candidates = plainer(&self.best.ops[index]);
                if !candidates.into_iter().any(|op| self.try_plan(self.with(index, op))) {
                    break;
                }
                better = true;
            }
        }
        better
    }

    fn with(&self, index: usize, op: Op) -> Plan {
        let mut plan = self.best.clone();
        plan.ops[index] = op;
        plan
    }

    fn plainer_setup(&mut self) -> bool {
        let mut better = false;
        for change in SETUP_CHANGES {
            let mut plan = self.best.clone();
            change(&mut plan);
            better |= self.try_plan(plan);
        }
        for take in TUNING_CHANGES {
            for server in [false, true] {
                let mut plan = self.best.clone();
                take(if server { &mut plan.setup.server } else { &mut plan.setup.mobile });
                better |= self.try_plan(plan);
            }
        }
        better
    }
}

fn plainer(op: &Op) -> Vec<Op> {
    match *op {
        Op::Run { ms } => [ms / 2, ms / 1000 * 1000, ms - ms / 10]
            .into_iter()
            .filter(|&less| less < ms)
            .map(|ms| Op::Run { ms })
            .collect(),
        Op::Send { side, stream, len, count, unordered } => {
            let mut all = Vec::new();
            let mut add = |stream, len, count, unordered| {
                let new = Op::Send { side, stream, len, count, unordered };
                if new != *op {
                    all.push(new);
                }
            };
            add(0, len, count, false);
            add(stream, len, 1, unordered);
            add(stream, len, count.div_ceil(2), unordered);
            add(stream, 1, count, unordered);
            add(stream, len.div_ceil(2), count, unordered);
            add(stream, len, count, false);
            all
        }
        Op::SendPartial { side, stream, len, count, unordered, effort } => {
            let with = |stream, len, count, unordered| Op::SendPartial {
                side,
                stream,
                len,
                count,
                unordered,
                effort,
            };
            let all = [
                Op::Send { side, stream, len, count, unordered },
                with(stream, len, 1, unordered),
                with(stream, len, count.div_ceil(2), unordered),
                with(stream, len.div_ceil(2), count, unordered),
                with(0, len, count, false),
            ];
            all.into_iter().filter(|new| new != op).collect()
        }
        Op::Reset { side, incoming, first, count } if count > 1 => {
            vec![Op::Reset { side, incoming, first, count: 1 }]
        }
        Op::AddWildcard { side, address } => vec![Op::AddAddress { side, address }],
        Op::Path { mobile, server, to_server, to_mobile } => {
            let with = |to_server, to_mobile| Op::Path { mobile, server, to_server, to_mobile };
            let first = plainer_quality(to_server).into_iter().map(|quality| with(quality, to_mobile));
            let second = plainer_quality(to_mobile).into_iter().map(|quality| with(to_server, quality));
            first.chain(second).collect()
        }
        _ => Vec::new(),
    }
}

fn plainer_quality(quality: Quality) -> Vec<Quality> {
    let good = Quality::GOOD;
    let all = [
        good,
        Quality { loss: 0, ..quality },
        Quality { jitter_ms: 0, ..quality },
        Quality { duplicate: 0, ..quality },
        Quality { corrupt: 0, ..quality },
        Quality { delay_ms: good.delay_ms, ..quality },
        if quality.loss == 100 { Quality::DEAD } else { quality },
    ];
    all.into_iter().filter(|new| *new != quality).collect()
}

const SETUP_CHANGES: &[fn(&mut Plan)] = &[
    |plan| plan.setup.mobile = Tuning::DEFAULT,
    |plan| plan.setup.server = Tuning::DEFAULT,
    |plan| plan.setup.mobile_addresses = 1,
    |plan| plan.setup.server_addresses = 1,
    |plan| plan.setup.mobile_addresses &= plan.setup.mobile_addresses.wrapping_sub(1),
    |plan| plan.setup.heal = Heal::All,
    |plan| plan.setup.names_all = true,
    |plan| plan.setup.plain = true,
    |plan| plan.setup.ending = Ending::MobileShutsDown,
];

/// Changes that set one option back to its default.
const TUNING_CHANGES: &[fn(&mut Tuning)] = &[
    |t| t.controller = Tuning::DEFAULT.controller,
    |t| t.policy = Tuning::DEFAULT.policy,
    |t| t.bicast = Tuning::DEFAULT.bicast,
    |t| t.rto_min_ms = Tuning::DEFAULT.rto_min_ms.min(t.rto_max_ms),
    |t| t.rto_max_ms = Tuning::DEFAULT.rto_max_ms,
    |t| t.sack_delay_ms = Tuning::DEFAULT.sack_delay_ms,
    |t| t.sack_frequency = Tuning::DEFAULT.sack_frequency,
    |t| t.hb_interval_ms = Tuning::DEFAULT.hb_interval_ms,
    |t| t.path_max_retrans = Tuning::DEFAULT.path_max_retrans,
    |t| t.assoc_max_retrans = Tuning::DEFAULT.assoc_max_retrans,
    |t| t.receive_buffer = Tuning::DEFAULT.receive_buffer,
    |t| t.send_buffer = Tuning::DEFAULT.send_buffer,
    |t| t.pmtu = Tuning::DEFAULT.pmtu,
    |t| t.max_burst = Tuning::DEFAULT.max_burst,
    |t| t.max_segments = Tuning::DEFAULT.max_segments,
    |t| t.same_path = Tuning::DEFAULT.same_path,
    |t| t.initial_window = Tuning::DEFAULT.initial_window,
    |t| t.initial_ssthresh = Tuning::DEFAULT.initial_ssthresh,
    |t| t.outbound_streams = Tuning::DEFAULT.outbound_streams,
    |t| t.max_inbound_streams = Tuning::DEFAULT.max_inbound_streams,
    |t| t.demands_data = Tuning::DEFAULT.demands_data,
    |t| t.rack = Tuning::DEFAULT.rack,
    |t| t.prr = Tuning::DEFAULT.prr,
    |t| t.scheduler = Tuning::DEFAULT.scheduler,
    |t| t.interleaving = Tuning::DEFAULT.interleaving,
    |t| t.partial_reliability = Tuning::DEFAULT.partial_reliability,
    |t| t.reconfiguration = Tuning::DEFAULT.reconfiguration,
    |t| t.dynamic_addresses = Tuning::DEFAULT.dynamic_addresses,
    |t| t.peer_may_reset = Tuning::DEFAULT.peer_may_reset,
    |t| t.peer_may_add = Tuning::DEFAULT.peer_may_add,
    |t| t.potentially_failed = Tuning::DEFAULT.potentially_failed,
    |t| t.quick_moves = Tuning::DEFAULT.quick_moves,
    |t| t.paths = Tuning::DEFAULT.paths,
    |t| t.silence_ms = Tuning::DEFAULT.silence_ms,
];
