//! Values in, text out. One format, one file; nothing here prints.

pub mod devices;
pub mod human;
pub mod json;
pub mod layout_json;
pub mod layout_text;
pub mod mkfs;
pub mod report;
pub mod sfdisk;
