//! Values in, text out. One format, one file; nothing here prints.

pub mod human;
pub mod json;
pub mod report;
pub mod sfdisk;
