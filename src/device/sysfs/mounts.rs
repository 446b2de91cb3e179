//! Which block devices carry mounted file systems and swap, as `/proc` tells it.

use super::{Roots, entries};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Mounts and swaps, by block device.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    by_number: HashMap<String, Vec<PathBuf>>,
    by_name: HashMap<String, Vec<PathBuf>>,
    swaps: Vec<String>,
}

impl Mounts {
    /// Read the mount tables of this process and of process 1 (a service may live in a mount
    /// namespace of its own), and the swap areas.
    pub(super) fn read(roots: &Roots) -> Mounts {
        let mut all = Mounts::default();
        let tables = ["self/mountinfo", "1/mountinfo"];
        for line in tables
            .iter()
            .flat_map(|table| lines(&roots.proc.join(table)))
        {
            if let Some(mount) = Mount::parse(&line) {
                all.add(roots, mount);
            }
        }
        // The first line is a heading.
        for line in lines(&roots.proc.join("swaps")).iter().skip(1) {
            if let Some(path) = line.split_whitespace().next() {
                let path = unescape(path);
                all.swaps.extend(block_names(roots, &path));
            }
        }
        all
    }

    fn add(&mut self, roots: &Roots, mount: Mount) {
        let mut names = block_names(roots, &mount.source);
        if mount.fs_type == "btrfs" {
            // A btrfs mount shows an anonymous device number and only one of its members.
            names.extend(btrfs_siblings(roots, &names));
        }
        for name in names {
            push_new(self.by_name.entry(name).or_default(), &mount.at);
        }
        push_new(self.by_number.entry(mount.number).or_default(), &mount.at);
    }

    /// Where the block device of this name and `major:minor` is mounted.
    pub(super) fn of(&self, name: &str, number: Option<&str>) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        let by_number = number.and_then(|number| self.by_number.get(number));
        for at in by_number
            .into_iter()
            .chain(self.by_name.get(name))
            .flatten()
        {
            push_new(&mut found, at);
        }
        found
    }

    /// Whether the block device of this name is a swap area.
    pub(super) fn is_swap(&self, name: &str) -> bool {
        self.swaps.iter().any(|swap| swap == name)
    }
}

fn push_new(list: &mut Vec<PathBuf>, at: &Path) {
    if !list.iter().any(|known| known == at) {
        list.push(at.to_owned());
    }
}

/// One line of `mountinfo` (proc_pid_mountinfo(5)).
struct Mount {
    number: String,
    at: PathBuf,
    fs_type: String,
    source: String,
}

impl Mount {
    fn parse(line: &str) -> Option<Mount> {
        // 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
        let (place, file_system) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(2);
        let (number, _root, at) = (place.next()?, place.next()?, place.next()?);
        let mut file_system = file_system.split(' ');
        let (fs_type, source) = (file_system.next()?, file_system.next()?);
        Some(Mount {
            number: number.to_owned(),
            at: PathBuf::from(unescape(at)),
            fs_type: fs_type.to_owned(),
            source: unescape(source),
        })
    }
}

/// The kernel names of the block devices that a mount source or swap file name means; none when it
/// is no device node.
pub(super) fn block_names(roots: &Roots, source: &str) -> Vec<String> {
    let node = |path: &str| -> Option<String> {
        let below = path.strip_prefix("/dev/")?;
        let node = roots.dev.join(below);
        let resolved = fs::canonicalize(&node).unwrap_or(node);
        let name = resolved.strip_prefix(&roots.dev).unwrap_or(&resolved);
        // sysfs writes the slash of names such as cciss/c0d0 as an exclamation mark.
        Some(name.to_str()?.replace('/', "!"))
    };
    if roots.dev.join(source.trim_start_matches("/dev/")).exists() {
        return node(source).into_iter().collect();
    }
    // bcachefs names all its members, separated by colons.
    source
        .split(":/")
        .enumerate()
        .filter_map(|(i, part)| match i {
            0 => node(part),
            _ => node(&format!("/{part}")),
        })
        .collect()
}

/// All members of the btrfs file systems that one of `names` belongs to.
fn btrfs_siblings(roots: &Roots, names: &[String]) -> Vec<String> {
    let root = roots.sys.join("fs/btrfs");
    let members = |uuid: String| entries(&root.join(uuid).join("devices"));
    entries(&root)
        .into_iter()
        .map(members)
        .filter(|members| members.iter().any(|member| names.contains(member)))
        .flatten()
        .filter(|member| !names.contains(member))
        .collect()
}

fn lines(path: &Path) -> Vec<String> {
    // Mount points need not be UTF-8.
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::to_owned).collect()
}

/// Undo the kernel's `\040` escapes (space, tab, newline, backslash).
fn unescape(text: &str) -> String {
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| byte == b'\\');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(decoded) => {
                result.push(decoded);
                rest = &after[3..];
            }
            None => {
                result.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&result).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_in_mount_points_are_undone() {
        assert_eq!(
            unescape(r"/media/my\040stick\011\134x"),
            "/media/my stick\t\\x"
        );
        assert_eq!(unescape(r"/a\0"), r"/a\0");
        assert_eq!(unescape(r"/a\999"), r"/a\999");
    }

    #[test]
    fn a_mount_line_is_read_with_and_without_optional_fields() {
        let with = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw";
        let without = "36 35 98:0 / /mnt2 rw,noatime - ext3 /dev/sda1 rw";
        for (line, source) in [(with, "/dev/root"), (without, "/dev/sda1")] {
            let mount = Mount::parse(line).unwrap();
            assert_eq!(
                (mount.number.as_str(), mount.source.as_str()),
                ("98:0", source)
            );
            assert_eq!(mount.at, Path::new("/mnt2"));
        }
        assert!(Mount::parse("36 35 98:0 / /mnt2 rw").is_none());
    }
}
