//! A report as one web page that can be passed on: no script, nothing loaded from elsewhere, charts as
//! inline SVG, readable on a phone and on a desk, by day and by night.
//!
//! The words and the values of the charts are those of the report for people ([`super::human`]).
//! A page that is passed on says less than one that stays: serial number and mount points are left
//! out unless they are asked for.

mod bars;
mod columns;
mod discretion;
mod markup;
mod sections;

use super::report::Report;
use super::telling;
use discretion::Discretion;
use markup::Html;

/// Whether the page tells the serial number of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Serial {
    /// It is left out wherever it would stand, also in names of devices.
    #[default]
    LeftOut,
    /// It is told.
    Told,
}

/// The whole page.
pub fn render(report: &Report, serial: Serial) -> String {
    let mut page = Html::new(Discretion::of(&report.device, serial));
    page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    // Whatever a name of a device tries: a browser runs nothing here and loads nothing.
    page.raw(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
    );
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    page.raw("<meta name=\"referrer\" content=\"no-referrer\">\n");
    let name = telling::name(&report.device).unwrap_or_else(|| report.device.path.clone());
    page.element("title", &[], |page| {
        page.text(&format!("{name}: flashfit report"))
    });
    page.raw("\n<style>\n");
    page.raw(include_str!("html/style.css"));
    page.raw("</style>\n</head>\n<body>\n");
    page.element("main", &[], |page| {
        sections::head(report, &name, page);
        sections::verdict(report, page);
        sections::warnings(report, page);
        sections::why(report, page);
        sections::page(report, page);
        sections::rates(report, page);
        sections::open_units(report, page);
        sections::fat_area(report, page);
        sections::identity(report, serial, page);
        sections::foot(report, serial, page);
    });
    page.raw("\n</body>\n</html>\n");
    page.finish()
}

#[cfg(test)]
mod tests;
