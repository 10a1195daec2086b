//! Errors of sweep files.

use super::*;

/// Replaces the first text of [`TEXT`] by the second: the third is the error, without the file's name.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "seeds = \"1..3\"",
        "seeds = \"3\"",
        "4: seeds: \"3\" is not a range of seeds: want seeds = \"1..30\" (both included), or a list, such as [1, 7]",
    ),
    (
        "seeds = \"1..3\"",
        "seeds = \"1..1000000000000\"",
        "4: seeds: \"1..1000000000000\" has more than 1000000 seeds: want at most 1000000 runs",
    ),
    (
        "seeds = \"1..3\"",
        "seeds = \"1..3\"\nseries = \"all\"",
        "5: series: \"all\" is a string: want true or false",
    ),
    ("seeds = \"1..3\"", "", " seeds: missing: want seeds = \"1..30\""),
    ("[axis.loss]", "[axes.loss]", "11: axes: unknown key; did you mean \"axis\"?"),
    ("set = \"link.wifi.loss\"", "", "11: axis.loss.set: missing: want set = \"link.wlan.loss\""),
    (
        "values = [0, 0.02]",
        "values = 0.02",
        "13: axis.loss.values: 0.02 is a number: want a list, such as [0, 0.01]",
    ),
    (
        "values = [0, 0.02]",
        "values = [0, 0]",
        "13: axis.loss.values: 0 is listed twice: want different values",
    ),
    (
        "gap.of = \"handover.gap\"",
        "gap.of = \"handover.gpa\"",
        "16: metric.gap.of: there is no metric \"handover.gpa\"; did you mean \"handover.gap\"?; msctp-lab scenario metrics lists them",
    ),
    (
        "metric = \"after\"",
        "metric = \"aftr\"",
        "20: comparison.gain.metric: there is no [metric.aftr]; did you mean \"after\"?",
    ),
    (
        "policy = \"conservative\" }",
        "policy = \"conservativ\" }",
        "21: comparison.gain.against.policy: the axis policy has no value \"conservativ\"; did you mean \"conservative\"?",
    ),
    (
        "policy = \"inherit\", loss = 0",
        "loss = 0",
        "27: claim.0.a: names no policy, but above does: want a = { policy = \"…\" }",
    ),
    (
        "above = ",
        "margin = ",
        "24: claim.0: want exactly one of below, above, within, level, at_least, at_most, not_below, not_above, mostly_above, rarely_above, agrees, such as below = { policy = \"inherit\" }",
    ),
    ("id = \"H2\"", "id = \"H1\"", "31: claim.1.id: \"H1\" is used twice: want ids that differ"),
    (
        "below = \"20Mbps\"",
        "below = \"20\"",
        "39: claim.2.below: \"20\" is not a rate: want a number of at least 0 with a unit, such as 384kbps, 11Mbps, 1Gbps or 9600bps",
    ),
    (
        "scenario = \"../walk.toml\"",
        "scenario = \"wlak.toml\"",
        "3: scenario: cannot read folder/sweeps/wlak.toml",
    ),
    (
        "handover_policy\"\nvalues",
        "handover_polcy\"\nvalues",
        "8: axis.policy.set: with policy conservative, loss 0: folder/walk.toml: sctp.server.handover_polcy: unknown key; did you mean \"handover_policy\"?",
    ),
    (
        "[axis.loss]\nset = \"link.wifi.loss\"",
        "[axis.loss]\nset = \"link.wfi.loss\"",
        "12: axis.loss.set: with policy conservative, loss 0: override link.wfi.loss=0: there is no link \"wfi\"; did you mean \"wifi\"?",
    ),
    (
        "{ \"action.move.at\" = \"3s\"",
        "{ link = { wifi = 3 }",
        "5: set.link: want the whole key in quotes, such as \"link.wlan.rate\" = \"2Mbps\"",
    ),
    (
        "values = [0, 0.02]",
        "values = [0, 2]",
        "13: axis.loss.values: with policy conservative, loss 2: folder/walk.toml: link.wifi.loss: 2 is not a \
         probability: want 0 to 1",
    ),
    (
        "set = \"link.wifi.loss\"\nvalues = [0, 0.02]",
        "set = \"sctp.server\"\nvalues = [0]",
        "11: axis.loss: with policy conservative, loss 0: the axes policy and loss both set \
         sctp.server.handover_policy, so that policy has no effect: want it in one of them",
    ),
    (
        "set = \"link.wifi.loss\"",
        "set = \"seed\"",
        "12: axis.loss.set: the seed of a scenario has no effect in a sweep: want seeds = \"1..30\"",
    ),
    (
        "gap.of = \"handover.gap\"",
        "gap = { of = \"handover.gap\", between = [\"9s\", \"8s\"] }",
        "16: metric.gap.between: with policy conservative, loss 0: 9s is above 8s: want the smaller value first",
    ),
    (
        "[axis.loss]",
        "[axis.seed]",
        "11: axis.seed: the tables would have two columns \"seed\": want another name",
    ),
    (
        "[axis.loss]",
        "[axis.gap_s]",
        "11: axis.gap_s: the tables would have two columns \"gap_s\": want another name",
    ),
    ("below = \"20Mbps\"", "below = inf", "39: claim.2.below: inf is not finite: want a number"),
    (
        "[axis.loss]",
        "[axis.gain]",
        "11: axis.gain: a metric or comparison has this name: want names that differ",
    ),
    (
        "seeds = \"1..3\"",
        "seeds = [2, -1]",
        "4: seeds: -1 is negative: want seeds = \"1..30\" (both included), or a list, such as [1, 7]",
    ),
    (
        "seeds = \"1..3\"",
        "seeds = \"1..1000000000000\"",
        "4: seeds: \"1..1000000000000\" has more than 1000000 seeds: want at most 1000000 runs",
    ),
    (
        "scenario = \"../walk.toml\"",
        "scenario = \"../..\"",
        "3: scenario: is the folder of this file: want the path of a file, such as \"walk.toml\"",
    ),
    (
        "[comparison.gain]",
        "[estimate]\ngain = { is = \"{after}\" }\n[comparison.gain]",
        "20: estimate.gain: a comparison has this name: want names that differ",
    ),
    (
        "[comparison.gain]",
        "[estimate]\nafter = { is = \"{gap}\" }\n[comparison.gain]",
        "20: estimate.after: a metric has this name: want names that differ",
    ),
    (
        "[comparison.gain]",
        "[estimate]\nloss = { is = \"{gap}\" }\n[comparison.gain]",
        "20: estimate.loss: an axis has this name: want names that differ",
    ),
    (
        "[comparison.gain]",
        "[estimate]\nmean = { is = \"{after}\", axes = [\"loss\"] }\n[comparison.gain]",
        "20: estimate.mean.axes: has no effect beside is: want one of them",
    ),
    (
        "[comparison.gain]",
        "[estimate]\nmean = { is = \"{after, loss}\" }\n[comparison.gain]",
        "20: estimate.mean.is: \"loss\": expected axis = value",
    ),
    (
        "metric = \"after\"\na = ",
        "metric = \"aftr\"\na = ",
        "26: claim.0.metric: there is no metric, comparison or estimate \"aftr\"; did you mean \"after\"?",
    ),
    (
        "\n[[claim]]\nid = \"H2\"",
        "[[claim.part]]\nmetric = \"after\"\nbelow = \"1Mbps\"\n[[claim]]\nid = \"H2\"",
        "26: claim.0.metric: has no effect beside part: want one of them",
    ),
    (
        "\n[[claim]]\nid = \"H2\"",
        "[[claim.check]]\nmetric = \"after\"\nbelow = \"1Mbps\"\n[[claim]]\nid = \"H2\"",
        "26: claim.0.metric: has no effect beside check: want one of them",
    ),
    (
        "above = { policy = \"conservative\" }",
        "above = { policy = [\"conservative\", \"inherit\"] }",
        "28: claim.0.above.policy: has 2 values: want one, and a comparison of its own with each",
    ),
    (
        "against = { policy = \"conservative\" }",
        "against = { policy = [\"conservative\", \"inherit\"] }",
        "21: comparison.gain.against.policy: has 2 values: want one, and a comparison of its own with each",
    ),
    (
        "above = { policy = \"conservative\" }",
        "mostly_above = \"1Mbps\"\nover = { loss = [0, 0.02] }",
        "29: claim.0.over: has no effect with mostly_above: want the values in a, for each of which it must hold",
    ),
    (
        "above = { policy = \"conservative\" }",
        "rarely_above = { policy = \"conservative\" }",
        "28: claim.0.rarely_above: has no such value: want a number",
    ),
    (
        "above = { policy = \"conservative\" }",
        "best = \"policy\"\nmargin = \"9%\"",
        "29: claim.0.margin: has no effect beside best: want one of them",
    ),
    (
        "above = { policy = \"conservative\" }",
        "best = \"policy\"\nbelow = { policy = \"conservative\" }",
        "29: claim.0.below: has no effect beside best: want one of them",
    ),
    (
        "above = { policy = \"conservative\" }",
        "nearer = { policy = \"conservative\" }\nto_than = { policy = \"inherit\" }\nover = { loss = 0 }",
        "30: claim.0.over: has no effect beside nearer: want one of them",
    ),
    (
        "above = { policy = \"conservative\" }",
        "nearer = { policy = \"conservative\" }\nto_than = { policy = \"conservative\" }",
        "27: claim.0.a: compares a cell with itself (policy conservative, loss 0): want different cells",
    ),
    (
        "above = { policy = \"conservative\" }",
        "above = { policy = \"inherit\" }",
        "27: claim.0.a: compares a cell with itself (policy inherit, loss 0): want different cells",
    ),
    (
        "above = { policy = \"conservative\" }",
        "above = { policy = \"conservative\" }\nthan = \"gap\"",
        "29: claim.0.than: has another unit than handover.after: want the same unit",
    ),
    (
        "above = { policy = \"conservative\" }",
        "above = 5\nthan = \"gap\"",
        "29: claim.0.than: has no effect with above: want it with a relation to other cells",
    ),
    (
        "above = { policy = \"conservative\" }",
        "above = { policy = \"conservative\" }\nlinear = \"80%\"",
        "29: claim.0.linear: has no effect beside above: want one of them",
    ),
    (
        "below = \"20Mbps\"",
        "below = \"20Mbps\"\nmissing = \"skip\"",
        "40: claim.2.missing: has no effect with below: want it with mostly_above or rarely_above",
    ),
    (
        "below = \"20Mbps\"",
        "agrees = \"20Mbps\"",
        "39: claim.2.agrees: has no such value: want a cell, such as { policy = \"inherit\" }",
    ),
    (
        "above = { policy = \"conservative\" }",
        "nearer = { policy = \"conservative\" }\nto_than = { policy = [] }",
        "29: claim.0.to_than.policy: has 0 values: want one, and a comparison of its own with each",
    ),
];

#[test]
fn faults_are_named_with_their_line_their_key_and_the_remedy() {
    let fault = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from}");
        Sweep::read(&TEXT.replacen(from, to, 1), "folder/sweeps/try.toml", &open).unwrap_err().to_string()
    };
    let found: Vec<String> = FAULTS.iter().map(|(from, to, _)| fault(from, to)).collect();
    let wanted: Vec<String> =
        FAULTS.iter().map(|(.., want)| format!("folder/sweeps/try.toml:{want}")).collect();
    assert_eq!(found, wanted);
}

/// An override with `{name}` is compared with the other values of its axis, each with its own text.
#[test]
fn the_values_of_an_axis_are_at_fault_if_another_is_accepted() {
    let axis = "[[axis.rate.value]]\nname = \"r\"\nwith = { link = \"wifi\" }\n\
                [axis.loss]\nset = \"link.{link}.loss\"\nvalues = [2, 0]\n";
    let (start, end) = (TEXT.find("[axis.policy]").unwrap(), TEXT.find("[metric]").unwrap());
    let text = TEXT[..start].to_owned() + axis + &TEXT[end..TEXT.find("[comparison.gain]").unwrap()];
    let error = Sweep::read(&text, "folder/sweeps/try.toml", &open).unwrap_err().to_string();
    assert!(error.contains(":12: axis.loss.values: with rate r, loss 2: "), "{error}");
}
