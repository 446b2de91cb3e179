//! What timing through a [`ReadDevice`] costs: a bare `pread` loop and [`block::open`]'s device read
//! the same loop device in turn, one access each, in one run. Needs root to make the loop device.
//!
//! `cargo bench --bench timed_read`. Fails when the device costs more than [`ALLOWED`] per access.
//!
//! [`ReadDevice`]: flashfit::device::ReadDevice
//! [`block::open`]: flashfit::device::block::open

#![allow(clippy::print_stdout, clippy::print_stderr)]

use flashfit::device::{AlignedBuffer, ReadDevice, block};
use flashfit::units::Bytes;
use nix::sys::uio::pread;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// A microframe of USB 2.0 lasts 125 µs; 2 µs beside it cannot be seen.
const ALLOWED: Duration = Duration::from_micros(2);
const SIZE: u64 = 64 << 20;
const ACCESSES: usize = 20_000;
const LENGTHS: [usize; 3] = [512, 4096, 65536];

struct Loop(PathBuf);

impl Loop {
    fn new(file: &Path) -> Option<Loop> {
        let made = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(file)
            .output();
        let output = made.ok().filter(|output| output.status.success())?;
        let device = String::from_utf8(output.stdout).ok()?;
        Some(Loop(PathBuf::from(device.trim())))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let directory = tempfile::TempDir::new()?;
    let file = directory.path().join("backing");
    File::create(&file)?.set_len(SIZE)?;
    let Some(disk) = Loop::new(&file) else {
        eprintln!("skipped: needs root and losetup");
        return Ok(ExitCode::SUCCESS);
    };
    let bare = OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_DIRECT)
        .open(&disk.0)?;
    let mut device = block::open(&disk.0)?;
    let mut code = ExitCode::SUCCESS;
    println!("median time of {ACCESSES} accesses each, alternating, from outside");
    println!(
        "{:>7} {:>10} {:>10} {:>9} {:>6}",
        "bytes", "bare", "device", "more", "ratio"
    );
    for length in LENGTHS {
        let mut buffer = AlignedBuffer::new(length);
        let mut times = [Vec::with_capacity(ACCESSES), Vec::with_capacity(ACCESSES)];
        // Steps of an odd number of requests visit every request once per round.
        let requests = SIZE / length as u64;
        let step = (requests / 3) | 1;
        let mut place = 0;
        for turn in 0..2 * ACCESSES {
            place = (place + step) % requests;
            let at = place * length as u64;
            let offset = i64::try_from(at)?;
            let start = Instant::now();
            // In pairs AB BA AB: neither is always the first after a switch.
            let is_device = (turn % 4 == 1) || (turn % 4 == 2);
            if is_device {
                black_box(device.read(Bytes(at), &mut buffer)?);
            } else {
                black_box(pread(&bare, &mut buffer, offset)?);
            }
            times[usize::from(is_device)].push(start.elapsed());
        }
        let [bare, device] = times.map(median);
        let more = device.as_secs_f64() - bare.as_secs_f64();
        println!(
            "{length:>7} {:>7.2} µs {:>7.2} µs {:>+6.3} µs {:>6.3}",
            bare.as_secs_f64() * 1e6,
            device.as_secs_f64() * 1e6,
            more * 1e6,
            device.as_secs_f64() / bare.as_secs_f64()
        );
        if more > ALLOWED.as_secs_f64() {
            eprintln!("more than {ALLOWED:?} per access");
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
