//! Rust source as far as the architecture test must understand it: what is code and what is
//! comment, text or test, and which top-level modules it names.

use std::path::Path;

const CFG_TEST: &str = "#[cfg(test)]";

/// One source file.
pub struct Source {
    /// Its path below the folder it was found in, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
    /// The same, with comments, literals and test modules blanked out; the lines are kept.
    shipped: String,
    test_lines: usize,
    is_test: bool,
}

/// All Rust files of a folder of this project, in the order of their paths; none if there is no
/// such folder.
pub fn sources(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    collect(&root, "", &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let tests: Vec<String> = found.iter().flat_map(Source::test_files).collect();
    for file in &mut found {
        file.is_test = tests.iter().any(|test| file.path.starts_with(test));
    }
    assert!(
        folder != "src" || found.len() > 10,
        "the source was not found"
    );
    found
}

fn collect(directory: &Path, prefix: &str, found: &mut Vec<Source>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            collect(&path, &format!("{name}/"), found);
        } else if name.ends_with(".rs") {
            found.push(Source::new(&name, &std::fs::read_to_string(path).unwrap()));
        }
    }
}

impl Source {
    /// A file with this content.
    pub fn new(path: &str, text: &str) -> Source {
        let (shipped, test_lines) = without_tests(&code_only(text));
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            shipped,
            test_lines,
            is_test: false,
        }
    }

    /// The top-level module it belongs to: `plan` for `plan/layout.rs`.
    pub fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// Whether the whole file is a test module: declared as `#[cfg(test)] mod name;`.
    pub fn is_test(&self) -> bool {
        self.is_test
    }

    /// The beginnings of the paths of the test modules that this file declares.
    pub fn test_files(&self) -> Vec<String> {
        let directory = match self.path.strip_suffix("mod.rs") {
            Some(own) => own.to_owned(),
            None => self.path.replace(".rs", "/"),
        };
        code_only(&self.text)
            .split(CFG_TEST)
            .skip(1)
            .filter_map(|item| {
                let (declaration, _) = item.split_once([';', '{'])?;
                let name = declaration.split_whitespace().last()?;
                let is_file = item[declaration.len()..].starts_with(';');
                let is_module = declaration.split_whitespace().any(|word| word == "mod");
                (is_file && is_module)
                    .then(|| [".rs", "/"].map(|end| format!("{directory}{name}{end}")))
            })
            .flatten()
            .collect()
    }

    /// How many lines lie outside of `#[cfg(test)]` items.
    pub fn lines_without_tests(&self) -> usize {
        self.text.lines().count() - self.test_lines
    }

    /// The lines of shipped code that contain this, from 1; a word only as a whole.
    pub fn shipped_lines_with(&self, word: &str) -> Vec<usize> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let (open_start, open_end) = (!word.starts_with(is_word), !word.ends_with(is_word));
        let mut lines = Vec::new();
        for (number, line) in self.shipped.lines().enumerate() {
            let whole = line.match_indices(word).any(|(at, _)| {
                (open_start || !line[..at].ends_with(is_word))
                    && (open_end || !line[at + word.len()..].starts_with(is_word))
            });
            if whole {
                lines.push(number + 1);
            }
        }
        lines
    }

    /// The top-level names that shipped code imports or names by path, each with its line: `x` of
    /// `crate::x`, of `crate::{x, y::z}`, of `flashfit::x`, and of a chain of `super` that reaches
    /// the root.
    pub fn shipped_imports(&self) -> Vec<(usize, String)> {
        if self.is_test() {
            return Vec::new();
        }
        let depth = self.path.matches('/').count() + usize::from(!self.path.ends_with("mod.rs"));
        let up = "super::".repeat(depth);
        let mut found = Vec::new();
        for root in ["crate::", "flashfit::", up.as_str()] {
            if root.is_empty() {
                continue;
            }
            for (at, _) in self.shipped.match_indices(root) {
                let before = &self.shipped[..at];
                if before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                    continue;
                }
                for (offset, name) in first_names(&self.shipped[at + root.len()..]) {
                    let start = at + root.len() + offset;
                    let line = self.shipped[..start].matches('\n').count() + 1;
                    found.push((line, name));
                }
            }
        }
        found.sort_by_key(|(line, _)| *line);
        found
    }
}

/// The first name of a path, or of each path of a `{…}` group, with its offset.
fn first_names(path: &str) -> Vec<(usize, String)> {
    let name_at = |offset: usize| {
        let rest = &path[offset..];
        let skipped = rest.len() - rest.trim_start().len();
        let name: String = rest
            .trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        (!name.is_empty()).then_some((offset + skipped, name))
    };
    if !path.starts_with('{') {
        return name_at(0).into_iter().collect();
    }
    let mut names = Vec::new();
    let mut depth = 0;
    for (at, c) in path.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && (at == 0 || c == ',') {
            names.extend(name_at(at + 1));
        }
    }
    names
}

/// The source with every comment, string and character literal turned into blanks.
fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_or_comment_end(&chars, at);
        if end > at {
            out.extend(
                chars[at..end]
                    .iter()
                    .map(|c| if *c == '\n' { '\n' } else { ' ' }),
            );
            at = end;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// Where the comment or literal that starts at `at` ends; `at` itself when none starts there.
fn literal_or_comment_end(chars: &[char], at: usize) -> usize {
    let starts = |at: usize, word: &str| {
        word.chars()
            .enumerate()
            .all(|(i, c)| chars.get(at + i) == Some(&c))
    };
    let find = |from: usize, word: &str| {
        (from..chars.len())
            .find(|&i| starts(i, word))
            .unwrap_or(chars.len())
    };
    if starts(at, "//") {
        return find(at, "\n");
    }
    if starts(at, "/*") {
        let (mut depth, mut i) = (1, at + 2);
        while depth > 0 && i < chars.len() {
            if starts(i, "/*") {
                (depth, i) = (depth + 1, i + 2);
            } else if starts(i, "*/") {
                (depth, i) = (depth - 1, i + 2);
            } else {
                i += 1;
            }
        }
        return i;
    }
    let in_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    if chars[at] == 'r' && (!in_word || chars[at - 1] == 'b') {
        let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
        if chars.get(at + 1 + hashes) == Some(&'"') {
            let close = format!("\"{}", "#".repeat(hashes));
            return (find(at + 2 + hashes, &close) + close.len()).min(chars.len());
        }
    }
    let quoted = |quote: char| {
        let mut i = at + 1;
        while i < chars.len() && chars[i] != quote {
            i += if chars[i] == '\\' { 2 } else { 1 };
        }
        (i + 1).min(chars.len())
    };
    match chars[at] {
        '"' => quoted('"'),
        // A lifetime has no closing quote right behind its first letter.
        '\'' if chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\'') => {
            quoted('\'')
        }
        _ => at,
    }
}

/// Code with `#[cfg(test)]` items turned into blanks, and how many lines they had.
fn without_tests(code: &str) -> (String, usize) {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    let mut lines = 0;
    while let Some(at) = rest.find(CFG_TEST) {
        out.push_str(&rest[..at]);
        let mut depth = 0;
        let end = rest[at + CFG_TEST.len()..]
            .char_indices()
            .find(|(_, c)| {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                depth == 0 && matches!(c, '}' | ';')
            })
            .map_or(rest.len(), |(i, _)| at + CFG_TEST.len() + i + 1);
        out.extend(
            rest[at..end]
                .chars()
                .map(|c| if c == '\n' { '\n' } else { ' ' }),
        );
        lines += rest[at..end].lines().count();
        rest = &rest[end..];
    }
    (out + rest, lines)
}
