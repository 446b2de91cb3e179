//! How are the file systems of a layout made and checked?
//!
//! The real mkfs tools make them, one partition after the other, with the parameters of the plan.
//! What they report counts for nothing: the superblock is read back from the medium itself, past
//! the caches of the kernel, and only what lies where the plan wants it is called aligned.
//!
//! For a command that writes a table:
//! 1. [`prepare`] before anything is written, so that a missing tool is found in time;
//! 2. write the table, let the kernel read it;
//! 3. [`make_all`].
//!
//! | file | question |
//! |---|---|
//! | `tools` | is the tool there, and new enough? |
//! | `node` | does the kernel show the partition of the plan? |
//! | `read_back` | does the file system lie where it should? |
//! | `loop_disk` | how does an image file get partitions? |

pub mod loop_disk;
mod node;
pub mod read_back;
mod tools;

pub use read_back::Outcome;

use crate::device::{ReadDevice, block};
use crate::error::{Error, ExitCode};
use crate::plan::filesystem::command::{MkfsCommand, mkfs};
use crate::plan::layout::Layout;
use crate::table::read::contents;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The tools that a layout needs, found and new enough.
#[derive(Debug)]
pub struct Prepared {
    /// For every partition that gets a file system: its number, and the program's path.
    steps: Vec<(usize, PathBuf)>,
}

impl Prepared {
    /// Whether there is nothing to make.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// Find the tools for all file systems of a layout. Touches no device.
///
/// # Errors
/// A tool that is missing, with its Debian package, or too old for its options to mean what the
/// plan thinks; a file system whose parameters the layout does not tell.
pub fn prepare(layout: &Layout) -> Result<Prepared, Error> {
    let mut steps = Vec::new();
    for (index, partition) in layout.partitions.iter().enumerate() {
        let number = index + 1;
        // The name of the disk does not matter here.
        match mkfs(layout, number, "/dev/sdX") {
            Some(command) => steps.push((number, tools::find(&command.tool)?)),
            None if partition.filesystem == crate::plan::FileSystem::None => {}
            None => {
                return Err(Error::failed(format!(
                    "partition {number}: the layout does not tell how to make its {}",
                    partition.filesystem
                ))
                .hint("make the layout anew with: flashfit plan --format json"));
            }
        }
    }
    Ok(Prepared { steps })
}

/// Make all file systems of a layout on the whole disk `disk`, whose table is written and known to
/// the kernel. Gives what was read back, one for each partition that got a file system. `say` takes a
/// line for each that is begun; no further one is when `stop` says so.
///
/// # Errors
/// The first tool that fails, the first partition that the kernel shows elsewhere, and the first
/// file system that does not lie where the plan wants it (exit code 8).
pub fn make_all(
    layout: &Layout,
    prepared: &Prepared,
    disk: &str,
    say: &dyn Fn(&str),
    stop: &dyn Fn() -> bool,
) -> Result<Vec<(usize, Outcome)>, Error> {
    let mut outcomes = Vec::new();
    for (done, (number, program)) in prepared.steps.iter().enumerate() {
        let Some(command) = mkfs(layout, *number, disk) else {
            continue;
        };
        if stop() {
            return Err(Error::new(
                ExitCode::Interrupted,
                format!(
                    "{disk}: interrupted, partition {number} and those behind it have no file system yet"
                ),
            )
            .hint("run the same command again"));
        }
        say(&format!(
            "file system {} of {}: {}\n",
            done + 1,
            prepared.steps.len(),
            command.line()
        ));
        let Some(node) = command.arguments.last() else {
            continue;
        };
        node::is_of_plan(layout, *number, Path::new(node))?;
        run(&command, program)?;
        node::flush(Path::new(node))?;
        let mut medium = block::open(Path::new(disk))
            .map_err(|error| Error::failed(format!("cannot read {disk} back: {error}")))?;
        let outcome = read_back(layout, *number, &mut medium)?;
        outcomes.push((*number, outcome));
    }
    Ok(outcomes)
}

/// Read one file system back from the medium.
///
/// # Errors
/// A medium that cannot be read, and a file system that does not lie where the plan wants it (exit
/// code 8).
pub fn read_back(
    layout: &Layout,
    number: usize,
    medium: &mut dyn ReadDevice,
) -> Result<Outcome, Error> {
    let found = contents(medium).map_err(|error| Error::io(error.to_string()))?;
    read_back::judge(layout, number, &found).map_err(|why| {
        Error::new(
            ExitCode::OffGrid,
            format!("partition {number} is made, but not aligned: {why}"),
        )
        .hint("use another file system, or report this with the version of the mkfs tool")
    })
}

/// Run a tool that asks nothing; its own words only when it fails.
fn run(command: &MkfsCommand, program: &Path) -> Result<(), Error> {
    let name = command.tool.program;
    let output = Command::new(program)
        .args(&command.arguments)
        // Nobody answers: a tool that asks gets the end of the file and gives up.
        .stdin(Stdio::null())
        // Ctrl-C at the terminal reaches this program alone: no file system is left half made.
        .process_group(0)
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| Error::failed(format!("cannot run {name}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    let line = said
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .unwrap_or("it gave no reason");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    Err(
        Error::failed(format!("{name} failed: {line}")).hint(format!(
            "run it by hand to see all it says: {}",
            command.line()
        )),
    )
}
