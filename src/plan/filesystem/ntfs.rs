//! Which parameters for NTFS?
//!
//! Its places are not to be chosen: only the start lies on the grid, and the cluster is at least a
//! page. Clusters are counted from the start of the partition.

use super::{Fit, FitError, Inside, Parameters, Site, cluster};
use crate::plan::types::FileSystem;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// mkntfs takes 1 MiB, Windows makes nothing below 7 MiB; its log alone has 2 MiB at the least.
const LEAST: Bytes = Bytes::mib(16);

/// Clusters are counted in 32 bits by Windows.
const MOST_CLUSTERS: u64 = u32::MAX as u64;

/// NTFS (`mkntfs -c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ntfs {
    /// The cluster.
    #[serde(rename = "cluster_bytes")]
    pub cluster: Bytes,
}

/// Whether this is a cluster that a plan can have.
pub(super) fn is_cluster(size: Bytes) -> bool {
    size.get().is_power_of_two() && (Bytes::kib(4)..=Bytes::kib(64)).contains(&size)
}

/// Fit NTFS.
pub(super) fn fit(site: &Site<'_>) -> Result<Fit, FitError> {
    if site.size() < LEAST {
        return Err(FitError::TooSmall {
            fs: FileSystem::Ntfs,
            size: site.size(),
            least: LEAST,
            way_out: "use fat16, or make the partition larger",
        });
    }
    let mut cluster = cluster::ntfs(site.stick);
    while site.size().get() / cluster.get() > MOST_CLUSTERS && cluster < Bytes::kib(64) {
        cluster = Bytes(cluster.get() * 2);
    }
    let most = Bytes(MOST_CLUSTERS * cluster.get());
    if site.size() > most {
        return Err(FitError::TooLarge {
            fs: FileSystem::Ntfs,
            size: site.size(),
            most,
            way_out: "use exfat, or give the partition a smaller size with --partition",
        });
    }
    let why =
        "start aligned only: NTFS offers no choice of where its files and tables lie".to_owned();
    Ok(Fit::at(
        site.range.from,
        Parameters::Ntfs(Ntfs { cluster }),
        Inside::StartOnly(why),
    ))
}
