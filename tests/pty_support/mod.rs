//! The program at a pseudo-terminal: what it shows, what is typed, and how it leaves the terminal.
//!
//! Nothing here waits for a time to pass: every wait is for something to be shown or to end, and fails
//! after [`PATIENCE`].

// Each test program uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use crate::write_support::backups;
use nix::fcntl::OFlag;
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::termios::{Termios, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Longer than anything takes, on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The keys that are not letters.
pub const ENTER: &str = "\r";
pub const ESCAPE: &str = "\u{1b}";
pub const CTRL_C: &str = "\u{3}";
pub const CTRL_D: &str = "\u{4}";

/// So many lines that nothing is cut into pages.
pub const TALL: u16 = 500;

/// The questions in their order, as far as they are answered by Enter.
pub const QUESTIONS: [&str; 6] = [
    "How closely shall it be looked at?",
    "What next?",
    "What will it be used for?",
    "Which file system?",
    "Is this the layout that you want?",
    "Write this?",
];

/// Starts the wizard on a device.
pub fn wizard(folder: &Path, device: &str) -> Session {
    Session::start(folder, &["wizard", device], TALL, &[])
}

/// Whether anything was written: then there is a backup.
pub fn is_untouched(folder: &Path) -> bool {
    !backups(folder)
        .iter()
        .any(|file| !file.ends_with(".report.json"))
}

/// What is shown so far; grows.
#[derive(Default)]
struct Screen {
    bytes: Mutex<(Vec<u8>, bool)>,
    grown: Condvar,
}

/// The program, running.
pub struct Session {
    screen: Arc<Screen>,
    keyboard: File,
    /// Kept to look at the modes of the terminal.
    terminal: File,
    modes: Termios,
    ended: Receiver<Option<i32>>,
    process: u32,
    /// What was seen already.
    seen: usize,
}

/// How a session ended.
pub struct Ended {
    /// Everything that was shown.
    pub shown: String,
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
}

impl Session {
    /// Start it with these words in a window of this many lines and 80 columns.
    pub fn start(folder: &Path, words: &[&str], lines: u16, variables: &[(&str, &str)]) -> Session {
        let (keyboard, terminal) = pseudo_terminal(lines);
        let modes = tcgetattr(&terminal).unwrap();
        let end = || Stdio::from(terminal.try_clone().unwrap());
        // setsid makes the pseudo-terminal the one that Ctrl-C comes from, and becomes the program.
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", env!("CARGO_BIN_EXE_flashfit")])
            .args(words)
            .env_remove("COLUMNS")
            .env_remove("NO_COLOR")
            .env("TERM", "linux")
            .env("XDG_STATE_HOME", folder.join("state"))
            .envs(variables.iter().copied())
            .stdin(end())
            .stdout(end())
            .stderr(end());
        let mut child = command.spawn().unwrap();
        let process = child.id();
        // The command keeps its copies of the terminal.
        drop(command);
        let (send, ended) = channel();
        std::thread::spawn(move || {
            let code = child.wait().unwrap().code();
            let _ = send.send(code);
        });
        let screen = Arc::new(Screen::default());
        let (mut output, shown) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || shown.fill(&mut output));
        Session {
            screen,
            keyboard,
            terminal,
            modes,
            ended,
            process,
            seen: 0,
        }
    }

    /// Wait until this is shown, behind what was waited for before.
    #[track_caller]
    pub fn expect(&mut self, text: &str) -> &mut Session {
        self.expect_one_of(&[text]);
        self
    }

    /// Wait until one of these is shown; tells which came first.
    #[track_caller]
    pub fn expect_one_of(&mut self, texts: &[&str]) -> usize {
        let begun = Instant::now();
        let mut shown = self.screen.bytes.lock().unwrap();
        loop {
            let new = &shown.0[self.seen..];
            let first = texts
                .iter()
                .enumerate()
                .filter_map(|(which, text)| Some((find(new, text.as_bytes())?, which)))
                .min();
            if let Some((at, which)) = first {
                self.seen += at + texts[which].len();
                return which;
            }
            let left = PATIENCE.saturating_sub(begun.elapsed());
            assert!(
                !left.is_zero() && !shown.1,
                "{texts:?} is not shown:\n{}",
                String::from_utf8_lossy(&shown.0)
            );
            shown = self.screen.grown.wait_timeout(shown, left).unwrap().0;
        }
    }

    /// Press these keys.
    pub fn press(&mut self, keys: &str) -> &mut Session {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// At the prompt of the next question, whose title this is, press a key.
    #[track_caller]
    pub fn answer(&mut self, title: &str, key: &str) -> &mut Session {
        self.expect(title).expect("q; Enter is ").expect("] ");
        self.press(key)
    }

    /// Send a signal.
    pub fn signal(&mut self, name: &str) -> &mut Session {
        let status = Command::new("kill")
            .args(["-s", name, &self.process.to_string()])
            .status();
        assert!(status.unwrap().success());
        self
    }

    /// The number in front of the answer that begins so, among what was shown.
    pub fn number_of(&self, answer: &str) -> String {
        let shown = self.screen.bytes.lock().unwrap();
        let text = String::from_utf8_lossy(&shown.0).into_owned();
        let line = text.lines().rfind(|line| line.contains(answer)).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    }

    /// Wait for its end. The terminal is as it was: its modes, and the cursor shown.
    #[track_caller]
    pub fn end(self) -> Ended {
        let code = self.ended.recv_timeout(PATIENCE);
        let code = code.unwrap_or_else(|_| {
            let shown = self.screen.bytes.lock().unwrap();
            panic!("it does not end:\n{}", String::from_utf8_lossy(&shown.0))
        });
        let modes = tcgetattr(&self.terminal).unwrap();
        assert_eq!(modes, self.modes, "the modes of the terminal");
        // With the last copy of this end the other one is at its end.
        drop(self.terminal);
        let begun = Instant::now();
        let mut shown = self.screen.bytes.lock().unwrap();
        while !shown.1 {
            assert!(begun.elapsed() < PATIENCE, "somebody keeps the terminal");
            shown = self.screen.grown.wait_timeout(shown, PATIENCE).unwrap().0;
        }
        let text = String::from_utf8_lossy(&shown.0).into_owned();
        let hidden = text.rfind("\u{1b}[?25l");
        let again = text.rfind("\u{1b}[?25h");
        assert!(hidden <= again, "the cursor stays hidden:\n{text}");
        // Nothing half-printed: the shell's prompt begins on a line of its own.
        assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
        Ended { shown: text, code }
    }
}

/// Both ends of a new one. Neither is inherited by what other tests start meanwhile, which `openpty`
/// does not promise.
fn pseudo_terminal(lines: u16) -> (File, File) {
    let master = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let terminal = File::options()
        .read(true)
        .write(true)
        .custom_flags(OFlag::O_NOCTTY.bits())
        .open(ptsname_r(&master).unwrap())
        .unwrap();
    let sized = Command::new("stty")
        .args(["rows", &lines.to_string(), "cols", "80"])
        .stdin(Stdio::from(terminal.try_clone().unwrap()))
        .status();
    assert!(sized.unwrap().success());
    (File::from(OwnedFd::from(master)), terminal)
}

impl Screen {
    fn fill(&self, output: &mut File) {
        let mut buffer = [0; 4096];
        loop {
            let read = output.read(&mut buffer);
            let mut bytes = self.bytes.lock().unwrap();
            match read {
                // The other end is closed: Linux reports that as an I/O error.
                Ok(0) | Err(_) => {
                    bytes.1 = true;
                    self.grown.notify_all();
                    return;
                }
                Ok(length) => bytes.0.extend_from_slice(&buffer[..length]),
            }
            self.grown.notify_all();
        }
    }
}

impl Ended {
    /// It ended with this code; gives what was shown.
    #[track_caller]
    pub fn with(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}", self.shown);
        self.shown
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}
