//! Links from one page to another.

use std::fs;
use std::path::Path;

use crate::documents::page::{Page, root};

/// Returns the targets of a page's links within the project.
fn links_in(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let targets = targets.map(|target| target.split('#').next().unwrap_or_default());
    targets.filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(char::is_whitespace))
}

#[test]
fn every_link_leads_somewhere() {
    let (mut count, mut lost) = (0, Vec::new());
    for page in Page::all() {
        let folder = Path::new(&page.path).parent().unwrap();
        for link in links_in(&page.text) {
            count += 1;
            if !root().join(folder).join(link).exists() {
                lost.push(format!("{}: {link}", page.path));
            }
        }
    }
    assert!(count > 100, "only {count} were found");
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

/// Returns the anchors of a page, as GitHub makes them of its headings.
fn anchors_in(text: &str) -> impl Iterator<Item = String> {
    let mut is_block = false;
    let headings = text.lines().filter(move |line| {
        is_block ^= line.trim_start().starts_with("```");
        !is_block && line.starts_with('#')
    });
    headings.map(|heading| {
        let title = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        title.chars().filter(|letter| letter.is_alphanumeric() || ['-', '_'].contains(letter)).collect()
    })
}

#[test]
fn every_anchor_of_a_link_is_a_heading() {
    let (mut count, mut lost) = (0, Vec::new());
    for page in Page::all() {
        let folder = Path::new(&page.path).parent().unwrap();
        for target in page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let Some((path, anchor)) = target.split_once('#').filter(|_| !target.contains("://")) else { continue };
            let file = if path.is_empty() { root().join(&page.path) } else { root().join(folder).join(path) };
            if file.extension().is_some_and(|extension| extension == "md") {
                count += 1;
                if !anchors_in(&fs::read_to_string(file).unwrap()).any(|known| known == anchor) {
                    lost.push(format!("{}: {target}", page.path));
                }
            }
        }
    }
    assert!(count > 20, "only {count} were found");
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn the_leading_page_leads_to_every_page_for_users() {
    let leading = Page::all().into_iter().find(|page| page.path == "docs/README.md").unwrap();
    for page in Page::all() {
        let path = page.path.strip_prefix("docs/").unwrap_or_default();
        // What an earlier page of a subject leads to need not stand there.
        let is_of_another =
            ["export", "document", "teaching", "macf", "carrying", "native", "journal", "signs", "tokens", "versions"]
                .iter()
                .any(|name| path == format!("formats/{name}.md"));
        let is_for_users = !path.is_empty() && path != "README.md" && !path.starts_with("design/");
        assert!(
            !is_for_users || is_of_another || leading.text.contains(path),
            "docs/README.md does not lead to {path}"
        );
    }
}
