//! What becomes of a report: options that `scan` and `analyze` share.

use clap::Args;
use std::path::PathBuf;

/// Where a report goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct ReportArgs {
    /// Also write the report as JSON to FILE; plan --report reads it
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    pub report: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long, help_heading = "Report")]
    pub json: bool,
    /// Also write the report as a web page to FILE, with charts: to look at, and to pass on
    ///
    /// One file that needs no other and no network, and runs no script. The serial number of the device
    /// is left out, and so are the places where it is mounted.
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    pub html: Option<PathBuf>,
    /// Tell the serial number in the web page
    #[arg(long, requires = "html", help_heading = "Report")]
    pub html_serial: bool,
}
