//! What to do next, where everything lies, and how to undo it.

use super::known::Nature;
use crate::plan::{FileSystem, Layout};

/// What came of a conversation that ended with a write.
#[derive(Clone, Debug)]
pub struct Farewell<'a> {
    /// The device, quoted for a shell.
    pub device: &'a str,
    /// What kind of thing it is.
    pub nature: Nature,
    /// What is on it now.
    pub layout: &'a Layout,
    /// The file systems were made.
    pub formatted: bool,
    /// Where the report lies.
    pub report: Option<&'a str>,
}

/// The last words.
pub fn farewell(said: &Farewell<'_>) -> String {
    let mut text = "\nWhat next\n".to_owned();
    if said.nature == Nature::Simulated {
        text += "  This was a simulated stick: what was written is gone now. With a real one, the\n  \
                 steps are the same.\n";
        return text;
    }
    let wants_one = |layout: &Layout| {
        layout
            .partitions
            .iter()
            .any(|it| it.filesystem != FileSystem::None)
    };
    let is_image = said.nature == Nature::Image;
    if said.formatted {
        text += if is_image {
            "  The image is ready to be copied to a stick of the same size.\n"
        } else {
            "  Take it out and put it in again; then it can be used.\n"
        };
    } else if wants_one(said.layout) {
        text += "  Make the file systems with the commands above, exactly as they stand there:\n  \
                 other options would put the data off the grid.\n";
    }
    for (index, partition) in said.layout.partitions.iter().enumerate() {
        if let Some(format) = partition.format.as_ref().filter(|it| !it.mount.is_empty()) {
            text += &format!(
                "  Mount partition {} with: -o {}\n",
                index + 1,
                format.mount
            );
        }
    }
    if let Some(report) = said.report {
        let sudo = if is_image { "" } else { "sudo " };
        text += &format!(
            "  The report is kept in {report}\n  Check what is on it with that at any time:\n    {sudo}flashfit check {} --report {report}\n",
            said.device
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wizard::conversation::fake;

    fn said(formatted: bool, nature: Nature) -> String {
        farewell(&Farewell {
            device: "/dev/sdb",
            nature,
            layout: &fake::layout(None, Some(FileSystem::Ext4)),
            formatted,
            report: Some("/var/lib/flashfit/sdb.report.json"),
        })
    }

    #[test]
    fn the_way_on_is_told_with_exact_commands() {
        let text = said(false, Nature::Disk);
        assert!(text.contains("with the commands above"), "{text}");
        assert!(text.contains("-o noatime"), "{text}");
        assert!(
            text.contains("flashfit check /dev/sdb --report /var/lib/flashfit/sdb.report.json"),
            "{text}"
        );
        assert!(said(true, Nature::Disk).contains("put it in again"));
        assert!(said(true, Nature::Image).contains("The image is ready"));
        assert!(said(false, Nature::Simulated).contains("is gone now"));
    }
}
