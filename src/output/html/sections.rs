//! The sections of the page, in the order of the report for people.

use super::columns::{self, Column, Columns};
use super::markup::Html;
use super::{Serial, bars};
use crate::geometry::{Verdict, fat_area};
use crate::output::report::Report;
use crate::output::telling::bars::Bars;
use crate::output::telling::{self, numbers, sizes, writes};
use crate::units::Bytes;

/// What device it is.
pub(super) fn head(report: &Report, name: &str, html: &mut Html) {
    html.element("header", &[], |html| {
        html.text_element("p", &[("class", "kind")], "flashfit report");
        html.text_element("h1", &[], name);
        let mut facts = telling::facts(&report.device);
        if name != report.device.path {
            facts.push(report.device.path.clone());
        }
        html.text_element("p", &[("class", "facts")], &facts.join(" · "));
    });
}

/// The verdict, and the sizes that follow from it.
pub(super) fn verdict(report: &Report, html: &mut Html) {
    let verdict = telling::verdict(report);
    let found = report.geometry.erase_block.verdict;
    html.raw("\n");
    html.element("section", &[("class", "verdict")], |html| {
        html.text_element("span", &[("class", badge(found))], &found.to_string());
        html.text_element("h2", &[], &verdict.headline);
        for paragraph in &verdict.meaning {
            html.text_element("p", &[], paragraph);
        }
        let because = ("because", report.alignment.reason.clone());
        html.rows(sizes::rows(report).into_iter().chain([because]));
    });
}

/// The colours of a verdict; its word stands there too.
fn badge(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Confirmed => "badge sure",
        Verdict::Likely => "badge likely",
        Verdict::NotVisible | Verdict::NotTested => "badge unsure",
    }
}

/// What else the reader should know.
pub(super) fn warnings(report: &Report, html: &mut Html) {
    if report.warnings.is_empty() {
        return;
    }
    let sentences: Vec<String> = report
        .warnings
        .iter()
        .map(|warning| match warning.code.as_str() {
            // The sentence of the report names mount points, and these name people.
            "in_use" => "the device was in use while it was scanned: others may disturb the times, so nothing is called confirmed"
                .to_owned(),
            _ => warning.text.clone(),
        })
        .collect();
    html.section("Please note", |html| html.items(&sentences));
}

/// Where the verdict comes from.
pub(super) fn why(report: &Report, html: &mut Html) {
    let evidence = &report.geometry.erase_block.evidence;
    let charts = telling::bars::boundaries(report);
    if evidence.is_empty() && charts.is_empty() {
        return;
    }
    html.section("Why", |html| {
        html.items(evidence);
        for chart in &charts {
            bars::draw(chart, html);
        }
    });
}

/// Where the smallest efficient write comes from.
pub(super) fn page(report: &Report, html: &mut Html) {
    let page = &report.geometry.page;
    if let Some(meaning) = sizes::about_pages(page) {
        html.section("Why this smallest efficient write", |html| {
            html.text_element("p", &[], meaning);
            html.items(&page.evidence);
        });
    }
}

/// Rates by request size.
pub(super) fn rates(report: &Report, html: &mut Html) {
    let charts = telling::bars::rates(report);
    if charts.is_empty() {
        return;
    }
    html.section("Speed by request size", |html| {
        html.element("div", &[("class", "charts")], |html| {
            for chart in &charts {
                bars::draw(chart, html);
            }
        });
    });
}

/// How many allocation units stay open.
pub(super) fn open_units(report: &Report, html: &mut Html) {
    let open = &report.geometry.open_au;
    let Some(both) = writes::open_units(open) else {
        return;
    };
    html.section("Allocation units that can be written in turns", |html| {
        for units in both {
            html.rows([units.row]);
            html.items(units.evidence);
        }
        if let Some(slow) = writes::smallest_random_write(open) {
            html.text_element("p", &[], &slow);
        }
        html.element("div", &[("class", "charts")], |html| {
            for chart in telling::bars::open_units(report) {
                climb(&chart, html);
            }
        });
    });
}

/// Speed against open units; those that stay open stand out.
fn climb(chart: &Bars, html: &mut Html) {
    let last_within = chart.bars.iter().rfind(|bar| bar.stands_out);
    let chart = Columns {
        title: chart.title,
        note: last_within.map(|bar| {
            format!(
                "Up to {}, drawn in another colour, all stay open.",
                bar.label
            )
        }),
        columns: chart
            .bars
            .iter()
            .map(|bar| Column {
                label: bar.label.clone(),
                value: bar.value,
                marked: bar.stands_out,
            })
            .collect(),
        in_words: numbers::rate,
        reference: None,
    };
    columns::draw(&chart, html);
}

/// Special zones at the start of the device.
pub(super) fn fat_area(report: &Report, html: &mut Html) {
    let area = &report.geometry.fat_area;
    let Some(zones) = writes::zones(area) else {
        return;
    };
    html.section("Special zones near the start, such as for a FAT", |html| {
        for zone in &zones {
            html.text_element("p", &[("class", "zone")], zone);
        }
        html.items(&area.evidence);
        if !report.speeds.start.is_empty() {
            along_the_start(report, html);
        }
    });
}

/// Speed along the first megabytes, one chart for each way of writing.
fn along_the_start(report: &Report, html: &mut Html) {
    let bars = &report.speeds.start;
    let special = bars.iter().any(|bar| bar.special);
    html.text_element(
        "p",
        &[],
        "Speed along the first megabytes, as a share of that elsewhere, which is the dashed line.",
    );
    html.element("div", &[("class", "charts")], |html| {
        for (way, title) in ["Random writes", "In turns with data", "Linear writes"]
            .into_iter()
            .enumerate()
        {
            let column = |bar: &fat_area::scan::Bar| Column {
                label: bar.from.to_string(),
                value: bar.rates.get(way).copied().unwrap_or_default(),
                marked: bar.special,
            };
            let chart = Columns {
                title,
                note: special.then(|| "The special zones are drawn in another colour.".to_owned()),
                columns: bars.iter().map(column).collect(),
                in_words: |share| format!("{share:.2}"),
                reference: Some(1.0),
            };
            columns::draw(&chart, html);
        }
    });
}

/// Everything that tells which device it was.
pub(super) fn identity(report: &Report, serial: Serial, html: &mut Html) {
    let device = &report.device;
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".to_owned());
    let size = |bytes: Option<Bytes>| bytes.map_or("not known".to_owned(), numbers::amount);
    let mut rows = vec![
        ("vendor", known(&device.vendor)),
        ("model", known(&device.model)),
        ("size", size(device.capacity)),
    ];
    if device.real_capacity.is_some() {
        rows.push(("size in truth", size(device.real_capacity)));
    }
    rows.push(("logical block", device.logical_block.bytes().to_string()));
    if let Some(block) = device.physical_block {
        rows.push(("physical block", block.to_string()));
    }
    rows.push(("attached by", device.transport.to_string()));
    if let Some(id) = &device.usb_id {
        rows.push(("USB id", id.clone()));
    }
    if serial == Serial::Told {
        rows.push(("serial number", known(&device.serial)));
    }
    html.section("The device", |html| html.rows(rows));
}

/// What it cost, and who made it.
pub(super) fn foot(report: &Report, serial: Serial, html: &mut Html) {
    html.raw("\n");
    html.element("footer", &[], |html| {
        html.text_element("p", &[], &telling::cost(report));
        let left_out = match serial {
            Serial::LeftOut => " The serial number is left out.",
            Serial::Told => "",
        };
        html.text_element(
            "p",
            &[],
            &format!("Made by flashfit {}.{left_out}", report.version),
        );
    });
}
