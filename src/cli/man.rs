//! The man page, made from the command definitions. `man/flashfit.8` is its committed copy.

mod reference;

use super::Cli;
use crate::error::ExitCode;
use clap::{Arg, Command, CommandFactory};
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

/// The date in the foot of the page: a page without one is refused by strict formatters, and the
/// date of the build would make the committed copy stale every day. Set it with each release.
const DATE: &str = "2026-11-30";

/// The examples, for `--help` and the page alike: what they do, then the command.
const EXAMPLES: [(&str, &str); 10] = [
    (
        "Try everything without hardware, on a simulated stick:",
        "flashfit scan sim:corsair-voyager",
    ),
    ("See which devices can be scanned:", "flashfit list"),
    (
        "Scan a stick and keep the report:",
        "sudo flashfit scan /dev/sdX --report stick.json",
    ),
    (
        "Plan a boot and a root partition from that report:",
        "flashfit plan --report stick.json --partition 256MiB:fat32:BOOT --partition rest:ext4",
    ),
    (
        "Make an sfdisk script for a card whose erase block is known:",
        "flashfit plan --capacity 31914983424B --erase-block 8MiB --fs exfat --format sfdisk",
    ),
    (
        "Read an old flashbench log:",
        "flashfit analyze flashbench.log --capacity 8GB",
    ),
    (
        "Make a web page of a scan, to pass on:",
        "sudo flashfit scan /dev/sdX --html stick.html",
    ),
    (
        "See what a write would do; without --dry-run it is done:",
        "sudo flashfit write /dev/sdX --report stick.json --fs exfat --dry-run",
    ),
    (
        "Take a write back:",
        "sudo flashfit restore /dev/sdX --backup /var/lib/flashfit/sdX-20261130-121500.json",
    ),
    (
        "Audit a card against its report:",
        "sudo flashfit check /dev/sdX --report stick.json",
    ),
];

/// The examples as they end `flashfit --help`.
pub(super) const EXAMPLES_HELP: &str = "Examples:
  Try everything without hardware, on a simulated stick:
    flashfit scan sim:corsair-voyager
  See which devices can be scanned:
    flashfit list
  Scan a stick and keep the report:
    sudo flashfit scan /dev/sdX --report stick.json
  Plan a boot and a root partition from that report:
    flashfit plan --report stick.json --partition 256MiB:fat32:BOOT --partition rest:ext4

Exit codes and more examples: man flashfit";

/// The whole page as roff source.
pub fn page() -> String {
    let mut command = Cli::command();
    command.build();
    let mut page = Roff::new();
    let source = format!("flashfit {}", env!("CARGO_PKG_VERSION"));
    page.control(
        "TH",
        ["FLASHFIT", "8", DATE, &source, "System Administration"],
    );
    page.control("SH", ["NAME"]);
    let about = command.get_about().map(ToString::to_string);
    page.text([roman(format!("flashfit - {}", about.unwrap_or_default()))]);
    page.control("SH", ["SYNOPSIS"]);
    for sub in visible(&command) {
        synopsis(&mut page, sub);
    }
    page.control("SH", ["DESCRIPTION"]);
    let about = long_about(&command);
    // Its first paragraph is the line under NAME.
    let about = about
        .split_once("\n\n")
        .map_or(about.as_str(), |(_, rest)| rest);
    paragraphs(&mut page, about);
    page.control("SH", ["COMMANDS"]);
    for sub in visible(&command) {
        page.control("SS", [format!("flashfit {}", sub.get_name()).as_str()]);
        paragraphs(&mut page, &long_about(sub));
        for arg in arguments(sub) {
            option(&mut page, arg);
        }
        examples(&mut page, sub);
    }
    sizes(&mut page);
    verdicts(&mut page);
    safety(&mut page);
    page.control("SH", ["EXIT STATUS"]);
    for code in ExitCode::ALL {
        term(&mut page, [bold(code.number().to_string())], code.meaning());
    }
    page.control("PP", []);
    prose(
        &mut page,
        "Errors are one line on stderr that begins with \"flashfit:\" and ends with what to do next. \
         A reader of stdout that goes away, as in \"flashfit list | head -1\", is no error.",
    );
    reference::signals(&mut page);
    environment(&mut page);
    files(&mut page);
    reference::formats(&mut page);
    page.control("SH", ["EXAMPLES"]);
    for (what, how) in EXAMPLES {
        term(&mut page, [roman(what)], "");
        page.control("RS", []);
        page.text([bold(how)]);
        page.control("RE", []);
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([roman("lsblk(8), sfdisk(8), fdisk(8), parted(8)")]);
    page.to_roff()
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

fn arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version")
}

fn long_about(command: &Command) -> String {
    command
        .get_long_about()
        .or_else(|| command.get_about())
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// One line of usage, as clap words it.
fn synopsis(page: &mut Roff, command: &Command) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let name = format!("flashfit {}", command.get_name());
    let rest = usage.strip_prefix(&name).unwrap_or(usage);
    page.control("TP", []);
    page.text([bold(name), roman(rest)]);
    page.control("br", []);
}

fn paragraphs(page: &mut Roff, text: &str) {
    for (i, paragraph) in text.split("\n\n").enumerate() {
        if i > 0 {
            page.control("PP", []);
        }
        prose(page, paragraph);
    }
}

/// One paragraph, broken into source lines of readable length.
fn prose(page: &mut Roff, paragraph: &str) {
    const WIDTH: usize = 72;
    let mut line = String::new();
    let ended = match paragraph.chars().last() {
        Some(c) if c.is_alphanumeric() || c == ')' => ".",
        _ => "",
    };
    for word in format!("{paragraph}{ended}").split_whitespace() {
        if !line.is_empty() && line.len() + 1 + word.len() > WIDTH {
            page.text([roman(std::mem::take(&mut line))]);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        page.text([roman(line)]);
    }
}

fn option(page: &mut Roff, arg: &Arg) {
    let mut head: Vec<Inline> = Vec::new();
    if let Some(long) = arg.get_long() {
        head.push(bold(format!("--{long}")));
    }
    if arg.get_long().is_none() || arg.get_action().takes_values() {
        let names = arg.get_value_names().unwrap_or_default().join(" ");
        if !head.is_empty() {
            head.push(roman(" "));
        }
        head.push(italic(names));
    }
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let mut text = help.map(ToString::to_string).unwrap_or_default();
    if !text.ends_with(['.', ']']) {
        text.push('.');
    }
    let values = arg.get_possible_values();
    if arg.get_action().takes_values() && !values.is_empty() {
        let values: Vec<String> = values
            .iter()
            .map(|value| match value.get_help() {
                Some(help) if help.to_string().to_lowercase() != value.get_name() => {
                    format!("{} ({help})", value.get_name())
                }
                _ => value.get_name().to_owned(),
            })
            .collect();
        text.push_str(&format!(" One of: {}.", values.join(", ")));
    }
    if arg.get_action().takes_values() && !arg.get_default_values().is_empty() {
        let defaults: Vec<_> = arg
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy())
            .collect();
        text.push_str(&format!(" Default: {}.", defaults.join(" ")));
    }
    term(page, head, &text);
}

/// A term and what it means, as a hanging paragraph.
fn term(page: &mut Roff, head: impl Into<Vec<Inline>>, text: &str) {
    page.control("TP", []);
    page.text(head);
    for (i, paragraph) in text.split("\n\n").filter(|p| !p.is_empty()).enumerate() {
        if i > 0 {
            page.control("IP", []);
        }
        prose(page, paragraph);
    }
}

/// The examples that end the help of a command, as they stand there.
fn examples(page: &mut Roff, command: &Command) {
    let help = command.get_after_help().map(ToString::to_string);
    let lines: Vec<&str> = help
        .iter()
        .flat_map(|help| help.lines())
        .filter_map(|line| line.strip_prefix("  "))
        .collect();
    if lines.is_empty() {
        return;
    }
    page.control("PP", []);
    page.text([roman("Examples:")]);
    page.control("RS", []);
    page.control("nf", []);
    for line in lines {
        page.text([bold(line)]);
    }
    page.control("fi", []);
    page.control("RE", []);
}

fn sizes(page: &mut Roff) {
    page.control("SH", ["SIZES AND TIMES"]);
    paragraphs(
        page,
        "A size is a number and a unit; the unit is required, nothing is guessed. KiB, MiB, GiB, TiB \
         and K, M, G, T are binary (1 K is 1024 bytes), kB, MB, GB, TB are decimal (1 kB is 1000 \
         bytes), s counts logical sectors, B bytes. Fractions such as 1.5MiB are exact or refused.\n\n\
         A time is a number and a unit as well: s, m or h.",
    );
}

fn verdicts(page: &mut Roff) {
    page.control("SH", ["HOW SURE A REPORT IS"]);
    for (word, meaning) in [
        (
            "confirmed",
            "The probability is at least 0.99, and a second, independent test on places that had not \
             been read before agrees.",
        ),
        ("likely", "The probability is at least 0.9."),
        (
            "not visible",
            "Tested, and nothing could be told. Many sticks hide their erase block from reads. The \
             alignment then falls back to a value that is safe for nearly all media, and the report \
             says so.",
        ),
        ("not tested", "There was no measurement of this kind."),
    ] {
        term(page, [bold(word)], meaning);
    }
}

fn safety(page: &mut Roff) {
    page.control("SH", ["SAFETY"]);
    paragraphs(
        page,
        "list, scan without --write-tests, analyze, plan, check and every --dry-run open the device \
         read-only. wizard, write, restore and scan --write-tests write to it. They refuse a device that is \
         mounted, used as swap, held by RAID, LVM or dm-crypt, locked, write-protected or part of the \
         running system, and hold it exclusively from the last check to the end. wizard and write save what they \
         replace to a file before the first byte; scan --write-tests preserve does so with all that it \
         overwrites, and puts it back; restore puts it back after a power cut. What scan --write-tests \
         destroy overwrites is lost.\n\n\
         Look at a script before you run it: a new partition table makes the old partitions \
         unreachable.\n\n\
         A mounted stick can be scanned. Its own traffic disturbs the timing, so the report carries a \
         warning and is at most \"likely\".\n\n\
         --report of scan and analyze writes the file that it names and replaces what it held, but never \
         a file that is being read; --report of plan only reads.",
    );
}

fn environment(page: &mut Roff) {
    page.control("SH", ["ENVIRONMENT"]);
    term(
        page,
        [bold("NO_COLOR")],
        "When it is set and not empty, help is printed without colour.",
    );
    term(
        page,
        [bold("XDG_STATE_HOME")],
        "Where wizard, write and scan --write-tests preserve keep what they replace, in a folder flashfit. A path \
         that does not begin with / is ignored.",
    );
    term(
        page,
        [bold("HOME")],
        "Where they keep it without XDG_STATE_HOME, for everybody but root: in .local/state/flashfit.",
    );
    term(
        page,
        [bold("PATH")],
        "Where write --mkfs looks for the mkfs tools; /usr/local/sbin, /usr/sbin and /sbin come after it.",
    );
    term(
        page,
        [bold("COLUMNS")],
        "How wide help is printed, when stdout is no terminal; never wider than 100.",
    );
}

fn files(page: &mut Roff) {
    page.control("SH", ["FILES"]);
    for (path, meaning) in [
        (
            "/dev/disk/by-id/",
            "Names of devices that stay the same from one plugging in to the next.",
        ),
        (
            "/sys/block/",
            "Where list and scan read what the kernel knows of a device.",
        ),
        (
            "$XDG_STATE_HOME/flashfit/",
            "Backups and journals, for restore. Without the variable /var/lib/flashfit for root, \
             ~/.local/state/flashfit for others; --backup names another file.",
        ),
        (
            "sim:NAME",
            "No file: a simulated stick that is built into flashfit. It keeps its own clock, so a scan \
             of minutes is over at once.",
        ),
    ] {
        term(page, [italic(path)], meaning);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_help_are_those_of_the_page() {
        for (what, how) in EXAMPLES.iter().take(4) {
            assert!(
                EXAMPLES_HELP.contains(&format!("  {what}\n    {how}\n")),
                "{how}"
            );
        }
    }

    #[test]
    fn every_command_that_writes_is_named_under_safety() {
        let mut page = Roff::new();
        safety(&mut page);
        let text = page.to_roff().replace('\n', " ").replace("\\-", "-");
        for words in [
            "wizard, write, restore and scan --write-tests write",
            "read-only",
        ] {
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn the_page_names_every_option_and_every_exit_code() {
        let page = page();
        let mut command = Cli::command();
        command.build();
        for sub in visible(&command) {
            assert!(page.contains(&format!(".SS \"flashfit {}\"\n", sub.get_name())));
            for arg in arguments(sub) {
                if let Some(long) = arg.get_long() {
                    let escaped = long.replace('-', "\\-");
                    assert!(page.contains(&format!("\\fB\\-\\-{escaped}\\fR")), "{long}");
                }
            }
        }
        for code in ExitCode::ALL {
            assert!(page.contains(&format!("\\fB{}\\fR\n", code.number())));
        }
    }
}
