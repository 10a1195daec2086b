//! docs/library.md shows the compiled example.

use std::fs;
use std::path::Path;

#[test]
fn the_program_of_the_library_page_is_the_compiled_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/library.md")).expect("docs/library.md");
    let example = fs::read_to_string(root.join("crates/msctp/examples/hello.rs")).expect("the example");
    let (_, program) = example.split_once("\n\n").expect("the program comes after its description");
    let block = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    assert_eq!(
        block.expect("a block of Rust"),
        program,
        "copy crates/msctp/examples/hello.rs into docs/library.md"
    );
    assert!(page.contains("[dependencies]\nmsctp = "), "what to put into Cargo.toml");
}
