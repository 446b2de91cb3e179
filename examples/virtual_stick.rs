//! A simulated stick as a real block device, in real time.
//!
//! ```text
//! cargo run --release --example virtual_stick -- PROFILE [--seed N] [--read-only] [--trace FILE]
//! ```
//!
//! PROFILE is what stands behind `sim:`: a built-in name, `NAME#SERIAL`, or the path of a profile.
//! The first line on stdout is the block device (`/dev/loopN`). It lives until SIGINT, SIGTERM or
//! SIGHUP. Needs root, /dev/fuse, and losetup and unshare of util-linux.
//!
//! How it is built: a FUSE file system of one file, whose requests go to the same flash model as
//! `sim:` and are answered when the model says so, under a loop device with direct I/O, so that no
//! page cache lies between. Nothing can stay behind, even after kill -9: the file system is mounted
//! in a mount namespace of its own, and the loop device detaches itself when this program closes it.
//!
//! `--trace FILE` writes one line per request: kind, offset, length, the time that the model says,
//! and the time until the answer was ready (both in nanoseconds).

#![allow(clippy::print_stdout, clippy::print_stderr)] // a program for the terminal

use flashfit::device::simulated::{self, SimulatedStick};
use flashfit::device::{AccessError, Device, ReadDevice};
use flashfit::units::Bytes;
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Set in the environment once the program runs in a mount namespace of its own.
const IN_NAMESPACE: &str = "VIRTUAL_STICK_IN_NAMESPACE";
/// The name of the one file.
const FILE_NAME: &str = "virtual-stick";
const FILE: INodeNo = INodeNo(2);
/// Sleeping is left to the kernel until this long before the end, the rest is spun: timer slack
/// (50 us by default, see prctl(2)) and the wake-up of an idle core stay below it.
const SPIN: Duration = Duration::from_micros(150);
/// How long a user of the loop device may take to let go of it at the end.
const PATIENCE: Duration = Duration::from_secs(5);
/// Nothing about the file ever changes.
const FOREVER: Duration = Duration::from_secs(1 << 30);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("virtual_stick: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let options = Options::parse(std::env::args().skip(1))?;
    if std::env::var_os(IN_NAMESPACE).is_none() {
        return Err(enter_namespace());
    }
    // Before anything is made, so that no signal can come in between.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|e| format!("cannot listen for signals: {e}"))?;
    let stick =
        simulated::open(&options.profile, options.seed).map_err(|error| error.to_string())?;
    let trace = match &options.trace {
        None => None,
        Some(path) => Some(File::create(path).map_err(|e| format!("{}: {e}", path.display()))?),
    };
    let facts = stick.facts().clone();

    // In this namespace the mount may hide what it likes: no directory has to be made.
    let mount_point = std::env::temp_dir();
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName(FILE_NAME.to_owned())];
    let session = fuser::spawn_mount(OneFile::new(stick, trace), &mount_point, &config)
        .map_err(|e| format!("cannot mount through /dev/fuse: {e} (root is needed)"))?;

    let result = LoopDevice::attach(
        &mount_point.join(FILE_NAME),
        facts.logical_block.bytes(),
        facts.max_request,
        options.read_only,
    )
    .and_then(|device| {
        println!("{}", device.path.display());
        io::stdout()
            .flush()
            .map_err(|e| format!("cannot write to stdout: {e}"))?;
        signals.forever().next();
        device.detach()
    });
    drop(session);
    result
}

/// Run this program again in a mount namespace of its own and, where that is allowed, with real-time
/// priority, so that a busy machine does not delay its answers. Returns only when that fails.
fn enter_namespace() -> String {
    let this = match std::env::current_exe() {
        Ok(this) => this,
        Err(error) => return format!("cannot find this program: {error}"),
    };
    let realtime = ["chrt", "--fifo", "10"];
    let allowed = Command::new(realtime[0])
        .args(&realtime[1..])
        .arg("true")
        .output()
        .is_ok_and(|output| output.status.success());
    let error = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "--"])
        .args(realtime.iter().filter(|_| allowed))
        .arg(this)
        .args(std::env::args_os().skip(1))
        .env(IN_NAMESPACE, "1")
        .exec();
    format!("cannot run unshare (of util-linux): {error}")
}

struct Options {
    profile: String,
    seed: u64,
    read_only: bool,
    trace: Option<PathBuf>,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        const USAGE: &str = "usage: virtual_stick PROFILE [--seed N] [--read-only] [--trace FILE]";
        let mut options = Options {
            profile: String::new(),
            seed: 1,
            read_only: false,
            trace: None,
        };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--seed" => {
                    let seed = args.next().and_then(|n| n.parse().ok());
                    options.seed = seed.ok_or("--seed needs a whole number")?;
                }
                "--read-only" => options.read_only = true,
                "--trace" => {
                    let path = args.next().ok_or("--trace needs a file")?;
                    options.trace = Some(path.into());
                }
                _ if arg.starts_with('-') || !options.profile.is_empty() => {
                    return Err(format!("unexpected '{arg}'\n{USAGE}"));
                }
                _ => options.profile = arg,
            }
        }
        if options.profile.is_empty() {
            return Err(USAGE.to_owned());
        }
        Ok(options)
    }
}

/// A loop device that detaches itself when it is dropped or this program dies.
struct LoopDevice {
    path: PathBuf,
    handle: File,
}

impl LoopDevice {
    fn attach(
        file: &Path,
        block: Bytes,
        max_request: Option<Bytes>,
        read_only: bool,
    ) -> Result<LoopDevice, String> {
        let mut losetup = Command::new("losetup");
        losetup.args(["--find", "--show", "--direct-io=on", "--sector-size"]);
        losetup.arg(block.get().to_string());
        if read_only {
            losetup.arg("--read-only");
        }
        let path = PathBuf::from(output_of(losetup.arg(file))?);
        // While this handle is open, `losetup --detach` only sets the autoclear flag.
        let opened = File::open(&path);
        output_of(Command::new("losetup").arg("--detach").arg(&path))?;
        let handle = opened.map_err(|e| format!("{}: {e}", path.display()))?;
        let device = LoopDevice { path, handle };
        device.set_queue("read_ahead_kb", 0)?;
        if let Some(size) = max_request {
            device.lower_queue("max_sectors_kb", size.get() / 1024)?;
        }
        Ok(device)
    }

    fn sysfs(&self) -> PathBuf {
        Path::new("/sys/block").join(self.path.file_name().unwrap_or_default())
    }

    fn set_queue(&self, key: &str, value: u64) -> Result<(), String> {
        let path = self.sysfs().join("queue").join(key);
        std::fs::write(&path, value.to_string()).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Like [`LoopDevice::set_queue`], unless the limit is lower already.
    fn lower_queue(&self, key: &str, value: u64) -> Result<(), String> {
        let path = self.sysfs().join("queue").join(key);
        let now = std::fs::read_to_string(&path).ok();
        match now.and_then(|text| text.trim().parse::<u64>().ok()) {
            Some(now) if now <= value => Ok(()),
            _ => self.set_queue(key, value),
        }
    }

    /// Close it and wait until the last other user has done so too.
    fn detach(self) -> Result<(), String> {
        let attached = self.sysfs().join("loop/backing_file");
        let path = self.path.display().to_string();
        drop(self.handle);
        let start = Instant::now();
        while attached.exists() {
            if start.elapsed() > PATIENCE {
                return Err(format!(
                    "{path} is still in use: it will detach when its last user closes it"
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

fn output_of(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|e| format!("cannot run {program}: {e}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} failed: {}", words.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The stick on the wall clock.
struct Paced {
    stick: SimulatedStick,
    start: Instant,
    trace: Option<File>,
}

impl Paced {
    /// Do `access` on the model and return when the model says that it is over.
    fn pace<T>(
        &mut self,
        what: (&str, u64, usize),
        access: impl FnOnce(&mut SimulatedStick) -> Result<T, AccessError>,
    ) -> Result<T, Errno> {
        let arrived = self.start.elapsed();
        // The model's clock stood still since its last access, the wall clock did not.
        let behind = arrived.saturating_sub(self.stick.clock());
        self.stick.wait(behind);
        let result = access(&mut self.stick);
        let due = self.stick.clock();
        loop {
            let left = due.saturating_sub(self.start.elapsed());
            if left.is_zero() {
                break;
            } else if left > SPIN {
                std::thread::sleep(left - SPIN);
            } else {
                std::hint::spin_loop();
            }
        }
        if let Some(trace) = &mut self.trace {
            let (kind, at, length) = what;
            let model = due.saturating_sub(arrived).as_nanos();
            let real = (self.start.elapsed() - arrived).as_nanos();
            // A full disk must not fail the request that is being traced.
            let _ = writeln!(trace, "{kind} {at} {length} {model} {real}");
        }
        result.map_err(|error| match error {
            AccessError::Io { .. } | AccessError::NotSaved { .. } => Errno::EIO,
            AccessError::Gone { .. } => Errno::ENODEV,
            AccessError::Unaligned { .. } => Errno::EINVAL,
        })
    }
}

/// A file system of one file.
struct OneFile {
    size: u64,
    device: Mutex<Paced>,
}

impl OneFile {
    fn new(stick: SimulatedStick, trace: Option<File>) -> OneFile {
        OneFile {
            size: stick.capacity().get(),
            device: Mutex::new(Paced {
                stick,
                start: Instant::now(),
                trace,
            }),
        }
    }

    fn pace<T>(
        &self,
        what: (&str, u64, usize),
        access: impl FnOnce(&mut SimulatedStick) -> Result<T, AccessError>,
    ) -> Result<T, Errno> {
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        device.pace(what, access)
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_file = inode == FILE;
        FileAttr {
            ino: inode,
            size: if is_file { self.size } else { 0 },
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_file {
                FileType::RegularFile
            } else {
                FileType::Directory
            },
            perm: if is_file { 0o600 } else { 0o700 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for OneFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Requests as large as the loop device makes them (1280 KiB by default) in one piece.
        let wanted = 2 << 20;
        if let Err(possible) = config.set_max_write(wanted) {
            let _ = config.set_max_write(possible);
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == FILE_NAME {
            reply.entry(&FOREVER, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // No page cache: every read and write comes here, as it is.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut buffer = vec![0; size as usize];
        let result = self.pace(("read", at, buffer.len()), |stick| {
            stick.read(Bytes(at), &mut buffer)
        });
        match result {
            Ok(_) => reply.data(&buffer),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let result = self.pace(("write", at, data.len()), |stick| {
            stick.write(Bytes(at), data)
        });
        match (result, u32::try_from(data.len())) {
            (Ok(_), Ok(length)) => reply.written(length),
            (Ok(_), Err(_)) => reply.error(Errno::EINVAL),
            (Err(error), _) => reply.error(error),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // A close(2): nothing is held back here that it should write.
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match self.pace(("flush", 0, 0), |stick| stick.flush()) {
            Ok(_) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }
}
