//! Parse, run, print the error, exit.

fn main() {}
