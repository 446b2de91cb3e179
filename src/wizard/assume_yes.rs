//! Consent given beforehand, for the device that was described and no other.

use super::{Ask, Consent, Expectations, Question, Reply, Target};

/// Answers yes for the expected device.
#[derive(Clone, Debug)]
pub struct AssumeYes {
    expected: Expectations,
}

impl AssumeYes {
    /// `None` when nothing is expected: consent to whatever is there is no consent.
    pub fn new(expected: Expectations) -> Option<AssumeYes> {
        (!expected.is_empty()).then_some(AssumeYes { expected })
    }
}

impl Ask for AssumeYes {
    /// What Enter would answer.
    fn choose(&mut self, question: &Question) -> Reply {
        if question.default < question.choices.len() {
            Reply::Chosen(question.default)
        } else {
            Reply::Quit
        }
    }

    fn consent(&mut self, target: &Target) -> Consent {
        match self.expected.check(target) {
            Ok(()) => Consent::Given,
            Err(reason) => Consent::NotExpected(reason),
        }
    }

    fn reads_warnings(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::target::stick;
    use super::*;
    use crate::wizard::Choice;

    #[test]
    fn only_the_described_device_is_consented_to() {
        assert!(AssumeYes::new(Expectations::default()).is_none());
        let expected = |serial: &str| Expectations {
            names: vec![serial.to_owned()],
            size: None,
        };
        let mut yes = AssumeYes::new(expected("4C53")).unwrap();
        assert_eq!(yes.consent(&stick()), Consent::Given);
        let question = |choices| Question {
            choices,
            default: 1,
            ..Question::default()
        };
        let two = question(vec![Choice::new("a"), Choice::new("b")]);
        assert_eq!(yes.choose(&two), Reply::Chosen(1));
        assert_eq!(yes.choose(&question(Vec::new())), Reply::Quit);
        let mut other = AssumeYes::new(expected("4C54")).unwrap();
        assert!(matches!(other.consent(&stick()), Consent::NotExpected(_)));
    }
}
