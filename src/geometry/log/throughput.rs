//! Write rates from the open-AU test with the fewest units.

use super::page::curve;
use crate::geometry::page::efficient_size;
use crate::geometry::{Rate, Throughput};
use crate::measure::flashbench_log::OpenAuRun;
use crate::units::Bytes;

/// The rates of linear writing into one or two open units.
pub(super) fn infer(runs: &[&OpenAuRun]) -> Throughput {
    let run = runs
        .iter()
        .filter(|run| run.random != Some(true) && run.nr.is_none_or(|nr| nr <= 2))
        .max_by_key(|run| (std::cmp::Reverse(run.nr.unwrap_or(2)), run.lines.len()));
    let Some(run) = run else {
        return Throughput::default();
    };
    let mut write: Vec<Rate> = run
        .lines
        .iter()
        .map(|line| Rate {
            bytes: line.size,
            bytes_per_second: line.bytes_per_second,
        })
        .collect();
    write.sort_by_key(|rate| rate.bytes);
    Throughput {
        read: Vec::new(),
        write,
        efficient_bytes: efficient_size(&curve(run, Bytes(u64::MAX))),
    }
}
