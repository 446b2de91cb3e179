//! flashfit finds out how a USB stick, SD card or eMMC is built inside, and lays partitions out to
//! fit.
//!
//! ```text
//! device -> measure -> geometry -> plan -> table -> device
//!           (scans)    (inference) (layout) (bytes)
//! ```
//!
//! Each arrow is one function, each stage one folder. A stage imports only from its left; all may
//! use [`units`], [`topology`] and [`quote`].
//!
//! Invariants:
//! 1. Only [`device`] knows files, ioctls and `O_DIRECT`; `unsafe` only in `device/block.rs`.
//! 2. Every device access returns the time it took, and waits go through the device too. Wall time
//!    is read only in [`run`] and the terminal.
//! 3. Reading and writing are two traits: [`device::ReadDevice`] and [`device::Device`].
//! 4. [`geometry`], [`plan`] and [`output`] are pure: same samples and seed, same answer.
//! 5. No byte of a table reaches a device before its old content is on a disk (fsynced) and a
//!    rehearsal (render, read back, compare with the layout) has passed: [`table::BackedUp`] is made
//!    from nothing else.
//! 6. stdout carries results only; prompts, progress and warnings go to stderr. Libraries never
//!    print.
//! 7. No bare integer crosses a module boundary as a size or address. Rounding divides; it never
//!    masks.
//! 8. `--yes` is no flag that is passed around: it is a [`wizard::Ask`] that consents. A dry run opens
//!    the device read-only.

pub mod cli;
pub mod device;
pub mod error;
pub mod geometry;
pub mod measure;
pub mod output;
pub mod plan;
pub mod quote;
pub mod run;
pub mod table;
pub mod topology;
pub mod units;
pub mod wizard;
