//! Prints what flashfit with write tests costs next to flashbench's classical procedure on the same
//! simulated sticks: `cargo bench --bench classical`, or with `-- --only corsair-voyager` for one.
//!
//! Time is the virtual time of the stick, bytes are those that the host wrote, erases are erased
//! blocks. The classical procedure is counted twice: with every run to its end, and broken off by an
//! impatient expert after two slow lines.

mod procedure;

use flashfit::device::simulated::Profile;
use procedure::{Spent, classical, flashfit};
use std::io::Write;

/// Sticks whose values come from public logs.
const STICKS: [&str; 5] = [
    "corsair-voyager",
    "kingston-dt101g2",
    "readme-card",
    "sandisk-32g",
    "intel-x25",
];

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let only = words
        .iter()
        .position(|w| w == "--only")
        .and_then(|n| words.get(n + 1));
    let names: Vec<&str> = match only {
        Some(name) => vec![name.as_str()],
        None => STICKS.to_vec(),
    };
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:<18} {:<22} {:>11} {:>13} {:>9} {:>28}",
        "stick", "procedure", "device s", "MiB written", "erases", "times flashfit's"
    )?;
    for name in names {
        let Some(profile) = Profile::builtin(name) else {
            writeln!(out, "{name}: no such stick")?;
            continue;
        };
        let (_, own) = flashfit(&profile, 1);
        writeln!(out, "{}", line(name, "flashfit", &own, None))?;
        for (what, patient) in [("classical", true), ("classical, broken off", false)] {
            let spent = classical(&profile, 1, patient);
            writeln!(out, "{}", line("", what, &spent, Some(own.ratios(&spent))))?;
        }
    }
    Ok(())
}

fn line(name: &str, what: &str, spent: &Spent, ratios: Option<[f64; 3]>) -> String {
    let ratios = ratios.map_or(String::new(), |[time, bytes, erases]| {
        format!("{time:>8.0} {bytes:>9.0} {erases:>9.0}")
    });
    format!(
        "{name:<18} {what:<22} {:>11.1} {:>13.1} {:>9} {ratios:>28}",
        spent.time.as_secs_f64(),
        spent.wear.host_bytes.get() as f64 / f64::from(1 << 20),
        spent.wear.erases,
    )
    .trim_end()
    .to_owned()
}
