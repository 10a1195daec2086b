//! `msctp-lab emulate --self-test`: measures the emulator's accuracy on this machine.

use msctp_emu::need;
use msctp_emu::self_test::{MEDIAN_WITHIN, P99_WITHIN, Point, RATE_WITHIN, RATES, SelfTest, run as test};
use msctp_terminal::{Failure, print};
use msctp_units::Span;

pub(super) fn run(each: Span, json: bool) -> Result<(), Failure> {
    need::check().map_err(|missing| Failure::Run(missing.to_string()))?;
    if !json {
        print(|out| {
            writeln!(
                out,
                "| link | achieved | difference | added delay: median | 99 % | greatest | lost | CPUs | |"
            )?;
            writeln!(out, "|---:|---:|---:|---:|---:|---:|---:|---:|---|")
        })?;
    }
    let mut shown = Ok(());
    let result = test(&RATES, each, |point| {
        if !json && shown.is_ok() {
            shown = print(|out| writeln!(out, "{}", row(point)));
        }
    });
    shown?;
    let result = result.map_err(|e| Failure::Run(format!("cannot run the self-test: {e}")))?;
    print(|out| {
        if json {
            serde_json::to_writer_pretty(&mut *out, &result)?;
            return writeln!(out);
        }
        writeln!(out, "\n{}", machine(&result))
    })?;
    if result.passed {
        return Ok(());
    }
    let failed = result.points.iter().filter(|point| point.required && !point.passed);
    let failed: Vec<String> = failed.map(|point| format!("{} Mbps", point.rate / 1_000_000)).collect();
    Err(Failure::Run(format!(
        "this machine cannot keep up at {}: want a rate within {} %, added delay within {} ms in the median and {} ms at the 99th percentile, nothing lost",
        failed.join(", "),
        100.0 * RATE_WITHIN,
        1e3 * MEDIAN_WITHIN,
        1e3 * P99_WITHIN
    )))
}

fn row(point: &Point) -> String {
    let link = point.rate as f64;
    let ms = |seconds: f64| format!("{:.3} ms", 1e3 * seconds);
    format!(
        "| {} Mbps | {:.3} Mbps | {:+.2} % | {} | {} | {} | {} of {} | {:.2} | {} |",
        point.rate / 1_000_000,
        point.achieved / 1e6,
        100.0 * (point.achieved / link - 1.0),
        ms(point.median),
        ms(point.p99),
        ms(point.max),
        point.lost,
        point.packets,
        point.cpu,
        match (point.passed, point.required) {
            (true, _) => "ok",
            (false, true) => "**inaccurate**",
            (false, false) => "beyond this machine",
        }
    )
}

fn machine(result: &SelfTest) -> String {
    format!(
        "{} processors, load {:.1}, {} real-time priority: accurate up to {} Mbps",
        result.processors,
        result.load,
        if result.real_time { "with" } else { "without" },
        result.accurate_to / 1_000_000
    )
}
