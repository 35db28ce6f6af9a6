//! The pages of conformance are true as far as a machine can read them: every test they name is there, every statement has a verdict
//! and names the rule sets it holds in, its tests run under each of them, what is not simply so has its reason, and the numbers of the
//! index are those of the pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use taskyard_testkit::Program;

const SEEDS: [&str; 5] = ["000", "001", "002", "003", "004"];
const VERDICTS: [&str; 4] = ["yes", "client differs", "on purpose", "no"];
/// The rule sets, as rows and `scripts/conformance --rules` name them.
const RULE_SETS: [&str; 3] = ["strict", "2.1.34", "2.1.325"];

type RuleSets = BTreeSet<&'static str>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn page(seed: &str) -> String {
    fs::read_to_string(root().join(format!("docs/conformance/{seed}.md"))).unwrap()
}

fn index() -> String {
    fs::read_to_string(root().join("docs/conformance.md")).unwrap()
}

/// A statement of a seed, as given on a page.
#[derive(Debug)]
struct Row {
    number: String,
    section: String,
    statement: String,
    verdict: String,
    /// The rule sets in which the statement holds.
    holds_in: RuleSets,
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

/// Reads a cell that names rule sets: `all`, `none`, `client` for both releases, or a list.
fn rule_sets(cell: &str) -> Option<RuleSets> {
    match cell {
        "all" => Some(RULE_SETS.into()),
        "none" => Some(RuleSets::new()),
        "client" => Some(["2.1.34", "2.1.325"].into()),
        list => list.split(", ").map(|word| RULE_SETS.into_iter().find(|known| *known == word)).collect(),
    }
}

/// Returns the statements of a page, or the line that should be a row but is not.
fn rows(page: &str) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for line in page.lines().filter(|line| line.starts_with('|')) {
        if line.starts_with("| # |") || line.starts_with("|---") {
            continue;
        }
        let [number, section, statement, verdict, rules, tests, remarks] =
            <[String; 7]>::try_from(cells(line)).map_err(|cells| format!("{} cells in `{line}`", cells.len()))?;
        let holds_in = rule_sets(&rules).ok_or_else(|| format!("no rule sets in `{line}`"))?;
        let tests =
            tests.split("<br>").map(link).collect::<Option<_>>().ok_or_else(|| format!("no test in `{line}`"))?;
        rows.push(Row { number, section, statement, verdict, holds_in, tests, remarks });
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
        if row.verdict == "yes" && row.holds_in.is_empty() {
            faults.push(format!("{}: `yes`, and it holds nowhere", row.number));
        }
        for rules in RULE_SETS.into_iter().filter(|rules| row.verdict == "yes" && !row.holds_in.contains(rules)) {
            if !speaks_of(&row.remarks, rules) {
                faults.push(format!("{}: no remark says what happens under {rules} rules", row.number));
            }
        }
    }
    faults
}

/// Tells whether a remark speaks of a rule set.
fn speaks_of(remark: &str, rules: &str) -> bool {
    match rules {
        "strict" => remark.contains("trict rules"),
        version => remark.contains(version) || remark.contains("lient rules"),
    }
}

/// Returns the rule sets under which a test runs: those that it names, itself or by a constant or a helper, and every one if it names
/// none. A test that names none either follows `TASKYARD_TEST_RULES` or tries something that has no rules.
fn runs_under(test: &Link) -> RuleSets {
    let source = Source::read(&root().join(&test.path));
    let named = source.rules_named_by(&test.name);
    if named.is_empty() { RULE_SETS.into() } else { named }
}

/// A source file with tests, and the files beside it.
struct Source {
    /// The tests and what helps them, without what is tested.
    text: String,
    beside: Vec<String>,
}

impl Source {
    fn read(path: &Path) -> Self {
        let mut files: Vec<PathBuf> =
            fs::read_dir(path.parent().unwrap()).unwrap().map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "rs") && file != path);
        let text = |file: &Path| fs::read_to_string(file).unwrap();
        Self::of(&text(path), files.iter().map(|file| text(file)).collect())
    }

    fn of(text: &str, beside: Vec<String>) -> Self {
        let tests = text.split_once("mod tests {").map_or(text, |(_, tests)| tests);
        Self { text: tests.to_owned(), beside }
    }

    /// Returns the rule sets that a test names.
    fn rules_named_by(&self, test: &str) -> RuleSets {
        let mut named = RuleSets::new();
        let mut known = BTreeSet::from([test.to_owned()]);
        let mut pieces = vec![function(&self.text, test).unwrap_or_else(|| panic!("there is no {test}"))];
        let mut is_helper = false;
        while let Some(text) = pieces.pop() {
            // A helper may tell rules apart without choosing any.
            let chooses = |line: &&str| !is_helper || !line.contains("==") && !line.contains("=>");
            let text = text.lines().filter(chooses).collect::<Vec<_>>().join("\n");
            named.extend(rules_in(&text));
            for word in words(&text) {
                if known.insert(word.to_owned()) {
                    named.extend(self.rules_of_constant(word, &mut known));
                    pieces.extend(function(&self.text, word));
                }
            }
            is_helper = true;
        }
        named
    }

    /// Returns the rule sets that a constant names, itself or by other constants.
    fn rules_of_constant(&self, name: &str, known: &mut BTreeSet<String>) -> RuleSets {
        let is_constant = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        let Some(value) = is_constant.then(|| self.constant(name)).flatten() else { return RuleSets::new() };
        let mut named = rules_in(value);
        for word in words(value) {
            if known.insert(word.to_owned()) {
                named.extend(self.rules_of_constant(word, known));
            }
        }
        named
    }

    /// Returns the value of a constant of the file or of one beside it.
    fn constant(&self, name: &str) -> Option<&str> {
        [&self.text].into_iter().chain(&self.beside).find_map(|text| {
            let (_, rest) = text.split_once(&format!("const {name}: "))?;
            Some(rest.split_once(" =")?.1.split_once(";\n")?.0)
        })
    }
}

/// Returns the rule sets that a piece of source text names.
fn rules_in(text: &str) -> RuleSets {
    let mut named = RuleSets::new();
    // The form of a job's output has a setting of its own.
    for line in text.lines().filter(|line| !line.contains("output_form")) {
        let says = |any: &[&str]| any.iter().any(|word| line.contains(word));
        named.extend(says(&["Rules::Strict", "strict()", "--rules strict", "\"strict\""]).then_some("strict"));
        named.extend(says(&["2.1.34", "V2_1_34"]).then_some("2.1.34"));
        // Of client rules without a version the newest is meant.
        let is_newest = says(&["--rules client", "\"TASKYARD_RULES\", \"client\""]) && !says(&["--client-version"]);
        named.extend((is_newest || says(&["2.1.325", "V2_1_325"])).then_some("2.1.325"));
    }
    named
}

/// Returns the names in a piece of source text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_in_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.split(move |character| !is_in_name(character)).filter(|word| word.len() > 2)
}

/// Returns the text of a function.
fn function(text: &str, name: &str) -> Option<String> {
    if !text.contains(&format!("fn {name}(")) {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| line.contains(&format!("fn {name}(")))?;
    let indentation = &lines[start][..lines[start].len() - lines[start].trim_start().len()];
    let length = lines[start..].iter().position(|line| *line == format!("{indentation}}}"))?;
    Some(lines[start..=start + length].join("\n"))
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
fn every_statement_has_number_verdict_test_and_reason() {
    for seed in SEEDS {
        let rows = rows(&page(seed)).unwrap_or_else(|fault| panic!("{seed}: {fault}"));
        assert!(rows.len() > 20, "{seed}: {} statements were found", rows.len());
        let page = page(seed);
        let sections: Vec<&str> = sections(&page).into_iter().map(|(number, _)| number).collect();
        assert_eq!(faults(&rows, &sections), [""; 0], "{seed}");
    }
}

#[test]
fn every_page_opens_with_its_seed_title_checksum_sections() {
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
fn tests_of_a_row_run_under_each_rule_set_it_holds_in() {
    let pages = SEEDS.map(|seed| rows(&page(seed)).unwrap());
    let (mut runs, mut missing) = (BTreeMap::new(), Vec::new());
    for (seed, row) in SEEDS.iter().zip(&pages).flat_map(|(seed, rows)| rows.iter().map(move |row| (seed, row))) {
        // A row that holds nowhere shows what happens instead, everywhere.
        let mut lacking: RuleSets = if row.holds_in.is_empty() { RULE_SETS.into() } else { row.holds_in.clone() };
        for test in &row.tests {
            let under: &RuleSets = runs.entry(test).or_insert_with(|| runs_under(test));
            lacking.retain(|rules| !under.contains(rules));
        }
        if !lacking.is_empty() {
            missing.push(format!("{seed}, {}: {lacking:?}", row.number));
        }
    }
    assert!(missing.is_empty(), "no test of these rows runs under these rules:\n{}", missing.join("\n"));
}

#[test]
fn every_test_of_the_seeds_is_named_on_a_page() {
    let mut named = BTreeSet::new();
    for seed in SEEDS {
        named.extend(rows(&page(seed)).unwrap().into_iter().flat_map(|row| row.tests));
    }
    let folder = "crates/taskyard-cli/tests/agents/seeds";
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

/// Returns the text between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_flags_and_recordings_that_remarks_name_exist() {
    let reference = fs::read_to_string(root().join("docs/cli-reference.md")).unwrap();
    let recordings = root().join("crates/taskyard-mcp/tests/fixtures/conformance");
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

/// Returns what `scripts/conformance` would run: the rules, the target of each program of tests, and the names of the tests.
fn printed(words: &[&str]) -> Vec<(String, String, Vec<String>)> {
    let ran = Program::new(root().join("scripts/conformance")).arg("--print").args(words).output();
    assert!(ran.status.success(), "{words:?}: {ran:?}");
    let line = |line: &str| {
        let (rules, rest) = line.strip_prefix("TASKYARD_TEST_RULES=").unwrap().split_once(' ').unwrap();
        let (target, names) = rest.strip_prefix("cargo test --workspace ").unwrap().split_once(" -- ").unwrap();
        (rules.to_owned(), target.to_owned(), names.split(' ').map(str::to_owned).collect())
    };
    String::from_utf8(ran.stdout).unwrap().lines().map(line).collect()
}

/// Tells whether a crate has the program of tests that a target of `cargo test` names.
fn is_target(target: &str) -> bool {
    let Some(name) = target.strip_prefix("--test ") else { return target == "--lib" };
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|folder| folder.unwrap().path().join("tests"));
    crates
        .into_iter()
        .any(|tests| tests.join(format!("{name}.rs")).exists() || tests.join(name).join("main.rs").exists())
}

#[test]
fn the_script_runs_the_tests_of_a_page_and_of_a_row() {
    for seed in SEEDS {
        let rows = rows(&page(seed)).unwrap();
        for rules in RULE_SETS {
            let programs = printed(&["--rules", rules, seed]);
            assert!(programs.iter().all(|(under, target, _)| under == rules && is_target(target)), "{programs:?}");
            let run: BTreeSet<&String> = programs.iter().flat_map(|(_, _, names)| names).collect();
            let here = rows.iter().filter(|row| row.holds_in.is_empty() || row.holds_in.contains(rules));
            let named: BTreeSet<&String> = here.flat_map(|row| &row.tests).map(|test| &test.name).collect();
            assert_eq!(run, named, "{seed} {rules}");
        }
        let last = rows.last().unwrap();
        let programs = printed(&[seed, &last.number]);
        let run: BTreeSet<&str> = programs.iter().flat_map(|(_, _, names)| names).map(String::as_str).collect();
        assert_eq!(run, last.tests.iter().map(|test| test.name.as_str()).collect(), "{seed}");
        let rules: RuleSets =
            RULE_SETS.into_iter().filter(|rules| programs.iter().any(|(under, _, _)| under == rules)).collect();
        assert_eq!(rules, if last.holds_in.is_empty() { RULE_SETS.into() } else { last.holds_in.clone() }, "{seed}");
    }
    for words in [&["005"][..], &["000", "999"], &[], &["--rules", "2.1.99", "000"]] {
        let ran = Program::new(root().join("scripts/conformance")).args(words).output();
        assert_eq!(ran.status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn what_is_wrong_with_a_page_is_noticed() {
    let line = |row: &str| {
        let head = "| # | section | the seed says | verdict | rules | shown by | remarks |";
        format!("{head}\n|---|---|---|---|---|---|---|\n{row}\n")
    };
    let test = "[`a`](../../crates/x.rs)";
    let told = |row: &str| rows(&line(row)).map(|rows| faults(&rows, &["2.1"]).len());
    assert_eq!(told(&format!("| 1 | 2.1 | it is so | yes | all | {test} | |")), Ok(0));
    assert_eq!(told(&format!("| 1 | 2.1 | a \\| b | no | none | {test}<br>{test} | later |")), Ok(0));
    assert_eq!(told(&format!("| 1 | 3 | it is so | yes | all | {test} | |")), Ok(1), "no such section");
    assert_eq!(told(&format!("| 2 | 2.1 | it is so | yes | all | {test} | |")), Ok(1), "the numbers have a gap");
    assert_eq!(told(&format!("| 1 | 2.1 | it is so | perhaps | all | {test} | why |")), Ok(1), "no such verdict");
    assert_eq!(told(&format!("| 1 | 2.1 | it is so | on purpose | none | {test} | |")), Ok(1), "no reason");
    assert_eq!(told(&format!("| 1 | 2.1 | | yes | all | {test} | |")), Ok(1), "no statement");
    assert!(told("| 1 | 2.1 | it is so | yes | all | | |").is_err(), "no test");
    assert!(told("| 1 | 2.1 | it is so | yes | all | `a` | |").is_err(), "a test without its file");
    assert!(told(&format!("| 1 | 2.1 | it is so | yes | all | {test} |")).is_err(), "a cell is missing");
    assert!(told(&format!("| 1 | 2.1 | it is so | yes | some | {test} | |")).is_err(), "no such rules");
    assert_eq!(told(&format!("| 1 | 2.1 | it is so | yes | strict | {test} | |")), Ok(2), "what of both clients?");
    assert_eq!(told(&format!("| 1 | 2.1 | it is so | yes | strict | {test} | Client rules do not. |")), Ok(0));
    assert_eq!(told(&format!("| 1 | 2.1 | it is so | yes | client | {test} | Client rules do. |")), Ok(1), "strict?");
    assert_eq!(told(&format!("| 1 | 2.1 | it is so | yes | strict, 2.1.34 | {test} | Not 2.1.325. |")), Ok(0));
    assert_eq!(told(&format!("| 1 | 2.1 | it is so | yes | none | {test} | Not client rules. |")), Ok(2), "nowhere");
}

#[test]
fn a_test_runs_under_the_rules_it_names() {
    let named = |body: &str| {
        let constants =
            "const CLIENT: Rules = Rules::Client(V2_1_34);\nconst BOTH: [&str; 2] = [\"strict\", CLIENT];\n";
        let helpers = "fn yard() {\n    open(Rules::Strict)\n}\n\nfn site() {\n    yard()\n}\n\nfn is_old() {\n    rules == CLIENT\n}\n";
        let text = format!("{constants}\n{helpers}\n#[test]\nfn one() {{\n    {body}\n}}\n");
        Source::of(&text, Vec::new()).rules_named_by("one").into_iter().collect::<Vec<_>>()
    };
    assert_eq!(named("let home = Home::new(BINARY);"), [""; 0]);
    assert_eq!(named("Home::new(BINARY).strict()"), ["strict"]);
    assert_eq!(named("run(\"list --rules client\")"), ["2.1.325"]);
    assert_eq!(named("run(\"list --rules client --client-version 2.1.34\")"), ["2.1.34"]);
    assert_eq!(named("run(\"list --rules client --client-version {}\")"), [""; 0]);
    assert_eq!(named("replay(\"crud.2.1.325.json\"); with(V2_1_34)"), ["2.1.325", "2.1.34"]);
    assert_eq!(named("with(CLIENT)"), ["2.1.34"], "a constant");
    assert_eq!(named("with(BOTH)"), ["2.1.34", "strict"], "a constant that names a constant");
    assert_eq!(named("site()"), ["strict"], "a helper of a helper");
    assert_eq!(named("is_old(rules_under_test())"), [""; 0], "a helper that asks");
    assert_eq!(named("\"output_form = 2.1.34\""), [""; 0]);
}

#[test]
fn only_tests_count_as_tests() {
    let here = root().join("crates/taskyard-testkit/tests/house/conformance_pages.rs");
    assert!(is_test(&here, "only_tests_count_as_tests"));
    assert!(!is_test(&here, "is_stamped") && !is_test(&here, "nothing") && !is_test(Path::new("/no/file"), "x"));
    let suite = root().join("crates/taskyard-testkit/src/suite");
    assert!(is_test(&suite.join("numbering.rs"), "clear_keeps_the_high_water_mark"));
    assert!(is_test(&suite.join("todos.rs"), "every_agent_of_every_session_has_a_list_of_its_own"));
    assert!(!is_test(&suite.join("samples.rs"), "subjects"), "it is stamped onto nothing");
}
