//! Which simulated media exist in this process: opening a stick again finds what was written.

use super::profile::Profile;
use super::rng::mix;
use super::store::{Store, specimen};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The media that were opened by name.
static MEDIA: Mutex<BTreeMap<u64, Medium>> = Mutex::new(BTreeMap::new());

/// The lasting part of a stick.
#[derive(Clone, Debug)]
pub(super) struct Medium {
    store: Arc<Mutex<Store>>,
    pulled: Arc<AtomicBool>,
}

impl Medium {
    /// A medium of its own.
    pub(super) fn new(store: Store) -> Medium {
        Medium {
            store: Arc::new(Mutex::new(store)),
            pulled: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Its contents.
    pub(super) fn store(&self) -> MutexGuard<'_, Store> {
        // A panic elsewhere leaves plain bytes behind, nothing half-built.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It was pulled, or its power was cut.
    pub(super) fn pull(&self) {
        self.pulled.store(true, Ordering::Relaxed);
    }

    /// Whether it was ever pulled or its power cut.
    pub(super) fn was_pulled(&self) -> bool {
        self.pulled.load(Ordering::Relaxed)
    }
}

/// The medium of this specimen; a new one at first sight.
pub(super) fn medium(profile: &Profile) -> Medium {
    // A profile that was edited meanwhile is another stick: its size counts too.
    let key = mix(specimen(profile) ^ mix(profile.capacity.get()));
    let mut media = MEDIA.lock().unwrap_or_else(PoisonError::into_inner);
    media
        .entry(key)
        .or_insert_with(|| Medium::new(Store::new(profile)))
        .clone()
}
