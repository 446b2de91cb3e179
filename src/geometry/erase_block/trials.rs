//! Which sizes were put to the test, and how did each test end?

use super::confirm::Confirmation;
use crate::units::Bytes;

/// Sizes put to the test before it is left at "likely".
const MOST: usize = 4;

/// A size and the first boundary.
pub(super) type Place = (Bytes, Bytes);

/// The tests so far.
#[derive(Default)]
pub(super) struct Trials {
    begun: usize,
    /// Sizes and phases that lost a bet.
    refuted: Vec<Place>,
    /// Those whose boundaries looked to be of several kinds.
    unlike: Vec<Place>,
    /// Those of them that were given a second chance.
    forgiven: Vec<Place>,
    /// Those that won theirs, but may be sub-units.
    unproven: Vec<Place>,
    /// The last that is won, while the posterior is not sure of it.
    won: Option<Box<Confirmation>>,
}

impl Trials {
    /// How many are lost.
    pub(super) fn lost(&self) -> usize {
        self.refuted.len() + self.unlike.len()
    }

    /// Whether this one is lost.
    pub(super) fn is_lost(&self, place: Place) -> bool {
        self.refuted.contains(&place) || self.unlike.contains(&place)
    }

    /// Whether more looks at this one would not show what it is.
    pub(super) fn is_unproven(&self, place: Place) -> bool {
        self.unproven.contains(&place)
    }

    /// Whether this one is won.
    pub(super) fn is_won(&self, place: Place) -> bool {
        self.won.as_ref().is_some_and(|won| won.place() == place)
    }

    /// Begin another, if there is one left.
    pub(super) fn begin(&mut self) -> bool {
        let may = self.begun < MOST;
        self.begun += usize::from(may);
        may
    }

    /// This one lost a bet.
    pub(super) fn refute(&mut self, place: Place) {
        self.refuted.push(place);
    }

    /// The boundaries of this one looked to be of several kinds.
    pub(super) fn find_unlike(&mut self, place: Place) {
        self.unlike.push(place);
    }

    /// All boundaries known by now are of one kind: give it a second chance, if it was lost for that alone
    /// and had none yet. Few boundaries look to be of two kinds by luck, too.
    pub(super) fn forgive(&mut self, place: Place) -> bool {
        let may = self.unlike.contains(&place)
            && !self.refuted.contains(&place)
            && !self.forgiven.contains(&place);
        if may {
            self.unlike.retain(|unlike| *unlike != place);
            self.forgiven.push(place);
        }
        may
    }

    /// See [`Trials::is_unproven`].
    pub(super) fn leave_unproven(&mut self, place: Place) {
        self.unproven.push(place);
    }

    /// Keep one that is won until the posterior is sure of it.
    pub(super) fn keep(&mut self, won: Box<Confirmation>) {
        self.won = Some(won);
    }

    /// The one that was kept, if it is of this size and phase.
    pub(super) fn take(&mut self, place: Place) -> Option<Box<Confirmation>> {
        self.won.take_if(|won| won.place() == place)
    }

    /// What is won with reads of one size says nothing of another.
    pub(super) fn forget_won(&mut self) {
        self.won = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_chance_is_given_once_and_only_for_unlike_boundaries() {
        let (unlike, refuted) = ((Bytes::mib(8), Bytes::ZERO), (Bytes::mib(6), Bytes::mib(2)));
        let mut trials = Trials::default();
        trials.find_unlike(unlike);
        trials.refute(refuted);
        assert!(trials.is_lost(unlike) && trials.is_lost(refuted));
        assert!(trials.forgive(unlike) && !trials.is_lost(unlike));
        assert!(!trials.forgive(refuted) && trials.is_lost(refuted));
        trials.find_unlike(unlike);
        assert!(!trials.forgive(unlike) && trials.is_lost(unlike));
    }

    #[test]
    fn a_size_that_lost_a_bet_is_not_forgiven_for_its_boundaries() {
        let place = (Bytes::mib(4), Bytes::ZERO);
        let mut trials = Trials::default();
        trials.find_unlike(place);
        trials.refute(place);
        assert!(!trials.forgive(place));
    }

    #[test]
    fn no_more_than_so_many_are_begun() {
        let mut trials = Trials::default();
        assert!((0..MOST).all(|_| trials.begin()));
        assert!(!trials.begin());
    }
}
