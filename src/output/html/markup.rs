//! Markup that is safe by construction: what is not written in this source gets in escaped, and
//! without what the page shall not tell.

use super::discretion::Discretion;
use crate::output::telling::numbers::belong_together;
use crate::quote::is_unseen;

/// Attributes of an element: name and value.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

/// A page as it grows.
pub(super) struct Html {
    markup: String,
    discretion: Discretion,
}

impl Html {
    pub(super) fn new(discretion: Discretion) -> Html {
        Html {
            markup: String::new(),
            discretion,
        }
    }

    pub(super) fn finish(self) -> String {
        self.markup
    }

    /// Markup that stands in this source.
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.markup += markup;
    }

    /// Text from anywhere.
    pub(super) fn text(&mut self, text: &str) {
        let text = self.discretion.apply(text);
        let mut before = None;
        for word in text.split(' ') {
            match before {
                None => {}
                Some(before) if belong_together(before, word) => self.markup += "&nbsp;",
                Some(_) => self.markup.push(' '),
            }
            self.markup.extend(word.chars().map(escaped));
            before = Some(word);
        }
    }

    /// An element with what is inside it.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: Attributes,
        inside: impl FnOnce(&mut Html),
    ) {
        self.markup.push('<');
        self.markup += tag;
        for (name, value) in attributes {
            self.markup.push(' ');
            self.markup += name;
            self.markup += "=\"";
            self.text(value);
            self.markup.push('"');
        }
        self.markup.push('>');
        inside(self);
        self.markup += "</";
        self.markup += tag;
        self.markup.push('>');
    }

    /// An element that holds only text.
    pub(super) fn text_element(&mut self, tag: &'static str, attributes: Attributes, text: &str) {
        self.element(tag, attributes, |html| html.text(text));
    }

    /// A section with its title, on a line of its own.
    pub(super) fn section(&mut self, title: &str, inside: impl FnOnce(&mut Html)) {
        self.raw("\n");
        self.element("section", &[], |html| {
            html.text_element("h2", &[], title);
            inside(html);
        });
    }

    /// One sentence each.
    pub(super) fn items(&mut self, sentences: &[String]) {
        if sentences.is_empty() {
            return;
        }
        self.element("ul", &[], |html| {
            for sentence in sentences {
                html.text_element("li", &[], sentence);
            }
        });
    }

    /// Names and their values.
    pub(super) fn rows<'a>(&mut self, rows: impl IntoIterator<Item = (&'a str, String)>) {
        self.element("dl", &[], |html| {
            for (name, value) in rows {
                html.text_element("dt", &[], name);
                html.text_element("dd", &[], &value);
            }
        });
    }
}

/// One character as text and inside quotes. What is not seen is named: it could hide or reorder
/// what stands around it.
fn escaped(c: char) -> String {
    match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        _ if is_unseen(c) => c.escape_unicode().to_string(),
        _ => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(inside: impl FnOnce(&mut Html)) -> String {
        let mut html = Html::new(Discretion::default());
        inside(&mut html);
        html.finish()
    }

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(
            written(|html| html.text_element("p", &[("class", "\" onload=\"x")], "</p><script>&'")),
            "<p class=\"&quot; onload=&quot;x\">&lt;/p&gt;&lt;script&gt;&amp;&#39;</p>"
        );
    }

    #[test]
    fn a_number_is_not_parted_from_its_unit() {
        assert_eq!(
            written(|html| html.text("at  8 MiB, 12 places (± 3.5 µs) ")),
            "at  8&nbsp;MiB, 12 places (± 3.5&nbsp;µs) "
        );
    }

    #[test]
    fn what_is_not_seen_is_named_and_other_letters_stay() {
        assert_eq!(
            written(|html| html.text("a\u{202e}b\u{0}\u{1b}\n\u{200b}µ±Ä漢")),
            "a\\u{202e}b\\u{0}\\u{1b}\\u{a}\\u{200b}µ±Ä漢"
        );
    }
}
