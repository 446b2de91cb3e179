//! Why a profile is no profile.

/// Why there is no such simulated stick.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Neither a built-in name nor a path.
    #[error(
        "no simulated stick is called '{name}': use a path such as sim:./{}.toml, or one of {names}",
        file_name(name)
    )]
    Unknown {
        /// As typed.
        name: String,
        /// All built-in names.
        names: String,
    },
    /// The file cannot be read.
    #[error("cannot read the profile {path}: {reason}")]
    File {
        /// As typed.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// No TOML, an unknown key, or a value of the wrong kind.
    #[error("profile {origin}, line {line} ({text}): {reason}")]
    Line {
        /// The file or built-in name.
        origin: String,
        /// Counted from 1.
        line: usize,
        /// The line itself, shortened.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// A value that makes no sense together with the others.
    #[error("profile {origin}: {key}: {reason}")]
    Value {
        /// The file or built-in name.
        origin: String,
        /// The key with its tables.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// A name for a profile that resembles what was typed, where that can be one.
fn file_name(typed: &str) -> &str {
    if typed.is_empty() || typed.starts_with('.') {
        "my"
    } else {
        typed
    }
}

/// Where in `text` the parser stumbled, and over what.
pub(super) fn line_error(text: &str, origin: &str, error: &toml::de::Error) -> ProfileError {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..start]
        .iter()
        .filter(|&&b| b == b'\n')
        .count();
    let shown: String = text
        .lines()
        .nth(line)
        .unwrap_or("")
        .trim()
        .chars()
        .take(60)
        .collect();
    ProfileError::Line {
        origin: origin.to_owned(),
        line: line + 1,
        text: shown,
        reason: error.message().replace('\n', " "),
    }
}
