//! What comes next? The order of the steps, what each leads to, and the way back.
//!
//! ```text
//! device -> look -> depth -> scan -> findings -> purpose -> file system -> layout -> confirm -> write
//! ```
//!
//! Whoever runs it asks [`Conversation::next`], does that, and tells what came of it. A step whose
//! answer was given beforehand is passed over, in both directions. Whatever an earlier answer changes
//! is forgotten: another device has another geometry, another file system another layout.

#[cfg(test)]
pub(super) mod fake;
#[cfg(test)]
mod tests;

mod next;

pub use next::{End, Given, Next};

use super::known::{Candidate, Depth, Looked, Nature, Preview};
use super::question::{Question, Reply};
use super::steps::{confirm, depth, device, file_system, findings, layout, purpose};
use crate::output::devices::Device;
use crate::output::report::Report;
use crate::plan::filesystem::advice::Purpose;
use crate::plan::intent::{Intent, PartitionIntent, PartitionSize};
use crate::plan::{FileSystem, Layout};
use next::Step;

/// The conversation, at any moment of it.
#[derive(Clone, Debug)]
pub struct Conversation {
    given: Given,
    /// The steps up to here; the last is the present one.
    trail: Vec<Step>,
    /// The answer to the last key, or what went wrong; told above the next question.
    aside: String,
    /// Those that can be picked, and the others.
    devices: Option<(Vec<Candidate>, Vec<Device>)>,
    page: usize,
    picked: String,
    looked: Option<Looked>,
    depth: Option<Depth>,
    report: Option<Box<Report>>,
    /// Where the report was saved.
    kept: Option<String>,
    purpose: Option<Purpose>,
    filesystem: Option<FileSystem>,
    layout: Option<Box<Layout>>,
    preview: Option<Preview>,
    format: bool,
    end: Option<End>,
}

impl Conversation {
    /// Before the first word.
    pub fn new(given: Given) -> Conversation {
        let (first, picked) = match given.devices.as_slice() {
            [device] => (Step::Look, device.clone()),
            _ => (Step::Device, String::new()),
        };
        Conversation {
            purpose: given.intent.purpose,
            given,
            trail: vec![first],
            aside: String::new(),
            devices: None,
            page: 0,
            picked,
            looked: None,
            depth: None,
            report: None,
            kept: None,
            filesystem: None,
            layout: None,
            preview: None,
            format: false,
            end: None,
        }
    }

    /// What comes next.
    pub fn next(&self) -> Next {
        if let Some(end) = self.end {
            return Next::End(end);
        }
        let step = self.step();
        if self.preview.is_some() && !matches!(step, Step::Confirm | Step::Write) {
            return Next::Release;
        }
        match step {
            Step::Look => Next::Look(self.picked.clone()),
            Step::Scan => Next::Scan {
                device: self.picked.clone(),
                depth: self.depth.unwrap_or(Depth::Read),
            },
            Step::Device if self.devices.is_none() => Next::Find(self.given.devices.clone()),
            Step::FileSystem | Step::Layout if self.layout.is_none() => {
                Next::Plan(Box::new(self.intent()))
            }
            Step::Confirm if self.preview.is_none() => Next::Prepare,
            Step::Write => Next::Write {
                format: self.format,
            },
            step => match self.question(step) {
                Some(question) => Next::Ask(question),
                // Nothing is known that could be asked about: there is no such way here.
                None => Next::End(End::Stopped),
            },
        }
    }

    /// The question of a step, from what is known.
    fn question(&self, step: Step) -> Option<Question> {
        let (back, aside) = (self.can_go_back(), self.aside.as_str());
        Some(match step {
            Step::Device => {
                let (candidates, others) = self.devices.as_ref()?;
                device::question(candidates, others.len(), self.page, aside)
            }
            Step::Depth => depth::question(self.looked.as_ref()?, back, aside),
            Step::Findings => findings::question(
                self.report.as_ref()?,
                self.depth.unwrap_or(Depth::Read),
                self.looked.as_ref()?,
                self.kept.as_deref(),
                back,
                aside,
            ),
            Step::Purpose => purpose::question(back, aside),
            Step::FileSystem => file_system::question(self.layout.as_ref()?, back, aside),
            Step::Layout => {
                layout::question(self.layout.as_ref()?, self.looked.as_ref()?, back, aside)
            }
            Step::Confirm => confirm::question(self.preview.as_ref()?, aside),
            Step::Look | Step::Scan | Step::Write => return None,
        })
    }

    /// A question was answered.
    pub fn answer(&mut self, reply: Reply) {
        self.aside.clear();
        match reply {
            Reply::Interrupted => self.end = Some(End::Interrupted),
            Reply::Quit => self.end = Some(End::Quit),
            Reply::Back => self.back(),
            Reply::Extra(key) => self.extra(key),
            Reply::Chosen(number) => {
                // A choice can only be of what was shown, and that was known.
                let _ = self.chosen(number);
            }
        }
    }

    fn chosen(&mut self, number: usize) -> Option<()> {
        match self.step() {
            Step::Device => {
                let (candidates, _) = self.devices.as_ref()?;
                self.picked = match device::pick(candidates, self.page, number) {
                    device::Pick::Device(name) => name,
                    device::Pick::Trial => device::TRIAL.to_owned(),
                };
                self.go(Step::Look);
            }
            Step::Depth => match depth::answer(self.looked.as_ref()?, number) {
                depth::Answer::LookAgain => self.go_instead(Step::Look),
                depth::Answer::Scan(depth) => {
                    self.depth = Some(depth);
                    self.go(Step::Scan);
                }
            },
            Step::Findings => {
                let depth = self.depth.unwrap_or(Depth::Read);
                match findings::answer(depth, self.looked.as_ref()?, number) {
                    findings::Answer::LayOut => self.begin_layout(),
                    findings::Answer::LookCloser => self.look_closer(),
                    findings::Answer::Stop => self.end = Some(End::Stopped),
                }
            }
            Step::Purpose => {
                self.purpose = purpose::answer(number);
                self.forget_layout();
                self.filesystem = None;
                self.go(Step::FileSystem);
            }
            Step::FileSystem => {
                let filesystem = file_system::answer(self.layout.as_ref()?, number);
                self.filesystem = Some(filesystem);
                self.forget_layout();
                self.go(Step::Layout);
            }
            Step::Layout => match layout::answer(self.looked.as_ref()?, number) {
                layout::Answer::Write => self.go(Step::Confirm),
                layout::Answer::Stop => self.end = Some(End::Stopped),
            },
            Step::Confirm => {
                self.format = confirm::answer(self.preview.as_ref()?, number);
                self.go(Step::Write);
            }
            Step::Look | Step::Scan | Step::Write => {}
        }
        Some(())
    }

    /// Keys that show more and ask again.
    fn extra(&mut self, key: char) {
        self.aside = match (self.step(), key) {
            (Step::Device, device::MORE) => {
                self.page += 1;
                String::new()
            }
            (Step::Device, device::AGAIN) => {
                self.devices = None;
                String::new()
            }
            (Step::Device, device::OTHERS) => match &self.devices {
                Some((_, others)) => device::others(others),
                None => String::new(),
            },
            (Step::Findings, findings::WHY) => match &self.report {
                Some(report) => crate::output::human::reasons(report),
                None => String::new(),
            },
            (Step::FileSystem, file_system::WHY) => match &self.layout {
                Some(layout) => file_system::why(layout),
                None => String::new(),
            },
            (Step::Layout, layout::DETAILS) => match &self.layout {
                Some(layout) => layout::details(layout),
                None => String::new(),
            },
            (Step::Confirm, confirm::DETAILS) => match &self.preview {
                Some(preview) => preview.details.clone(),
                None => String::new(),
            },
            _ => String::new(),
        };
    }

    /// These devices there are: those that can be picked, and the others.
    pub fn found(&mut self, candidates: Vec<Candidate>, others: Vec<Device>) {
        self.page = 0;
        self.devices = Some((candidates, others));
    }

    /// The device that was picked was looked at.
    pub fn looked(&mut self, looked: Looked) {
        self.forget_geometry();
        let can_write = looked.obstacle.is_none();
        let depth = match looked.nature {
            // Nothing can be timed.
            Nature::Image => Some(Depth::Read),
            Nature::Disk | Nature::Simulated => self
                .given
                .depth
                .filter(|it| can_write || *it == Depth::Read),
        };
        self.looked = Some(looked);
        self.depth = depth;
        self.go_instead(match depth {
            Some(_) => Step::Scan,
            None => Step::Depth,
        });
    }

    /// The scan is over. `kept` is where its report was saved.
    pub fn scanned(&mut self, report: Report, kept: Option<String>) {
        self.forget_geometry();
        self.report = Some(Box::new(report));
        self.kept = kept;
        self.go_instead(Step::Findings);
    }

    /// The layout that was asked for.
    pub fn planned(&mut self, layout: Layout) {
        self.layout = Some(Box::new(layout));
    }

    /// The device is open, and this is what a write would do.
    pub fn prepared(&mut self, preview: Preview) {
        self.preview = Some(preview);
    }

    /// The device was let go of.
    pub fn released(&mut self) {
        self.preview = None;
    }

    /// Consent was put off: one step back. Whether there is one.
    #[must_use]
    pub fn taken_back(&mut self) -> bool {
        let can = self.can_go_back();
        self.back();
        can
    }

    /// What was to be done cannot be done, for this reason. Whether there is a question to go back to;
    /// if not, that is the end.
    #[must_use]
    pub fn failed(&mut self, why: &str) -> bool {
        if !self.can_go_back() {
            return false;
        }
        self.back();
        self.aside = format!("That cannot be done: {why}");
        true
    }

    /// The device that was picked.
    pub fn device(&self) -> &str {
        &self.picked
    }

    /// The report, once there is one.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_deref()
    }

    /// The layout that is written.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_deref()
    }

    /// Where the report was saved.
    pub fn kept(&self) -> Option<&str> {
        self.kept.as_deref()
    }

    /// What the layout shall contain, by all that was said so far.
    fn intent(&self) -> Intent {
        let mut intent = self.given.intent.clone();
        intent.purpose = self.purpose;
        if let Some(filesystem) = self.filesystem {
            intent.partitions = vec![PartitionIntent::new(PartitionSize::Rest, filesystem)];
        }
        intent
    }

    /// From the findings on: what was said beforehand is not asked for.
    fn begin_layout(&mut self) {
        self.forget_layout();
        self.filesystem = None;
        self.go(if !self.given.intent.partitions.is_empty() {
            Step::Layout
        } else if self.given.intent.purpose.is_some() {
            Step::FileSystem
        } else {
            Step::Purpose
        });
    }

    /// Back to where the depth is chosen.
    fn look_closer(&mut self) {
        self.forget_geometry();
        self.trail.retain(|step| *step == Step::Device);
        self.trail.push(Step::Depth);
    }

    fn forget_geometry(&mut self) {
        self.report = None;
        self.kept = None;
        self.filesystem = None;
        self.forget_layout();
    }

    fn forget_layout(&mut self) {
        self.layout = None;
    }

    fn step(&self) -> Step {
        self.trail.last().copied().unwrap_or(Step::Device)
    }

    fn go(&mut self, step: Step) {
        self.trail.push(step);
    }

    /// The present step leaves no trace: there is nothing to come back to.
    fn go_instead(&mut self, step: Step) {
        self.trail.pop();
        self.trail.push(step);
    }

    fn can_go_back(&self) -> bool {
        let before = self.trail.len().saturating_sub(1);
        self.trail.iter().take(before).any(|step| step.asks())
    }

    /// To the last question before this step. What it had led to is made anew when it is answered.
    fn back(&mut self) {
        if !self.can_go_back() {
            return;
        }
        self.trail.pop();
        while !self.step().asks() {
            self.trail.pop();
        }
        match self.step() {
            // Its choices are the advice for the purpose alone.
            Step::FileSystem => {
                self.filesystem = None;
                self.forget_layout();
            }
            Step::Device => self.devices = None,
            _ => {}
        }
    }
}
