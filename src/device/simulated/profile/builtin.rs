//! The profiles that are part of the program.

macro_rules! profile {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/fixtures/profiles/",
                $name,
                ".toml"
            )),
        )
    };
}

/// Name and text of every profile in `fixtures/profiles`; a test keeps the list complete.
const BUILTIN: &[(&str, &str)] = &[
    profile!("1m5"),
    profile!("24m"),
    profile!("3m"),
    profile!("4kn"),
    profile!("512k-1g"),
    profile!("64m-512g"),
    profile!("6m"),
    profile!("corsair-voyager"),
    profile!("counterfeit"),
    profile!("fresh"),
    profile!("half-unmapped"),
    profile!("intel-x25"),
    profile!("kingston-dt101g2"),
    profile!("noisy"),
    profile!("readme-card"),
    profile!("sandisk-32g"),
    profile!("tlc-12m"),
    profile!("tlc-12m-phase4"),
];

/// The names of all built-in profiles, sorted.
pub fn builtin_names() -> Vec<&'static str> {
    BUILTIN.iter().map(|(name, _)| *name).collect()
}

/// The text of a built-in profile.
pub(super) fn text(name: &str) -> Option<&'static str> {
    BUILTIN
        .iter()
        .find(|(builtin, _)| *builtin == name)
        .map(|(_, text)| *text)
}
