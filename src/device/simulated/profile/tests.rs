use super::*;

#[test]
fn every_built_in_profile_parses() {
    for name in builtin_names() {
        let text = builtin::text(name).unwrap();
        Profile::parse(text, name).unwrap_or_else(|e| panic!("{e}"));
    }
}
