//! A small set that forgets what was not used for the longest time.

use std::collections::{BTreeMap, HashMap};

/// Keys in the order of their last use.
#[derive(Clone, Debug)]
pub(super) struct Lru {
    capacity: usize,
    uses: u64,
    last_use: HashMap<u64, u64>,
    by_use: BTreeMap<u64, u64>,
}

impl Lru {
    /// An empty set of at most `capacity` keys.
    pub(super) fn new(capacity: usize) -> Lru {
        Lru {
            capacity,
            uses: 0,
            last_use: HashMap::new(),
            by_use: BTreeMap::new(),
        }
    }

    /// Whether the key is there. Does not count as a use.
    pub(super) fn contains(&self, key: u64) -> bool {
        self.last_use.contains_key(&key)
    }

    /// Use a key; tells whether it was there.
    pub(super) fn touch(&mut self, key: u64) -> bool {
        self.uses += 1;
        let before = self.last_use.insert(key, self.uses);
        if let Some(use_before) = before {
            self.by_use.remove(&use_before);
        }
        self.by_use.insert(self.uses, key);
        if self.last_use.len() > self.capacity
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.last_use.remove(&oldest);
        }
        before.is_some()
    }

    /// Forget a key.
    pub(super) fn remove(&mut self, key: u64) {
        if let Some(last_use) = self.last_use.remove(&key) {
            self.by_use.remove(&last_use);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_key_goes_first() {
        let mut set = Lru::new(2);
        assert!(!set.touch(1));
        assert!(!set.touch(2));
        assert!(set.touch(1));
        assert!(!set.touch(3));
        assert!(set.contains(1) && set.contains(3) && !set.contains(2));
        set.remove(1);
        assert!(!set.contains(1));
        assert!(!set.touch(4) && set.contains(3));
    }
}
