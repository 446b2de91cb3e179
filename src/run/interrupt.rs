//! Ctrl-C, SIGTERM and SIGHUP (the terminal was closed): the first ends measuring before the next access, the second ends the program
//! as if nobody listened.

use crate::error::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Listen from now on. The flag is set by the first signal.
///
/// # Errors
/// The system refuses to install the handlers.
pub fn listen() -> Result<Arc<AtomicBool>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let hangup = (!ignores(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        // Actions run in the order of registration: the second signal finds the flag set.
        flag::register_conditional_default(signal, Arc::clone(&interrupted))
            .and_then(|_| flag::register(signal, Arc::clone(&interrupted)))
            .map_err(|error| Error::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    }
    Ok(interrupted)
}

/// Whether this process was started to ignore a signal: `nohup` does so with SIGHUP, and a scan
/// begun under it shall go on when the terminal is closed.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}
