//! Values that axes draw from a seed.

use super::*;

/// A draw is checked for every seed before the first run, and its stream is named by `with`.
#[test]
fn draws_are_checked_before_the_first_run() {
    let file = |draw: &str| {
        let axis = format!("[[axis.move.value]]\nname = \"m\"\nwith = {{ s = \"A\" }}\ndraw = {draw}\n");
        let start = TEXT.find("[axis.policy]").unwrap();
        let end = TEXT.find("[metric]").unwrap();
        let metric = TEXT.find("[comparison.gain]").unwrap();
        let text = TEXT[..start].replace("\"1..3\"", "\"1..30\"") + &axis + &TEXT[end..metric];
        Sweep::read(&text, "folder/sweeps/try.toml", &open)
    };
    let late = file("{ \"action.move.at\" = [\"2s\", \"9.5s\"] }").unwrap_err().to_string();
    let place = ":7: axis.move.value.m: with move m: seed ";
    assert!(late.contains(place) && late.contains("is after the end"), "{late}");
    let first_seed = file("{ \"action.move.at\" = [\"60s\", \"61s\"] }").unwrap_err().to_string();
    assert!(first_seed.contains(":7: axis.move.value.m: with move m: "), "{first_seed}");
    let first = |draw: &str| file(draw).unwrap().cells[0].overrides(1).pop().unwrap();
    let named = first("{ \"action.move.at\" = [\"2s\", \"6s\", \"c{s}\"] }");
    assert_eq!(named, first("{ \"action.move.at\" = [\"2s\", \"6s\", \"cA\"] }"));
    assert_ne!(named, first("{ \"action.move.at\" = [\"2s\", \"6s\", \"cB\"] }"));
    let unknown = file("{ \"action.move.at\" = [\"2s\", \"6s\", \"c{t}\"] }").unwrap_err().to_string();
    assert!(unknown.contains("no axis value defines {t}"), "{unknown}");
    for (draw, fault) in [
        ("handover = \"wifi\", within = 12", "within: has no effect beside handover: want one of them"),
        (
            "packets = 3, from = 10, within = 50, plus = \"2s\"",
            "plus: has no effect beside packets: want one of them",
        ),
    ] {
        let found = file(&format!("{{ \"link.wifi.loss\" = {{ {draw} }} }}")).unwrap_err().to_string();
        assert!(found.ends_with(&format!(".draw.link.wifi.loss.{fault}")), "{found}");
    }
}

/// The draws of every axis follow the sets of all axes.
#[test]
fn a_set_that_a_draw_replaces_is_without_effect() {
    let fault = |key: &str| {
        let axes = format!(
            "[[axis.first.value]]\nname = \"a\"\n\
             draw = {{ \"link.wifi.loss\" = {{ packets = 3, from = 10, within = 50 }} }}\n\
             [axis.second]\nset = \"{key}\"\nvalues = [0]\n"
        );
        let (start, end) = (TEXT.find("[axis.policy]").unwrap(), TEXT.find("[metric]").unwrap());
        let text = TEXT[..start].to_owned() + &axes + &TEXT[end..TEXT.find("[comparison.gain]").unwrap()];
        Sweep::read(&text, "folder/sweeps/try.toml", &open).unwrap_err().to_string()
    };
    for key in ["link.wifi.loss", "link.wifi.loss.share"] {
        let want = format!(
            "axis.first: with first a, second 0: the axes second and first both set {key}, so that second \
             has no effect: want it in one of them"
        );
        assert!(fault(key).ends_with(&want), "{}", fault(key));
    }
}

/// The texts of any axis, and of the sweep, name streams and links.
#[test]
fn a_draw_has_the_texts_of_its_cell() {
    let sweep = |stream: &str| {
        let axes = format!(
            "[[axis.a.value]]\nname = \"x\"\nwith = {{ s = \"A\" }}\n\
             [[axis.b.value]]\nname = \"y\"\ndraw = {{ \"link.wifi.loss\" = \
             {{ packets = 3, from = 10, within = 50, stream = \"{stream}\" }} }}\n"
        );
        let (start, end) = (TEXT.find("[axis.policy]").unwrap(), TEXT.find("[metric]").unwrap());
        let text = TEXT[..start].to_owned() + &axes + &TEXT[end..TEXT.find("[comparison.gain]").unwrap()];
        Sweep::read(&text, "folder/sweeps/try.toml", &open)
    };
    let lost = |stream: &str| sweep(stream).unwrap().cells[0].overrides(2).pop().unwrap();
    assert_eq!(lost("c{s}"), lost("cA"));
    assert_ne!(lost("c{s}"), lost("cB"));
    let unknown = sweep("c{t}").unwrap_err().to_string();
    assert!(unknown.contains("axis.b.value.y: no axis value defines {t}"), "{unknown}");
    let draw = &sweep("cA").unwrap().cells[0].draws[0];
    let Drawing::Packets(numbers) = draw.drawn(2) else { panic!("{draw:?}") };
    assert_eq!((numbers.len(), numbers[0]), (3, 10));
    assert!(lost("cA").ends_with(&format!("packets=[10,{},{}]}}", numbers[1], numbers[2])), "{numbers:?}");
}
