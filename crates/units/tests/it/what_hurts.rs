//! The tests that docs/what-hurts.md names exist, and each of its rows names one.

use std::fs;
use std::path::Path;

#[test]
fn every_row_names_an_existing_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    let page = fs::read_to_string(root.join("docs/what-hurts.md")).expect("docs/what-hurts.md");
    let rows = page.lines().enumerate().filter(|(_, line)| {
        line.starts_with("| ") && !line.starts_with("| thread |") && !line.starts_with("| attack |")
    });
    let mut count = 0;
    for (number, row) in rows {
        let at = format!("docs/what-hurts.md:{}", number + 1);
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [.., held_by] = cells[..] else { panic!("{at}: no cells") };
        assert_eq!(cells.len(), 4, "{at}: want four cells");
        let names: Vec<&str> = held_by.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{at}: names no test");
        for name in names {
            let (file, test) =
                name.split_once("::").unwrap_or_else(|| panic!("{at}: {name}: want FILE::TEST"));
            let source =
                fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{at}: {file}: {error}"));
            let is_it = |line: &str| line.split_once(&format!("fn {test}(")).is_some();
            let found = source.lines().position(is_it);
            let attributes = |line: usize| source.lines().take(line).collect::<Vec<_>>();
            let is_test = found
                .is_some_and(|line| attributes(line).iter().rev().take(3).any(|line| line.contains("test")));
            // A property test is inside a `proptest!`.
            assert!(
                is_test || found.is_some() && source.contains("proptest!"),
                "{at}: {file} has no test {test}"
            );
        }
        count += 1;
    }
    assert!(count > 20, "{count} rows");
}
