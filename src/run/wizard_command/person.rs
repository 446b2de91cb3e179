//! Who is asked, and was consent put off?

use crate::wizard::{Ask, Consent, Question, Reply, Target};

/// Whoever answers, and what was last said to the question of consent. The functions that open a
/// device only know yes and no; here "back" is told from "no".
pub struct Person {
    inner: Box<dyn Ask>,
    put_off: bool,
}

impl Person {
    /// This one.
    pub fn new(inner: Box<dyn Ask>) -> Person {
        Person {
            inner,
            put_off: false,
        }
    }

    /// Whether consent was put off to go one step back, the last time it was asked for.
    pub fn put_off(&self) -> bool {
        self.put_off
    }
}

impl Ask for Person {
    fn choose(&mut self, question: &Question) -> Reply {
        self.put_off = false;
        self.inner.choose(question)
    }

    fn consent(&mut self, target: &Target) -> Consent {
        let answer = self.inner.consent(target);
        self.put_off = answer == Consent::Back;
        answer
    }

    fn reads_warnings(&self) -> bool {
        self.inner.reads_warnings()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, LogicalBlock};
    use crate::wizard::Scripted;

    #[test]
    fn back_is_told_from_no_until_the_next_question() {
        let target = Target {
            name: "sim:x".to_owned(),
            other_names: Vec::new(),
            by_id: Vec::new(),
            serial: None,
            capacity: Bytes::gib(8),
            logical_block: LogicalBlock::B512,
            twins: Vec::new(),
        };
        let mut person = Person::new(Box::new(Scripted::new(&["b", "q", "b", "1"])));
        assert_eq!(person.consent(&target), Consent::Back);
        assert!(person.put_off());
        assert_eq!(person.consent(&target), Consent::Declined);
        assert!(!person.put_off());
        assert_eq!(person.consent(&target), Consent::Back);
        person.choose(&Question::default());
        assert!(!person.put_off());
    }
}
