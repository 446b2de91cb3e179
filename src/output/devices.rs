//! The devices of a machine, as text and as JSON (schema `flashfit.list/1`).

use crate::topology::Transport;
use crate::units::Bytes;
use serde::Serialize;
use std::fmt::Write;

/// The schema of the JSON form.
pub const SCHEMA: &str = "flashfit.list/1";

/// A device as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its node.
    pub path: String,
    /// Its names in `/dev/disk/by-id`.
    pub by_id: Vec<String>,
    /// Its names in `/dev/disk/by-path`.
    pub by_path: Vec<String>,
    /// Its size; zero without a medium.
    pub capacity: Bytes,
    /// How it is attached.
    pub transport: Transport,
    /// Vendor string.
    pub vendor: Option<String>,
    /// Model string.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// USB `vendor:product`.
    pub usb_id: Option<String>,
    /// The kernel's `removable` flag.
    pub removable: Option<bool>,
    /// Who uses it, one phrase each.
    pub in_use: Vec<String>,
    /// Remarks, one sentence each.
    pub notes: Vec<String>,
    /// Why it cannot be scanned; `None` when it can.
    pub refusal: Option<String>,
}

impl Device {
    /// Whether it can be scanned.
    pub fn is_candidate(&self) -> bool {
        self.refusal.is_none()
    }
}

/// One paragraph for each device: the name to use, then what it is, its other names, remarks, and the
/// reason why it cannot be scanned. Empty without devices.
///
/// The name to use is one that stays the same from one plugging in to the next; `/dev/sdb` may be
/// another device tomorrow.
pub fn text(devices: &[Device]) -> String {
    let mut text = String::new();
    for device in devices {
        let (first, others) = names(device);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", shown(first));
        for line in std::iter::once(facts(device, first)).chain(others.map(str::to_owned)) {
            let _ = writeln!(text, "    {}", shown(&line));
        }
        for note in &device.notes {
            let _ = writeln!(text, "    {}", shown(note));
        }
        if let Some(why) = &device.refusal {
            let _ = writeln!(text, "    not to be scanned: {}", shown(why));
        }
    }
    text
}

/// The name to use, and the other lasting ones. A name made of model and serial number says more than
/// one made of a number alone.
fn names(device: &Device) -> (&str, impl Iterator<Item = &str>) {
    let is_number = |name: &str| {
        let last = name.rsplit('/').next().unwrap_or_default();
        ["wwn-", "nvme-eui.", "nvme-nvme."]
            .iter()
            .any(|number| last.starts_with(number))
    };
    let first = device
        .by_id
        .iter()
        .find(|name| !is_number(name))
        .or_else(|| device.by_id.first())
        .unwrap_or(&device.path)
        .as_str();
    let others = device.by_id.iter().map(String::as_str);
    (first, others.filter(move |name| *name != first))
}

/// What it is, in one line; the node too, unless it stands above already.
fn facts(device: &Device, heading: &str) -> String {
    let name: Vec<&str> = [&device.vendor, &device.model]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let mut facts = Vec::new();
    if device.capacity != Bytes::ZERO {
        facts.push(size(device.capacity));
    }
    facts.push(device.transport.to_string());
    if !name.is_empty() {
        facts.push(name.join(" "));
    }
    if let Some(serial) = &device.serial {
        facts.push(format!("serial {serial}"));
    }
    let facts = facts.join(", ");
    if device.path == heading {
        facts
    } else {
        format!("{}: {facts}", device.path)
    }
}

/// As it is printed on the case.
fn size(bytes: Bytes) -> String {
    const UNITS: [(u64, &str); 3] = [
        (1_000_000_000_000, "TB"),
        (1_000_000_000, "GB"),
        (1_000_000, "MB"),
    ];
    match UNITS.into_iter().find(|(unit, _)| bytes.get() >= *unit) {
        Some((unit, name)) => {
            let tenths = bytes.get() / (unit / 10);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{} B", bytes.get()),
    }
}

/// Names come from devices and may hold anything, also what moves a cursor.
fn shown(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            ' '..='~' => c.to_string(),
            _ => c.escape_unicode().to_string(),
        })
        .collect()
}

#[derive(Serialize)]
struct File<'a> {
    schema: &'a str,
    version: &'a str,
    devices: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    path: &'a str,
    by_id: &'a [String],
    by_path: &'a [String],
    capacity_bytes: Option<Bytes>,
    transport: Transport,
    vendor: Option<&'a str>,
    model: Option<&'a str>,
    serial: Option<&'a str>,
    usb_id: Option<&'a str>,
    removable: Option<bool>,
    candidate: bool,
    reason: Option<&'a str>,
    in_use: &'a [String],
    notes: &'a [String],
}

/// The devices as indented JSON with a final line break. Every key is always there.
pub fn json(devices: &[Device]) -> String {
    let file = File {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        devices: devices.iter().map(Entry::from).collect(),
    };
    // Strings and integers only: serialising them cannot fail.
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    text
}

impl<'a> From<&'a Device> for Entry<'a> {
    fn from(device: &'a Device) -> Entry<'a> {
        Entry {
            path: &device.path,
            by_id: &device.by_id,
            by_path: &device.by_path,
            capacity_bytes: Some(device.capacity).filter(|size| *size != Bytes::ZERO),
            transport: device.transport,
            vendor: device.vendor.as_deref(),
            model: device.model.as_deref(),
            serial: device.serial.as_deref(),
            usb_id: device.usb_id.as_deref(),
            removable: device.removable,
            candidate: device.is_candidate(),
            reason: device.refusal.as_deref(),
            in_use: &device.in_use,
            notes: &device.notes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices() -> [Device; 2] {
        let stick = Device {
            path: "/dev/sdb".into(),
            by_id: vec!["/dev/disk/by-id/usb-Corsair_Voyager-0:0".into()],
            by_path: Vec::new(),
            capacity: Bytes(16_012_804_096),
            transport: Transport::Usb,
            vendor: Some("Corsair".into()),
            model: Some("Voyager\u{1b}[2J".into()),
            serial: None,
            usb_id: Some("1b1c:1a03".into()),
            removable: Some(true),
            in_use: vec!["sdb1 mounted at /media/x".into()],
            notes: vec!["in use (sdb1 mounted at /media/x): it can be scanned, not written".into()],
            refusal: None,
        };
        let slot = Device {
            path: "/dev/sdc".into(),
            by_id: Vec::new(),
            capacity: Bytes::ZERO,
            in_use: Vec::new(),
            notes: Vec::new(),
            refusal: Some("no card in this slot".into()),
            ..stick.clone()
        };
        [stick, slot]
    }

    #[test]
    fn a_lasting_name_comes_first_then_facts_other_names_remarks_and_reasons() {
        let [mut stick, slot] = devices();
        stick.by_id.insert(0, "/dev/disk/by-id/wwn-0x5000".into());
        stick.serial = Some("AA04".into());
        assert_eq!(
            text(&[stick, slot]),
            "/dev/disk/by-id/usb-Corsair_Voyager-0:0\n    \
             /dev/sdb: 16.0 GB, usb, Corsair Voyager\\u{1b}[2J, serial AA04\n    \
             /dev/disk/by-id/wwn-0x5000\n    \
             in use (sdb1 mounted at /media/x): it can be scanned, not written\n\
             /dev/sdc\n    \
             usb, Corsair Voyager\\u{1b}[2J\n    \
             not to be scanned: no card in this slot\n"
        );
        assert_eq!(text(&[]), "");
    }

    #[test]
    fn the_json_has_every_key_for_every_device() {
        let value: serde_json::Value = serde_json::from_str(&json(&devices())).unwrap();
        assert_eq!(value["schema"], SCHEMA);
        let [stick, slot] = &value["devices"].as_array().unwrap()[..] else {
            panic!("{value}")
        };
        let keys = |value: &serde_json::Value| -> Vec<String> {
            value.as_object().unwrap().keys().cloned().collect()
        };
        assert_eq!(keys(stick), keys(slot));
        assert_eq!(
            (&stick["candidate"], &slot["candidate"]),
            (&true.into(), &false.into())
        );
        assert_eq!(slot["capacity_bytes"], serde_json::Value::Null);
        assert_eq!(stick["capacity_bytes"], 16_012_804_096_u64);
        assert_eq!(slot["reason"], "no card in this slot");
    }
}
