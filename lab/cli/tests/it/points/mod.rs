//! The commands of a report's points: decodes those of the page, runs them, and compares what they print with
//! the figures' CSV.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::PROGRAM;

/// A series of a figure with its commands.
struct Series {
    slug: String,
    name: String,
    commands: Vec<String>,
    /// The rows of its points in the CSV.
    rows: Vec<Vec<String>>,
}

/// Runs the first command of the page that contains each text, and compares its values. Fails if there is no
/// such command. Commands run in `dir`.
pub(crate) fn repeat(report: &Path, dir: &Path, texts: &[&str]) {
    let all = series(report);
    for series in &all {
        for (row, command) in series.rows.iter().zip(&series.commands) {
            assert_eq!(row.last(), Some(command), "{}: the page and the CSV", series.slug);
        }
    }
    for text in texts {
        let places =
            all.iter().flat_map(|series| (0..series.commands.len()).map(move |place| (series, place)));
        let found = places.into_iter().find(|(series, place)| series.commands[*place].contains(text));
        let (series, place) = found.unwrap_or_else(|| panic!("no command has {text:?}"));
        compare(series, place, dir);
    }
}

fn compare(series: &Series, place: usize, dir: &Path) {
    let Series { slug, name, commands, rows } = series;
    let own = Path::new(PROGRAM).parent().unwrap();
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
    let done = Command::new("sh").args(["-c", &commands[place]]).env("PATH", path).current_dir(dir).output();
    let done = done.unwrap();
    let printed = String::from_utf8(done.stdout).unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && errors.is_empty(), "{slug}, {name}: {}: {errors}", commands[place]);
    let same = |printed: f64, drawn: &str| {
        let drawn: f64 = drawn.parse().unwrap();
        (printed - drawn).abs() <= 1e-9 * drawn.abs().max(1.0)
    };
    if commands.len() == rows.len() && !printed.contains(',') {
        let value = printed.trim().parse().unwrap_or_else(|_| panic!("{printed:?}: {}", commands[place]));
        assert!(same(value, &rows[place][2]), "{slug}, {name}: {value}, drawn {}", rows[place][2]);
        return;
    }
    let point = |line: &str| line.split_once(',').map(|(x, y)| [x, y].map(|n| n.parse::<f64>().unwrap()));
    let points: Vec<[f64; 2]> = printed.lines().filter_map(point).collect();
    for row in rows {
        let found = points.iter().find(|[x, _]| same(*x, &row[1]));
        let [_, y] = found.unwrap_or_else(|| panic!("{slug}, {name}: no point at {}", row[1]));
        assert!(same(*y, &row[2]), "{slug}, {name}: {y} at {}, drawn {}", row[1], row[2]);
    }
}

fn series(report: &Path) -> Vec<Series> {
    let page = std::fs::read_to_string(report.join("index.html")).unwrap();
    let data = page.split("<script id=\"points\" type=\"application/json\">").nth(1).expect("commands");
    let data: Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
    let part = |index: &Value| data["parts"][index.as_u64().unwrap() as usize].as_str().unwrap();
    let command = |parts: &Value| parts.as_array().unwrap().iter().map(part).collect::<String>();
    let mut all = Vec::new();
    for (slug, panel) in data["panels"].as_object().unwrap() {
        let csv = std::fs::read_to_string(report.join(format!("figures/{slug}.csv"))).unwrap();
        let rows: Vec<Vec<String>> = csv.lines().skip(1).map(cells).collect();
        for series in panel.as_array().unwrap() {
            let name = series["name"].as_str().unwrap().to_owned();
            let rows = rows.iter().filter(|row| row[0] == name).cloned().collect();
            let commands = series["commands"].as_array().unwrap().iter().map(command).collect();
            all.push(Series { slug: slug.clone(), name, commands, rows });
        }
    }
    all
}

/// Splits a line of CSV.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if is_quoted && rest.next_if_eq(&'"').is_some() => cells.last_mut().unwrap().push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            _ => cells.last_mut().unwrap().push(c),
        }
    }
    cells
}
