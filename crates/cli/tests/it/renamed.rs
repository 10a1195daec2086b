//! Commands of earlier versions: the answer names the new command.

use crate::process::{run, stderr};

#[test]
fn an_old_name_answers_with_the_new_one() {
    for (old, answer) in [
        ("sim", "'sim' is a command of msctp-lab: msctp-lab sim …"),
        ("sweep", "'sweep' is a command of msctp-lab: msctp-lab sweep …"),
        ("rerun", "'rerun' is a command of msctp-lab: msctp-lab rerun …"),
        ("scenario", "'scenario' is a command of msctp-lab: msctp-lab scenario …"),
        ("reproduce", "'reproduce' is a command of msctp-lab: msctp-lab reproduce …"),
        ("emulate", "'emulate' is a command of msctp-lab: msctp-lab emulate …"),
        ("validate", "'validate' is a command of msctp-lab: msctp-lab validate …"),
        ("bench", "'bench' is a command of msctp-lab: msctp-lab bench …"),
        ("compare", "'compare' is a command of msctp-lab: msctp-lab bench policies …"),
        ("metrics", "'metrics' is a command of msctp-lab: msctp-lab scenario metrics …"),
        ("fit", "'fit' is a command of msctp-lab: msctp-lab reproduce fit …"),
        ("top", "'top' has another name: msctp status --watch"),
    ] {
        for args in [&[old][..], &[old, "--help"], &[old, "x.toml", "--set", "a=1"], &["help", old]] {
            let output = run(args);
            assert_eq!(output.status.code(), Some(2), "{args:?}");
            assert_eq!(stderr(&output).lines().next(), Some(&*format!("error: {answer}")), "{args:?}");
        }
    }
}
