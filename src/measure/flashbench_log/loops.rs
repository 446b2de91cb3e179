//! `for i in 1 2 3; do flashbench --open-au-nr=$i …`: one command line, several tables.

/// More tables than this follow no single loop.
const LONGEST: usize = 256;

/// A shell loop over numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Loop {
    pub variable: String,
    values: Vec<u64>,
    state: State,
    /// Numbers behind `seq` so far.
    sequence: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Variable,
    In,
    Values,
    Sequence,
}

impl Loop {
    /// Take one word behind `for`; false when the loop's head ends here.
    pub(super) fn accept(&mut self, word: &str) -> bool {
        match self.state {
            State::Variable => {
                word.clone_into(&mut self.variable);
                self.state = State::In;
                true
            }
            State::In => {
                self.state = State::Values;
                word == "in"
            }
            State::Values if word == "do" => false,
            State::Values => {
                if word == "seq" {
                    self.state = State::Sequence;
                } else if let Some((from, to)) = braces(word) {
                    self.push_range(from, 1, to);
                } else if let Ok(number) = word.parse() {
                    self.push(number);
                }
                true
            }
            State::Sequence => match word.parse() {
                Ok(number) => {
                    self.sequence.truncate(2);
                    self.sequence.push(number);
                    true
                }
                Err(_) => false,
            },
        }
    }

    /// The value of the variable in the given round.
    pub(super) fn value(&self, round: usize) -> Option<u64> {
        if self.values.is_empty() {
            let (from, step, to) = match self.sequence[..] {
                [to] => (1, 1, to),
                [from, to] => (from, 1, to),
                [from, step, to] => (from, step, to),
                _ => return None,
            };
            let value = from.checked_add(step.checked_mul(u64::try_from(round).ok()?)?)?;
            return (value <= to).then_some(value);
        }
        self.values.get(round).copied()
    }

    fn push(&mut self, value: u64) {
        if self.values.len() < LONGEST {
            self.values.push(value);
        }
    }

    fn push_range(&mut self, from: u64, step: usize, to: u64) {
        (from..=to)
            .step_by(step)
            .take(LONGEST)
            .for_each(|value| self.push(value));
    }
}

/// `{1..7}`.
fn braces(word: &str) -> Option<(u64, u64)> {
    let (from, to) = word
        .strip_prefix('{')?
        .strip_suffix('}')?
        .split_once("..")?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(head: &str) -> Vec<u64> {
        let mut read = Loop::default();
        for word in head.split(' ') {
            if !read.accept(word) {
                break;
            }
        }
        assert_eq!(read.variable, "i");
        (0..)
            .map_while(|round| read.value(round))
            .take(20)
            .collect()
    }

    #[test]
    fn the_values_of_a_loop_are_known_in_its_order() {
        assert_eq!(read("i in 1 2 4 8 do"), [1, 2, 4, 8]);
        assert_eq!(read("i in {3..6} do"), [3, 4, 5, 6]);
        assert_eq!(read("i in $ seq 1 3 do"), [1, 2, 3]);
        assert_eq!(read("i in seq 2 2 6 do"), [2, 4, 6]);
        assert_eq!(read("i in $x do"), Vec::<u64>::new());
    }

    #[test]
    fn an_endless_range_is_bounded() {
        let mut read = Loop::default();
        for word in ["i", "in", "{0..18446744073709551615}"] {
            read.accept(word);
        }
        assert_eq!(read.value(LONGEST), None);
    }
}
