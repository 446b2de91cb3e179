//! What if a stick of the same model was measured before? Its report stands in for a scan.

use crate::device::ReadDevice;
use crate::error::Error;
use crate::geometry::erase_block::{Fit, Told};
use crate::geometry::{Verdict, Warning};
use crate::output::report::{Cost, Report};
use crate::run::examine::of_stop;
use crate::run::plan::saved_report;
use crate::run::scan::fit::{self, Looked};
use crate::topology::{Facts, Transport};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The report of another stick of the same model.
pub struct Profile {
    name: String,
    report: Report,
}

impl Profile {
    /// From a file.
    ///
    /// # Errors
    /// A file that cannot be read, or is no report.
    pub fn read(path: &Path) -> Result<Profile, Error> {
        Ok(Profile {
            name: path.display().to_string(),
            report: saved_report(path)?,
        })
    }

    /// What it says of a device of the same model.
    ///
    /// # Errors
    /// The device is of another model or size.
    pub fn apply(&self, facts: &Facts) -> Result<Report, Error> {
        if let Some(difference) = difference(&self.report.device, facts) {
            return Err(Error::refused(format!(
                "the profile {} is of another model: {difference}",
                self.name
            ))
            .hint("scan one stick of this model with --report FILE and use that, or leave out --profile"));
        }
        let mut facts = facts.clone();
        facts.real_capacity = self.report.device.real_capacity;
        let mut report = Report::new(facts, self.report.geometry.clone(), Cost::default());
        // Without the name and the serial number of that stick: reports are passed on.
        report.warnings.push(Warning::new(
            "profile",
            format!(
                "this device was not measured: the findings are those of another of the same model, from {}",
                self.name
            ),
        ));
        Ok(report)
    }

    /// Look whether its erase block is that of this very device, and note the answer in the report.
    ///
    /// # Errors
    /// The device contradicts it, or fails.
    pub fn verify(
        &self,
        report: &mut Report,
        device: &mut dyn ReadDevice,
        seed: u64,
        interrupted: &AtomicBool,
    ) -> Result<Fit, Error> {
        let name = report.device.path.clone();
        let fit = match Told::of(&report.geometry.erase_block, by_reads(&self.report)) {
            None => Fit::NotTold("the profile does not tell an erase block".to_owned()),
            Some(_) if report.device.transport == Transport::Image => {
                Fit::NotTold("an image file is no flash device".to_owned())
            }
            Some(told) => {
                let begun = Instant::now();
                let Looked { fit, cost, stop } = fit::look(device, told, seed, interrupted);
                report.cost = Cost {
                    device_time: cost.device_time,
                    wall_time: begun.elapsed(),
                    reads: cost.reads,
                    bytes_read: cost.bytes_read,
                    ..Cost::default()
                };
                let stage = "while checking whether the profile fits";
                if let Some(error) = stop.and_then(|stop| of_stop(&name, &stop, stage)) {
                    return Err(error);
                }
                fit
            }
        };
        match &fit {
            Fit::Contradicted(why) => Err(Error::refused(format!(
                "the profile {} does not fit {name}: {why}",
                self.name
            ))
            .hint("it may be another model in the same case: scan it without --profile")),
            Fit::Fits => {
                report.warnings.push(Warning::new(
                    "profile_fits",
                    "the erase block of the profile was checked on this device, and fits",
                ));
                Ok(fit)
            }
            Fit::NotTold(why) => {
                report.warnings.push(Warning::new(
                    "profile_not_checked",
                    format!("whether the profile fits this device could not be told: {why}"),
                ));
                Ok(fit)
            }
        }
    }
}

/// Whether reads told the erase block of a report. The stalls of long writes tell it too, where reads do
/// not show it, but never as confirmed.
fn by_reads(report: &Report) -> bool {
    report.cost.writes == 0 || report.geometry.erase_block.verdict == Verdict::Confirmed
}

/// What shows that a device is of another model, in words. An image file has neither vendor nor model: it
/// is meant for a stick of this size.
fn difference(then: &Facts, now: &Facts) -> Option<String> {
    let quoted = |text: &Option<String>| match text {
        Some(text) => format!("'{text}'"),
        None => "not told".to_owned(),
    };
    let is_image = now.transport == Transport::Image;
    let words = [
        ("vendor", &then.vendor, &now.vendor),
        ("model", &then.model, &now.model),
    ];
    if let Some((field, then, now)) = words
        .into_iter()
        .find(|(_, then, now)| !is_image && then != now)
    {
        return Some(format!(
            "{field} {} there, {} here",
            quoted(then),
            quoted(now)
        ));
    }
    let bytes = |facts: &Facts| facts.capacity.unwrap_or_default().get();
    if bytes(then) != bytes(now) {
        return Some(format!("{} bytes there, {} here", bytes(then), bytes(now)));
    }
    let block = |facts: &Facts| facts.logical_block.bytes().get();
    (block(then) != block(now)).then(|| {
        format!(
            "sectors of {} bytes there, of {} here",
            block(then),
            block(now)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{EraseBlock, Geometry};
    use crate::units::{Bytes, LogicalBlock};

    fn stick(serial: &str) -> Facts {
        Facts {
            vendor: Some("SanDisk".to_owned()),
            model: Some("Ultra Fit".to_owned()),
            serial: Some(serial.to_owned()),
            ..Facts::bare(
                "/dev/sdb",
                Transport::Usb,
                Some(Bytes::gib(8)),
                LogicalBlock::B512,
            )
        }
    }

    fn profile() -> Profile {
        let geometry = Geometry {
            erase_block: EraseBlock {
                verdict: Verdict::Confirmed,
                bytes: Some(Bytes::mib(12)),
                confidence: 1.0,
                ..EraseBlock::default()
            },
            ..Geometry::default()
        };
        Profile {
            name: "p.json".to_owned(),
            report: Report::new(stick("1"), geometry, Cost::default()),
        }
    }

    #[test]
    fn another_specimen_of_the_model_gets_its_geometry_and_keeps_its_name() {
        let report = profile().apply(&stick("2")).unwrap();
        assert_eq!(report.device.serial.as_deref(), Some("2"));
        assert_eq!(report.alignment.alignment.grain(), Bytes::mib(12));
        assert!(report.is_told());
        let note = &report.warnings[0];
        assert!(
            note.code == "profile" && note.text.contains("was not measured"),
            "{note:?}"
        );
        // Neither the name nor the serial number of the first one: reports are passed on.
        assert!(
            note.text.ends_with("of the same model, from p.json"),
            "{note:?}"
        );
    }

    #[test]
    fn another_vendor_model_size_or_sector_is_refused() {
        let changed = |change: &dyn Fn(&mut Facts)| {
            let mut facts = stick("2");
            change(&mut facts);
            facts
        };
        for (facts, says) in [
            (
                changed(&|f| f.vendor = Some("Sandisk".into())),
                "vendor 'SanDisk' there, 'Sandisk' here",
            ),
            (
                changed(&|f| f.model = None),
                "model 'Ultra Fit' there, not told here",
            ),
            (
                changed(&|f| f.capacity = Some(Bytes::gib(16))),
                "8589934592 bytes there, 17179869184 here",
            ),
            (
                changed(&|f| f.logical_block = LogicalBlock::B4096),
                "sectors of 512 bytes there",
            ),
        ] {
            let error = profile().apply(&facts).unwrap_err();
            assert_eq!(error.exit_code().number(), 4);
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn what_only_the_stalls_of_writes_told_is_not_expected_of_reads() {
        let mut report = profile().report;
        assert!(by_reads(&report));
        report.cost.writes = 5000;
        assert!(by_reads(&report), "confirmed");
        report.geometry.erase_block.verdict = Verdict::Likely;
        assert!(!by_reads(&report));
    }

    #[test]
    fn an_image_is_compared_by_size() {
        let image = |size| Facts::bare("a.img", Transport::Image, Some(size), LogicalBlock::B512);
        assert!(profile().apply(&image(Bytes::gib(8))).is_ok());
        assert!(profile().apply(&image(Bytes::gib(4))).is_err());
    }
}
