//! The sections for those who build on flashfit: signals and file formats.

use super::{paragraphs, term};
use clap_mangen::roff::{Roff, bold, italic};

/// What signals do.
pub(super) fn signals(page: &mut Roff) {
    page.control("SH", ["SIGNALS"]);
    term(
        page,
        [bold("SIGINT, SIGTERM, SIGHUP")],
        "The first ends measuring before the next access: what is known so far is reported, and \
         --write-tests preserve puts everything back. The second ends the program at once; flashfit \
         restore then puts back what the journal holds.",
    );
}

/// The files that are written and read.
pub(super) fn formats(page: &mut Roff) {
    page.control("SH", ["FILE FORMATS"]);
    paragraphs(
        page,
        "Every file and every JSON output names its schema in its member schema. A file of a schema that \
         this flashfit does not know is refused by that name.",
    );
    for (schema, what) in [
        (
            "flashfit.report/1",
            "JSON: a report with device, geometry, alignment, cost and warnings. scan and analyze write it \
             with --report and print it with --json; plan, write and check read it.",
        ),
        (
            "flashfit.layout/1",
            "JSON: a layout with table, partitions, and the commands that make the file systems. plan \
             --format json prints it; plan --layout and write --layout read it.",
        ),
        (
            "flashfit.backup/1",
            "JSON: what a write replaced, with a checksum. write saves it, restore reads it.",
        ),
        (
            "flashfit.samples/1",
            "JSON Lines: every timed access of scan --samples. analyze reads it.",
        ),
        (
            "flashfit.journal/1",
            "What scan --write-tests preserve overwrites: lines of JSON, each followed by the bytes that it \
             tells of. restore reads it.",
        ),
        ("flashfit.list/1", "JSON: the output of list --json."),
        ("flashfit.check/1", "JSON: the output of check --json."),
    ] {
        term(page, [italic(schema)], what);
    }
    page.control("PP", []);
    paragraphs(
        page,
        "The profile of a simulated stick is TOML. Those that are built in come with the source in \
         fixtures/profiles, and with the Debian package in /usr/share/doc/flashfit/examples; a copy that \
         was changed is used as sim:./my.toml. An unknown sim:NAME is refused with the names that there \
         are.",
    );
}
