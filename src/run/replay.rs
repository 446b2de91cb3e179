//! The report of a scan from its saved accesses.

use super::deliver::deliver;
use super::examine::conclude;
use super::samples_file::{After, SavedOptions};
use super::scan;
use crate::cli::AnalyzeArgs;
use crate::device::wrappers::Replay;
use crate::error::{Error, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Do it. The stages run as they did then, on a device that answers what it answered then.
///
/// # Errors
/// A file that is not complete, or that this version would not have made so.
pub fn analyze(args: &AnalyzeArgs, name: &str, text: &[u8]) -> Result<ExitCode, Error> {
    let begun = Instant::now();
    if args.capacity.is_some() {
        return Err(Error::usage(
            "--capacity is for logs of flashbench, samples tell the size of their device",
        )
        .hint("leave it out"));
    }
    let wrong = |problem: String| {
        Error::failed(format!("{name}: {problem}"))
            .hint("make it anew with: flashfit scan DEVICE --samples FILE")
    };
    let mut replay = Replay::parse(text).map_err(|error| wrong(error.to_string()))?;
    let saved: SavedOptions = serde_json::from_value(replay.head().options.clone())
        .map_err(|error| wrong(format!("line 1: {error}")))?;
    let after: After = serde_json::from_value(replay.ended().clone())
        .map_err(|error| wrong(format!("the last line: {error}")))?;
    let (options, writes) = saved.restore();
    let interrupt = if after.interrupted {
        replay.interrupt_at_end()
    } else {
        Arc::new(AtomicBool::new(false))
    };
    let facts = replay.head().device.clone();
    let scanned = match writes {
        None => scan::scan(&mut replay, options, &interrupt, &mut |_| {}),
        Some(writes) => scan::scan_and_write(&mut replay, writes, options, &interrupt, &mut |_| {}),
    };
    if let Some(line) = replay.difference() {
        let made_by = &replay.head().version;
        let this = env!("CARGO_PKG_VERSION");
        return Err(Error::failed(format!(
            "{name}: from line {line} on, flashfit {this} would have measured something else than flashfit {made_by} did"
        ))
        .hint(format!("analyze it with the flashfit {made_by} that made it, or scan the device anew")));
    }
    // How the run ended is in the report; it is no trouble of this one.
    let examined = conclude(name, facts, scanned, &after, begun.elapsed());
    Ok(deliver(&examined.report, &args.output).finish())
}
