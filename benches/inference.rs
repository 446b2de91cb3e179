//! Prints how often the erase block is told rightly, and at what cost, over all built-in sticks with
//! a visible erase block: `cargo bench --bench inference`, or with `-- --seeds 5` a shorter one
//! (`--sigma 1` for one step only). Everything is in virtual device time, so that the numbers do not depend on the machine; only the
//! last column is CPU time of this process.

mod survey;

use std::io::Write;
use survey::{HEAD, Row, survey, visible};

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        words
            .iter()
            .position(|w| w == name)
            .and_then(|n| words.get(n + 1))
    };
    let seeds: u64 = value("--seeds").and_then(|w| w.parse().ok()).unwrap_or(20);
    let only = value("--only");
    let sigma: Option<f64> = value("--sigma").and_then(|w| w.parse().ok());
    let mut out = std::io::stdout().lock();
    for sigma in sigma.map_or(vec![3.0, 2.0, 1.0], |one| vec![one]) {
        let mut all = Row::default();
        writeln!(out, "step of {sigma} sigma, {seeds} seeds each")?;
        writeln!(out, "{HEAD}")?;
        for (name, profile) in visible() {
            if only.is_none_or(|o| *o == name) {
                let mut row = survey(&profile, sigma, seeds);
                writeln!(out, "{}", row.text(&name))?;
                all.append(row);
            }
        }
        writeln!(out, "{}\n", all.text("all"))?;
    }
    Ok(())
}
