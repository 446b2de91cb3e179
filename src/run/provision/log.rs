//! One line on stderr for each step of each device, for people or for programs.

use crate::cli::LogForm;
use crate::error::{Error, ExitCode};
use crate::quote::on_one_line;
use crate::run::progress::Lines;
use crate::run::{print, tell};
use indicatif::{MultiProgress, ProgressDrawTarget};
use serde_json::{Map, Value, json};
use std::io::IsTerminal;
use std::time::Instant;

/// The schema of a line for programs.
const SCHEMA: &str = "flashfit.log/1";

/// Where the lines go.
pub struct Log {
    form: LogForm,
    /// The progress lines, which make room for a line of the log.
    bars: MultiProgress,
    lines: Lines,
    begun: Instant,
}

impl Log {
    /// Progress lines are drawn on a terminal, and only beside lines for people.
    pub fn new(form: LogForm) -> Log {
        let drawn = form == LogForm::Text && std::io::stderr().is_terminal();
        let bars = MultiProgress::with_draw_target(if drawn {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        });
        Log {
            form,
            lines: Lines::Among(bars.clone()),
            bars,
            begun: Instant::now(),
        }
    }

    /// Where the progress lines of the devices go.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// A result, on stdout, where it meets the progress lines when both are on one terminal.
    ///
    /// # Errors
    /// As with every result.
    pub fn result(&self, text: &str) -> Result<(), Error> {
        self.bars.suspend(|| print(text.as_bytes()))
    }

    /// A step of a device. `facts` is an object for programs.
    pub fn step(&self, device: &str, step: &str, text: &str, facts: Value) {
        self.put(&match self.form {
            LogForm::Text => format!("{device}: {step}: {text}"),
            LogForm::Json => self.line(device, step, text, facts),
        });
    }

    /// A device failed. For people the line is like that of every other error.
    pub fn failed(&self, device: &str, error: &Error) {
        let code = error.exit_code().number();
        let text = error.to_string();
        self.put(&match self.form {
            LogForm::Json => self.line(device, "failed", &text, json!({ "status": code })),
            LogForm::Text if names(&text, device) => format!("flashfit: {text}"),
            LogForm::Text => format!("flashfit: {device}: {text}"),
        });
    }

    /// No device was touched, because of this.
    pub fn not_begun(&self, error: &Error) {
        let facts = json!({ "status": error.exit_code().number() });
        self.put(&self.object(None, "failed", &error.to_string(), facts));
    }

    /// All devices ended, with these codes.
    pub fn all_ended(&self, devices: &[String], codes: &[ExitCode]) {
        let failed: Vec<(&String, u8)> = devices
            .iter()
            .zip(codes)
            .filter(|(_, code)| **code != ExitCode::Done)
            .map(|(device, code)| (device, code.number()))
            .collect();
        let done = devices.len() - failed.len();
        let status = ExitCode::worst(codes.iter().copied()).number();
        let mut text = format!("{done} of {} devices done", devices.len());
        if !failed.is_empty() {
            let failed: Vec<String> = failed
                .iter()
                .map(|(device, code)| format!("{device} (exit code {code})"))
                .collect();
            text += &format!("; not done: {}", failed.join(", "));
        }
        self.put(&match self.form {
            LogForm::Text => text,
            LogForm::Json => {
                let failed: Vec<Value> = failed
                    .iter()
                    .map(|(device, code)| json!({ "device": device, "status": code }))
                    .collect();
                let facts = json!({ "devices": devices.len(), "done": done, "failed": failed, "status": status });
                self.object(None, "end", &text, facts)
            }
        });
    }

    fn line(&self, device: &str, step: &str, text: &str, facts: Value) -> String {
        self.object(Some(device), step, text, facts)
    }

    /// One line of JSON: what every line has, then the facts of this one.
    fn object(&self, device: Option<&str>, step: &str, text: &str, facts: Value) -> String {
        // Milliseconds are enough to see what takes long.
        let seconds = self.begun.elapsed().as_millis() as f64 / 1e3;
        let mut line = Map::new();
        line.insert("schema".to_owned(), SCHEMA.into());
        line.insert("seconds".to_owned(), json!(seconds));
        if let Some(device) = device {
            line.insert("device".to_owned(), device.into());
        }
        line.insert("step".to_owned(), step.into());
        line.insert("text".to_owned(), text.into());
        if let Value::Object(facts) = facts {
            line.extend(facts);
        }
        Value::Object(line).to_string()
    }

    /// Names come from the command line and from devices: nothing in a line moves the cursor or begins
    /// another one.
    fn put(&self, line: &str) {
        let line = on_one_line(line);
        self.bars.suspend(|| tell(&format!("{line}\n")));
    }
}

/// Whether an error begins with the name of the device.
fn names(text: &str, device: &str) -> bool {
    text.strip_prefix(&on_one_line(device))
        .is_some_and(|rest| rest.starts_with([':', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_programs_is_one_object_whatever_the_name_contains() {
        let log = Log::new(LogForm::Json);
        let line = log.line(
            "a\nb\u{1b}",
            "write",
            "done",
            json!({ "backup": "x", "status": 0 }),
        );
        assert!(
            !on_one_line(&line).contains('\n') && line == on_one_line(&line),
            "{line}"
        );
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["schema"], SCHEMA);
        assert_eq!(
            (&value["device"], &value["status"]),
            (&json!("a\nb\u{1b}"), &json!(0))
        );
    }
}
