//! Pages in a real browser: nothing is wider than the window, and no letters lie on one another.
//!
//! Needs Chromium, and runs with the long matrices only.

// A helper that fails must fail its test.
#![allow(clippy::unwrap_used)]

mod common;

use common::program::flashfit;
use std::path::Path;
use std::process::Command;

/// Widths of small and usual phones, and of a desk.
const WIDTHS: [u32; 3] = [320, 390, 1280];

/// A page that loads another in a frame of this width, and writes what is wrong with it.
fn judge(page: &Path, width: u32) -> String {
    let page = page.display();
    format!(
        r#"<!DOCTYPE html><body><iframe id="frame" src="file://{page}" width="{width}" height="900"
style="border:0"></iframe><pre id="said">nothing was measured</pre><script>
frame.onload = () => {{
  const page = frame.contentDocument, wrong = [];
  const all = page.documentElement;
  if (all.scrollWidth > all.clientWidth) wrong.push(`${{all.scrollWidth}} of ${{all.clientWidth}} wide`);
  page.querySelectorAll("main *").forEach(element => {{
    const at = element.getBoundingClientRect();
    if (at.right > {width} + 0.5 || at.left < -0.5) wrong.push(`outside: ${{element.outerHTML}}`);
  }});
  page.querySelectorAll("svg").forEach(svg => {{
    const words = [...svg.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
    words.forEach(([one, a], n) => words.slice(n + 1).forEach(([other, b]) => {{
      // Lines of letters may touch: 3 pixels of each are empty.
      if (a.left < b.right && b.left < a.right && a.top < b.bottom - 3 && b.top < a.bottom - 3)
        wrong.push(`'${{one}}' lies on '${{other}}'`);
    }}));
  }});
  said.textContent = `charts: ${{page.querySelectorAll("svg").length}}; wrong: ${{wrong.join("; ")}}.`;
}};
</script>"#
    )
}

/// What the browser says of a page at a width.
fn looked_at(page: &Path, width: u32) -> String {
    let folder = page.parent().unwrap();
    let judge_at = folder.join("judge.html");
    std::fs::write(&judge_at, judge(page, width)).unwrap();
    let ended = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--allow-file-access-from-files",
            "--virtual-time-budget=5000",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .args(["--window-size=1400,1000", "--dump-dom"])
        .arg(format!("file://{}", judge_at.display()))
        .output()
        .unwrap();
    let page = String::from_utf8(ended.stdout).unwrap();
    let begin = page
        .find(r#"<pre id="said">"#)
        .unwrap_or_else(|| panic!("{page}"))
        + 15;
    let length = page[begin..].find("</pre>").unwrap();
    page[begin..begin + length].to_owned()
}

#[test]
fn nothing_is_too_wide_and_no_letters_lie_on_one_another() {
    if !(common::full() && common::need("chromium")) {
        return;
    }
    let log = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/flashbench/corsair-voyager3-usb.log"
    );
    let sources: [(&[&str], u32); 4] = [
        (
            &["scan", "sim:kingston-dt101g2", "--write-tests", "destroy"],
            8,
        ),
        (&["scan", "sim:tlc-12m-phase4"], 2),
        (&["scan", "sim:intel-x25"], 1),
        (&["analyze", log], 0),
    ];
    for (words, charts) in sources {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.html");
        flashfit(&[words, &["--html", page.to_str().unwrap()]].concat());
        for width in WIDTHS {
            let said = looked_at(&page, width);
            let (count, wrong) = said
                .strip_prefix("charts: ")
                .and_then(|rest| rest.split_once("; wrong: "))
                .unwrap_or_else(|| panic!("{words:?}: {said}"));
            assert_eq!(wrong, ".", "{words:?} at {width} pixels");
            assert!(count.parse::<u32>().unwrap() >= charts, "{words:?}: {said}");
        }
    }
}
