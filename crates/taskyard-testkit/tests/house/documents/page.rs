//! The pages, and what stands in them as code.

use std::fs;
use std::path::{Path, PathBuf};

/// Pages that are not checked here: they are written from the program itself, or are its output.
const WRITTEN_BY_PROGRAMS: [&str; 3] = ["docs/cli-reference.md", "docs/captures/", "docs/conformance/"];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Collects the files below a folder that end like this, by their paths from the project's root.
pub(crate) fn files(folder: &Path, ending: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap_or_default();
        if path.is_dir() && !["target", "node_modules", ".git"].contains(&name) {
            files(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
        }
    }
}

/// Returns the sources of every crate, without their tests.
pub(crate) fn sources() -> Vec<String> {
    let mut found = Vec::new();
    files(&root().join("crates"), ".rs", &mut found);
    found.retain(|path| path.contains("/src/") && !path.starts_with("crates/taskyard-testkit"));
    found
}

/// A page of the documents.
pub(crate) struct Page {
    /// Its path from the project's root.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Page {
    /// Returns every page that people write.
    pub(crate) fn all() -> Vec<Self> {
        let mut paths = Vec::new();
        files(&root().join("docs"), ".md", &mut paths);
        paths.extend(["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "bench/README.md"].map(str::to_owned));
        paths.retain(|path| !WRITTEN_BY_PROGRAMS.iter().any(|written| path.starts_with(written)));
        let read = |path: String| Self { text: fs::read_to_string(root().join(&path)).unwrap(), path };
        paths.into_iter().map(read).collect()
    }

    /// Returns the text between backticks, outside of blocks.
    pub(crate) fn spans(&self) -> impl Iterator<Item = &str> {
        self.lines().filter(|(is_block, _)| !is_block).flat_map(|(_, line)| line.split('`').skip(1).step_by(2))
    }

    /// Returns the lines of blocks of code.
    pub(crate) fn block_lines(&self) -> impl Iterator<Item = &str> {
        self.lines().filter(|(is_block, _)| *is_block).map(|(_, line)| line)
    }

    /// Returns every line that is no fence, and whether it is in a block.
    fn lines(&self) -> impl Iterator<Item = (bool, &str)> {
        let mut is_block = false;
        self.text.lines().filter_map(move |line| {
            let is_fence = line.trim_start().starts_with("```");
            is_block ^= is_fence;
            (!is_fence).then_some((is_block, line))
        })
    }
}
