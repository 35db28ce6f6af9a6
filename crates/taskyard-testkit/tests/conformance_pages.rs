//! The pages of conformance are true as far as a machine can read them: every test they name is there, every statement has a verdict
//! and a test, what is not simply so has its reason, and the numbers of the index are those of the pages.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use taskyard_testkit::Program;

const SEEDS: [&str; 5] = ["000", "001", "002", "003", "004"];
const VERDICTS: [&str; 4] = ["yes", "client differs", "on purpose", "no"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn page(seed: &str) -> String {
    fs::read_to_string(root().join(format!("docs/conformance/{seed}.md"))).unwrap()
}

fn index() -> String {
    fs::read_to_string(root().join("docs/conformance.md")).unwrap()
}

/// A statement of a seed, as a page has it.
#[derive(Debug)]
struct Row {
    number: String,
    section: String,
    statement: String,
    verdict: String,
    tests: Vec<Link>,
    remarks: String,
}

/// A test that a page names.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    name: String,
    path: String,
}

/// Returns the cells of a line of a table. `\|` is no end of a cell.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\u{0}");
    inner.split('|').map(|cell| cell.replace('\u{0}', "|").trim().to_owned()).collect()
}

/// Returns the statements of a page, or what is no row where one should be.
fn rows(page: &str) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for line in page.lines().filter(|line| line.starts_with('|')) {
        if line.starts_with("| # |") || line.starts_with("|---") {
            continue;
        }
        let [number, section, statement, verdict, tests, remarks] =
            <[String; 6]>::try_from(cells(line)).map_err(|cells| format!("{} cells in `{line}`", cells.len()))?;
        let tests =
            tests.split("<br>").map(link).collect::<Option<_>>().ok_or_else(|| format!("no test in `{line}`"))?;
        rows.push(Row { number, section, statement, verdict, tests, remarks });
    }
    Ok(rows)
}

/// Reads ``[`name`](../../crates/path.rs)``.
fn link(text: &str) -> Option<Link> {
    let (name, rest) = text.trim().strip_prefix("[`")?.split_once("`](../../")?;
    Some(Link { name: name.to_owned(), path: rest.strip_suffix(')')?.to_owned() })
}

/// Returns the sections of a seed, as its page lists them: each with its number.
fn sections(page: &str) -> Vec<(&str, &str)> {
    let listed = page.lines().find_map(|line| line.strip_prefix("**Sections.** ")).unwrap_or_default();
    listed.trim_end_matches('.').split("; ").filter_map(|section| section.split_once(' ')).collect()
}

/// Tells what is wrong with the statements of a page, apart from the tests it names, given the numbers of its sections.
fn faults(rows: &[Row], sections: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    for (row, number) in rows.iter().zip(1..) {
        if !sections.contains(&row.section.as_str()) {
            faults.push(format!("{}: there is no section `{}`", row.number, row.section));
        }
        if row.number != number.to_string() {
            faults.push(format!("{}: the number should be {number}", row.number));
        }
        if row.statement.is_empty() || row.tests.is_empty() {
            faults.push(format!("{}: no statement or no test", row.number));
        }
        if !VERDICTS.contains(&row.verdict.as_str()) {
            faults.push(format!("{}: `{}` is no verdict", row.number, row.verdict));
        }
        if row.verdict != "yes" && row.remarks.is_empty() {
            faults.push(format!("{}: `{}` without a reason", row.number, row.verdict));
        }
    }
    faults
}

/// Tells whether a file holds this function as a test: marked as one, or a promise of a suite that is stamped onto stores.
fn is_test(path: &Path, name: &str) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return false };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let Some(at) = lines.iter().position(|line| line.contains(&format!("fn {name}("))) else { return false };
    let mut attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
    attributes.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test")) || is_stamped(path, name)
}

/// Tells whether a macro beside the file stamps the function onto stores.
fn is_stamped(path: &Path, name: &str) -> bool {
    let folder = path.parent().unwrap();
    if !folder.ends_with("taskyard-testkit/src/suite") {
        return false;
    }
    let stamped = |text: String| {
        let mut bodies = text.split("macro_rules!").skip(1).filter_map(|rest| rest.split("\n}\n").next());
        bodies.any(|body| body.lines().any(|line| line.trim() == name))
    };
    fs::read_dir(folder).unwrap().any(|file| stamped(fs::read_to_string(file.unwrap().path()).unwrap()))
}

#[test]
fn every_statement_has_a_number_a_verdict_a_test_and_where_needed_a_reason() {
    for seed in SEEDS {
        let rows = rows(&page(seed)).unwrap_or_else(|fault| panic!("{seed}: {fault}"));
        assert!(rows.len() > 20, "{seed}: {} statements were found", rows.len());
        let page = page(seed);
        let sections: Vec<&str> = sections(&page).into_iter().map(|(number, _)| number).collect();
        assert_eq!(faults(&rows, &sections), [""; 0], "{seed}");
    }
}

#[test]
fn every_page_opens_with_title_checksum_and_sections_of_its_seed() {
    for seed in SEEDS {
        let page = page(seed);
        let opening = page.split("\n## ").next().unwrap();
        let document = opening.lines().find_map(|line| line.strip_prefix("**Document.** \"")).unwrap_or_default();
        let (title, rest) = document.split_once("\", SHA-256 of its text `").unwrap_or_default();
        let sum = rest.split('`').next().unwrap();
        assert!(!title.is_empty() && sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()), "{seed}");
        assert!(sections(opening).len() > 5, "{seed}: {:?}", sections(opening));
    }
}

#[test]
fn every_test_that_is_named_is_there() {
    let mut missing = BTreeSet::new();
    for seed in SEEDS {
        for row in rows(&page(seed)).unwrap() {
            let absent = row.tests.into_iter().filter(|test| !is_test(&root().join(&test.path), &test.name));
            missing.extend(absent.map(|test| format!("{seed}, {}: {} in {}", row.number, test.name, test.path)));
        }
    }
    assert!(missing.is_empty(), "these tests are not there:\n{}", missing.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_test_of_the_seeds_is_named_on_a_page() {
    let mut named = BTreeSet::new();
    for seed in SEEDS {
        named.extend(rows(&page(seed)).unwrap().into_iter().flat_map(|row| row.tests));
    }
    let folder = "crates/taskyard-cli/tests/seeds";
    for file in fs::read_dir(root().join(folder)).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        for after in text.split("#[test]\n").skip(1) {
            let name = after.split("fn ").nth(1).unwrap().split('(').next().unwrap();
            let path = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            let test = Link { name: name.to_owned(), path };
            assert!(named.contains(&test), "{test:?} shows no statement");
        }
    }
}

#[test]
fn the_numbers_of_the_index_are_those_of_the_pages() {
    let index = index();
    let told: BTreeMap<String, Vec<String>> = index
        .lines()
        .filter(|line| line.starts_with("| [") || line.starts_with("| all |"))
        .map(|line| (cells(line)[0].clone(), cells(line)[2..].to_vec()))
        .collect();
    let mut all = [0; 5];
    for seed in SEEDS {
        let rows = rows(&page(seed)).unwrap();
        let of = |verdict: &str| rows.iter().filter(|row| row.verdict == verdict).count();
        let counts = [rows.len(), of(VERDICTS[0]), of(VERDICTS[1]), of(VERDICTS[2]), of(VERDICTS[3])];
        assert_eq!(told[&format!("[{seed}](conformance/{seed}.md)")], counts.map(|count| count.to_string()), "{seed}");
        all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert_eq!(told["all"], all.map(|count| count.to_string()));
    assert_eq!(told.len(), SEEDS.len() + 1);
}

/// Returns what stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_flags_and_recordings_that_remarks_name_exist() {
    let reference = fs::read_to_string(root().join("docs/cli-reference.md")).unwrap();
    let recordings = root().join("crates/taskyard/tests/fixtures/conformance");
    let (mut flags, mut recorded) = (0, 0);
    for seed in SEEDS {
        for row in rows(&page(seed)).unwrap() {
            for word in quoted(&row.remarks).flat_map(str::split_whitespace) {
                if word.starts_with("--") {
                    assert!(
                        reference.contains(&format!("{word} ")) || reference.contains(&format!("{word}\n")),
                        "{word}"
                    );
                    flags += 1;
                } else if word.contains(".2.1.") {
                    assert!(recordings.join(format!("{word}.json")).exists(), "{seed}, {}: {word}", row.number);
                    recorded += 1;
                }
            }
        }
    }
    assert!(flags > 10 && recorded > 10, "{flags} flags and {recorded} recordings were found");
}

#[test]
fn links_lead_to_files() {
    let docs = root().join("docs");
    let mut seen = 0;
    let pages = SEEDS.map(|seed| (docs.join("conformance"), page(seed)));
    for (folder, text) in pages.into_iter().chain([(docs.clone(), index())]) {
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            assert!(folder.join(link).exists(), "{link}");
            seen += 1;
        }
    }
    assert!(seen > 100, "the links were not found");
}

/// Returns what `scripts/conformance` would run: the target of each program of tests, and the names of the tests.
fn printed(words: &[&str]) -> Vec<(PathBuf, Vec<String>)> {
    let ran = Program::new(root().join("scripts/conformance")).arg("--print").args(words).output();
    assert!(ran.status.success(), "{words:?}: {ran:?}");
    let line = |line: &str| {
        let (target, names) = line.strip_prefix("cargo test -p ").unwrap().split_once(" -- ").unwrap();
        let (of, target) = target.split_once(' ').unwrap();
        let folder = root().join("crates").join(of);
        let file = match target.strip_prefix("--test ") {
            Some(name) if folder.join(format!("tests/{name}.rs")).exists() => folder.join(format!("tests/{name}.rs")),
            Some(name) => folder.join(format!("tests/{name}/main.rs")),
            None => folder.join("src/lib.rs"),
        };
        (file, names.split(' ').map(str::to_owned).collect())
    };
    String::from_utf8(ran.stdout).unwrap().lines().map(line).collect()
}

#[test]
fn the_script_runs_the_tests_of_a_page_and_of_a_row() {
    for seed in SEEDS {
        let rows = rows(&page(seed)).unwrap();
        let programs = printed(&[seed]);
        assert!(programs.iter().all(|(file, _)| file.exists()), "{programs:?}");
        let run: BTreeSet<&String> = programs.iter().flat_map(|(_, names)| names).collect();
        let named: BTreeSet<&String> = rows.iter().flat_map(|row| &row.tests).map(|test| &test.name).collect();
        assert_eq!(run, named, "{seed}");
        let last = rows.last().unwrap();
        let run: BTreeSet<String> = printed(&[seed, &last.number]).into_iter().flat_map(|(_, names)| names).collect();
        assert_eq!(run, last.tests.iter().map(|test| test.name.clone()).collect(), "{seed}");
    }
    for words in [&["005"][..], &["000", "999"], &[]] {
        let ran = Program::new(root().join("scripts/conformance")).args(words).output();
        assert_eq!(ran.status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn what_is_wrong_with_a_page_is_noticed() {
    let line = |row: &str| {
        format!("| # | section | the seed says | verdict | shown by | remarks |\n|---|---|---|---|---|---|\n{row}\n")
    };
    let test = "[`a`](../../crates/x.rs)";
    let told = |row: &str| rows(&line(row)).map(|rows| faults(&rows, &["2.1"]).len());
    assert_eq!(told(&format!("| 1 | 2.1 | it is so | yes | {test} | |")), Ok(0));
    assert_eq!(told(&format!("| 1 | 2.1 | a \\| b | no | {test}<br>{test} | later |")), Ok(0));
    assert_eq!(told(&format!("| 1 | 3 | it is so | yes | {test} | |")), Ok(1), "no such section");
    assert_eq!(told(&format!("| 2 | 2.1 | it is so | yes | {test} | |")), Ok(1), "the numbers have a gap");
    assert_eq!(told(&format!("| 1 | 2.1 | it is so | perhaps | {test} | why |")), Ok(1), "no such verdict");
    assert_eq!(told(&format!("| 1 | 2.1 | it is so | on purpose | {test} | |")), Ok(1), "no reason");
    assert_eq!(told(&format!("| 1 | 2.1 | | yes | {test} | |")), Ok(1), "no statement");
    assert!(told("| 1 | 2.1 | it is so | yes | | |").is_err(), "no test");
    assert!(told("| 1 | 2.1 | it is so | yes | `a` | |").is_err(), "a test without its file");
    assert!(told(&format!("| 1 | 2.1 | it is so | yes | {test} |")).is_err(), "a cell is missing");
}

#[test]
fn only_tests_count_as_tests() {
    let here = Path::new(file!()).file_name().unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(here);
    assert!(is_test(&here, "only_tests_count_as_tests"));
    assert!(!is_test(&here, "is_stamped") && !is_test(&here, "nothing") && !is_test(Path::new("/no/file"), "x"));
    let suite = root().join("crates/taskyard-testkit/src/suite");
    assert!(is_test(&suite.join("numbering.rs"), "clear_keeps_the_high_water_mark"));
    assert!(is_test(&suite.join("todos.rs"), "every_agent_of_every_session_has_a_list_of_its_own"));
    assert!(!is_test(&suite.join("samples.rs"), "subjects"), "it is stamped onto nothing");
}
