//! A small set that forgets what was not used for the longest time.

use std::collections::{HashMap, VecDeque};

/// Keys in the order of their last use.
#[derive(Clone, Debug)]
pub(super) struct Lru {
    capacity: usize,
    uses: u64,
    last_use: HashMap<u64, u64>,
    /// Every use in order; the ones that are no longer a key's last are skipped, not removed.
    queue: VecDeque<(u64, u64)>,
}

impl Lru {
    /// An empty set of at most `capacity` keys.
    pub(super) fn new(capacity: usize) -> Lru {
        Lru {
            capacity,
            uses: 0,
            last_use: HashMap::new(),
            queue: VecDeque::new(),
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
        self.queue.push_back((self.uses, key));
        while self.last_use.len() > self.capacity {
            match self.queue.pop_front() {
                Some((used, key)) if self.last_use.get(&key) == Some(&used) => {
                    self.last_use.remove(&key);
                }
                Some(_) => {}
                None => break,
            }
        }
        // Many uses of few keys: drop the skipped ones before they pile up.
        if self.queue.len() > 2 * self.last_use.len() + 64 {
            let last_use = &self.last_use;
            self.queue
                .retain(|(used, key)| last_use.get(key) == Some(used));
        }
        before.is_some()
    }

    /// Forget a key.
    pub(super) fn remove(&mut self, key: u64) {
        self.last_use.remove(&key);
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

    #[test]
    fn many_uses_of_few_keys_take_no_memory() {
        let mut set = Lru::new(100);
        set.touch(50);
        for i in 0..10_000 {
            set.touch(i % 3);
        }
        assert!(set.contains(50) && set.queue.len() < 100);
        for i in 100..199 {
            set.touch(i);
        }
        assert!(!set.contains(50) && !set.contains(1) && set.contains(0));
        assert_eq!(set.last_use.len(), 100);
    }
}
