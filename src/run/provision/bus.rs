//! Who may be timed, when others hang on the same bus: one at a time, and nobody writes meanwhile.

use crate::device::sysfs::{Disk, shared_bus};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// All buses that were met.
#[derive(Default)]
pub struct Buses {
    by_name: Mutex<BTreeMap<String, Bus>>,
}

/// One bus, shared by all devices on it. A simulated stick, which keeps its own clock, and a card in one of
/// the kernel's own readers, which have separate wires, have one for themselves.
#[derive(Clone, Default)]
pub struct Bus {
    name: String,
    turn: Arc<RwLock<()>>,
}

/// Held while a device is timed.
pub struct Timing<'a>(
    #[expect(dead_code, reason = "held, not looked at")] RwLockWriteGuard<'a, ()>,
);

/// Held while a device is written.
pub struct Writing<'a>(
    #[expect(dead_code, reason = "held, not looked at")] RwLockReadGuard<'a, ()>,
);

impl Buses {
    /// The bus of a device.
    pub fn of(&self, disk: Option<&Disk>) -> Bus {
        disk.and_then(shared_bus)
            .map_or_else(Bus::default, |name| self.named(&name))
    }

    fn named(&self, name: &str) -> Bus {
        let mut buses = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Bus {
            name: name.to_owned(),
            ..Bus::default()
        };
        buses.entry(name.to_owned()).or_insert_with(new).clone()
    }
}

impl Bus {
    /// Wait until nobody else is timed or written. `wait` is told the bus when it takes time.
    pub fn timing(&self, wait: &dyn Fn(&str)) -> Timing<'_> {
        // A thread that panicked left nothing half-done behind this lock.
        if let Ok(turn) = self.turn.try_write() {
            return Timing(turn);
        }
        wait(&self.name);
        Timing(self.turn.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Wait until nobody else is timed.
    pub fn writing(&self, wait: &dyn Fn(&str)) -> Writing<'_> {
        if let Ok(turn) = self.turn.try_read() {
            return Writing(turn);
        }
        wait(&self.name);
        Writing(self.turn.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_one_bus_one_is_timed_and_others_write_only_when_nobody_is() {
        let buses = Buses::default();
        let (one, same, other) = (
            buses.named("usb1"),
            buses.named("usb1"),
            buses.named("usb2"),
        );
        let silent = |_: &str| panic!("nobody else is there");
        let timed = one.timing(&silent);
        assert!(same.turn.try_write().is_err() && same.turn.try_read().is_err());
        drop(other.timing(&silent));
        drop(timed);
        let written = one.writing(&silent);
        drop(same.writing(&silent));
        assert!(same.turn.try_write().is_err());
        drop(written);
        drop(same.timing(&silent));
    }

    #[test]
    fn whoever_waits_says_for_which_bus_and_comes_to_his_turn() {
        let buses = Buses::default();
        let bus = buses.named("usb3");
        let (waits, waited) = std::sync::mpsc::channel();
        let first = bus.timing(&|_| ());
        std::thread::scope(|scope| {
            let second = buses.named("usb3");
            scope.spawn(move || drop(second.timing(&|name| waits.send(name.to_owned()).unwrap())));
            assert_eq!(waited.recv().unwrap(), "usb3");
            drop(first);
        });
        assert!(bus.turn.try_write().is_ok());
    }

    #[test]
    fn what_hangs_on_no_bus_waits_for_nobody() {
        let buses = Buses::default();
        let silent = |_: &str| panic!("nobody else is there");
        let (one, other) = (buses.of(None), buses.of(None));
        let _timed = one.timing(&silent);
        drop(other.timing(&silent));
    }
}
