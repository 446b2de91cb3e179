//! Ctrl-C and SIGTERM: the first ends measuring before the next access, the second ends the program
//! as if nobody listened.

use crate::error::Error;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Listen from now on. The flag is set by the first signal.
///
/// # Errors
/// The system refuses to install the handlers.
pub fn listen() -> Result<Arc<AtomicBool>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Actions run in the order of registration: the second signal finds the flag set.
        flag::register_conditional_default(signal, Arc::clone(&interrupted))
            .and_then(|_| flag::register(signal, Arc::clone(&interrupted)))
            .map_err(|error| Error::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    }
    Ok(interrupted)
}
