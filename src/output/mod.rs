//! Values in, text out. One format, one file; nothing here prints.

pub mod change_text;
pub mod check;
pub mod check_json;
pub mod check_text;
pub mod devices;
pub mod holds;
pub mod html;
pub mod human;
pub mod json;
pub mod layout_json;
pub mod layout_picture;
pub mod layout_text;
pub mod mkfs;
pub mod parted;
pub mod report;
mod script;
pub mod sfdisk;
pub mod sgdisk;
mod telling;
pub mod wear;
