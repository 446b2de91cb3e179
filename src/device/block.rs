//! Real block devices, read and written past the page cache.
//!
//! A scan opens a device with [`open`], read-only, and gets a [`BlockDevice`], which has no way to
//! write. Writing needs [`open_exclusive`], which refuses a device that anybody else uses.

mod exclusive;
mod kernel_table;
mod open;
pub(super) mod timed;

pub use exclusive::{ExclusiveDevice, check_writable, open_exclusive};
pub use kernel_table::KernelTrouble;
pub use open::{BlockDevice, look, open};
pub(super) use open::{explain, wrong_kind};

/// The questions that only an ioctl answers: include/uapi/linux/fs.h and
/// Documentation/userspace-api/ioctl/ioctl-number.rst of the kernel. The only unsafe code here.
mod ioctl {
    #![allow(unsafe_code)]

    use nix::errno::Errno;
    use nix::libc::{c_int, c_uint, c_ushort};
    use nix::request_code_none;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    /// The parameters of the raw calls: numbers and the C types of their pointees.
    mod raw {
        use super::{c_int, c_uint, c_ushort, request_code_none};

        nix::ioctl_read_bad!(blksszget, request_code_none!(0x12, 104), c_int);
        nix::ioctl_read_bad!(blkpbszget, request_code_none!(0x12, 123), c_uint);
        nix::ioctl_read_bad!(blkioopt, request_code_none!(0x12, 121), c_uint);
        nix::ioctl_read_bad!(blkalignoff, request_code_none!(0x12, 122), c_int);
        nix::ioctl_read_bad!(blkroget, request_code_none!(0x12, 94), c_int);
        nix::ioctl_read_bad!(blksectget, request_code_none!(0x12, 103), c_ushort);
        // The request is declared with size_t, and yet writes 64 bits on every architecture.
        nix::ioctl_read_bad!(
            blkgetsize64,
            nix::request_code_read!(0x12, 114, size_of::<usize>()),
            u64
        );
        nix::ioctl_read!(blkgetdiskseq, 0x12, 128, u64);
        nix::ioctl_none_bad!(blkrrpart, request_code_none!(0x12, 95));
        nix::ioctl_none_bad!(blkflsbuf, request_code_none!(0x12, 97));
        nix::ioctl_write_ptr_bad!(blkdiscard, request_code_none!(0x12, 119), [u64; 2]);
        nix::ioctl_write_ptr_bad!(blkpg, request_code_none!(0x12, 105), super::PartitionCall);
    }

    /// `struct blkpg_ioctl_arg` of include/uapi/linux/blkpg.h.
    #[repr(C)]
    pub(super) struct PartitionCall {
        operation: c_int,
        flags: c_int,
        data_length: c_int,
        data: *mut PartitionData,
    }

    /// `struct blkpg_partition` of include/uapi/linux/blkpg.h; the names are ignored by the kernel.
    #[repr(C)]
    struct PartitionData {
        start: i64,
        length: i64,
        number: c_int,
        device_name: [u8; 64],
        volume_name: [u8; 64],
    }

    /// `BLKPG_ADD_PARTITION`.
    const ADD: c_int = 1;
    /// `BLKPG_DEL_PARTITION`.
    const DELETE: c_int = 2;

    /// BLKGETSIZE64: the size in bytes.
    pub(super) fn size(device: &File) -> Result<u64, Errno> {
        let mut value = 0u64;
        // SAFETY: the descriptor is open for the call, and the kernel writes one u64 into `value`.
        unsafe { raw::blkgetsize64(device.as_raw_fd(), &raw mut value) }?;
        Ok(value)
    }

    /// BLKSSZGET: the logical block in bytes.
    pub(super) fn logical_block(device: &File) -> Result<u64, Errno> {
        let mut value: c_int = 0;
        // SAFETY: the descriptor is open for the call, and the kernel writes one int into `value`.
        unsafe { raw::blksszget(device.as_raw_fd(), &raw mut value) }?;
        Ok(u64::try_from(value).unwrap_or(0))
    }

    /// BLKPBSZGET: the physical block in bytes.
    pub(super) fn physical_block(device: &File) -> Result<u64, Errno> {
        let mut value: c_uint = 0;
        // SAFETY: the descriptor is open, and the kernel writes one unsigned int into `value`.
        unsafe { raw::blkpbszget(device.as_raw_fd(), &raw mut value) }?;
        Ok(u64::from(value))
    }

    /// BLKIOOPT: the optimal transfer in bytes, 0 when unknown.
    pub(super) fn optimal_io(device: &File) -> Result<u64, Errno> {
        let mut value: c_uint = 0;
        // SAFETY: the descriptor is open, and the kernel writes one unsigned int into `value`.
        unsafe { raw::blkioopt(device.as_raw_fd(), &raw mut value) }?;
        Ok(u64::from(value))
    }

    /// BLKALIGNOFF: the first aligned byte, -1 when there is none.
    pub(super) fn alignment_offset(device: &File) -> Result<i64, Errno> {
        let mut value: c_int = 0;
        // SAFETY: the descriptor is open for the call, and the kernel writes one int into `value`.
        unsafe { raw::blkalignoff(device.as_raw_fd(), &raw mut value) }?;
        Ok(i64::from(value))
    }

    /// BLKROGET: whether it is write-protected.
    pub(super) fn is_read_only(device: &File) -> Result<bool, Errno> {
        let mut value: c_int = 0;
        // SAFETY: the descriptor is open for the call, and the kernel writes one int into `value`.
        unsafe { raw::blkroget(device.as_raw_fd(), &raw mut value) }?;
        Ok(value != 0)
    }

    /// BLKSECTGET: the largest request in units of 512 bytes (`queue/max_sectors_kb` in sysfs).
    pub(super) fn max_sectors(device: &File) -> Result<u64, Errno> {
        let mut value: c_ushort = 0;
        // SAFETY: the descriptor is open, and the kernel writes one unsigned short into `value`.
        unsafe { raw::blksectget(device.as_raw_fd(), &raw mut value) }?;
        Ok(u64::from(value))
    }

    /// BLKGETDISKSEQ: the number of this attachment, `None` before Linux 5.15.
    pub(super) fn disk_sequence(device: &File) -> Option<u64> {
        let mut value = 0u64;
        // SAFETY: the descriptor is open for the call, and the kernel writes one u64 into `value`.
        unsafe { raw::blkgetdiskseq(device.as_raw_fd(), &raw mut value) }.ok()?;
        Some(value)
    }

    /// BLKRRPART: read the partition table again.
    pub(super) fn reread_partitions(device: &File) -> Result<(), Errno> {
        // SAFETY: the descriptor is open for the call, which takes no argument.
        unsafe { raw::blkrrpart(device.as_raw_fd()) }.map(drop)
    }

    /// BLKFLSBUF: drop the device's cached pages, so that others read what was written past them.
    pub(super) fn drop_cached_pages(device: &File) -> Result<(), Errno> {
        // SAFETY: the descriptor is open for the call, which takes no argument.
        unsafe { raw::blkflsbuf(device.as_raw_fd()) }.map(drop)
    }

    /// BLKDISCARD: forget `length` bytes from `start`.
    pub(super) fn discard(device: &File, start: u64, length: u64) -> Result<(), Errno> {
        let range = [start, length];
        // SAFETY: the descriptor is open for the call, and the kernel reads two u64 from `range`.
        unsafe { raw::blkdiscard(device.as_raw_fd(), &raw const range) }.map(drop)
    }

    /// BLKPG: add a partition of `length` bytes at byte `start`.
    pub(super) fn add_partition(
        device: &File,
        number: u32,
        start: u64,
        length: u64,
    ) -> Result<(), Errno> {
        partition_call(device, ADD, number, start, length)
    }

    /// BLKPG: remove a partition.
    pub(super) fn remove_partition(device: &File, number: u32) -> Result<(), Errno> {
        partition_call(device, DELETE, number, 0, 0)
    }

    fn partition_call(
        device: &File,
        operation: c_int,
        number: u32,
        start: u64,
        length: u64,
    ) -> Result<(), Errno> {
        let out_of_range = |_| Errno::EINVAL;
        let mut data = PartitionData {
            start: i64::try_from(start).map_err(out_of_range)?,
            length: i64::try_from(length).map_err(out_of_range)?,
            number: c_int::try_from(number).map_err(out_of_range)?,
            device_name: [0; 64],
            volume_name: [0; 64],
        };
        let call = PartitionCall {
            operation,
            flags: 0,
            data_length: c_int::try_from(size_of::<PartitionData>()).map_err(out_of_range)?,
            data: &raw mut data,
        };
        // SAFETY: the descriptor is open, and both structs have the layout that the kernel reads
        // and outlive the call.
        unsafe { raw::blkpg(device.as_raw_fd(), &raw const call) }.map(drop)
    }
}
