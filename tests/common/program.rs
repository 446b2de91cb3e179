//! The program from outside: stdout, stderr and exit code, all three every time.

use std::path::Path;
use std::process::{Command, Stdio};

/// How a run of the program ended.
#[derive(Debug)]
pub struct Ended {
    pub stdout: String,
    pub stderr: String,
    /// `None` when a signal ended it.
    pub code: Option<i32>,
}

/// The program with these words, in its usual surroundings.
pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashfit"));
    command
        .args(words)
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    command
}

/// Run the program with these words.
pub fn flashfit(words: &[&str]) -> Ended {
    ended(&command(words).output().unwrap())
}

pub fn ended(output: &std::process::Output) -> Ended {
    Ended {
        stdout: String::from_utf8(output.stdout.clone()).unwrap(),
        stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        code: output.status.code(),
    }
}

impl Ended {
    /// All went well: stderr is empty, and this is stdout.
    #[track_caller]
    pub fn success(self) -> String {
        assert_eq!(
            (self.stderr.as_str(), self.code),
            ("", Some(0)),
            "{}",
            self.stdout
        );
        self.stdout
    }

    /// It failed without a result: nothing on stdout, one line on stderr.
    #[track_caller]
    pub fn failure(self, code: i32) -> String {
        assert_eq!(
            (self.stdout.as_str(), self.code),
            ("", Some(code)),
            "{}",
            self.stderr
        );
        self.one_line()
    }

    /// The one line on stderr, without the name of the program.
    #[track_caller]
    pub fn one_line(&self) -> String {
        let line = self.stderr.strip_suffix('\n').unwrap_or(&self.stderr);
        assert!(!line.contains('\n'), "{line}");
        line.strip_prefix("flashfit: ").expect(line).to_owned()
    }

    /// stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A text whose lines and columns do not matter.
pub fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A report for people holds all these words, however its lines are broken, and fits any terminal.
pub fn assert_tells(report: &str, words: &[&str]) {
    let flow = flowing(report);
    for words in words {
        assert!(
            flow.contains(&flowing(words)),
            "'{words}' not in:\n{report}"
        );
    }
    assert!(
        report
            .lines()
            .all(|line| line.len() <= 80 && line.is_ascii()),
        "{report}"
    );
}

/// A profile for `sim:` in a folder; gives the name to scan.
pub fn stick(folder: &Path, name: &str, profile: &str) -> String {
    let path = folder.join(name).with_extension("toml");
    std::fs::write(&path, profile).unwrap();
    format!("sim:{}", path.display())
}

/// A sparse file of this size.
pub fn image(folder: &Path, name: &str, size: u64) -> String {
    let path = folder.join(name);
    std::fs::File::create(&path).unwrap().set_len(size).unwrap();
    path.to_str().unwrap().to_owned()
}

/// An 8 GB stick with erase blocks of 8 MiB that show well.
pub const PLAIN: &str = r#"
capacity = "8000000000B"
[flash]
erase_block = "8MiB"
[read]
base = "500us"
crossing.erase_block = "250us"
[noise]
sigma = "20us"
"#;
