//! Puts the stages together, one file for each command. The only place, besides the terminal, that
//! prints or looks at the wall clock.

pub mod scan;
