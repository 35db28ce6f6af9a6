//! Changing one fact of a text and not a byte of the others.
//!
//! What would be written is read again first. Where anything else would mean something else then, because it hangs on the fact by
//! an anchor, say, nothing is written.

use std::ops::Range;

use serde_json::Value;

use super::facts::{BadBlock, Fact, Form, is_of_lines, read};
use super::value_text::{value_text, word};

/// Returns a text with one fact set. A new one comes at its end.
pub(super) fn with_fact(text: &str, key: &str, value: &Value) -> Result<String, BadBlock> {
    let facts = read(text)?;
    let entangled = || BadBlock::Entangled { key: key.to_owned() };
    if !is_of_lines(text) {
        return Err(entangled());
    }
    let mut wanted = meanings(&facts);
    let Some(place) = facts.iter().rposition(|fact| fact.key == key) else {
        wanted.push((key.to_owned(), value.clone()));
        let written = appended(text, &format!("{}: {}", word(key), value_text(value, Form::Plain)));
        return means(&written, &wanted).then_some(written).ok_or_else(entangled);
    };
    wanted[place].1 = value.clone();
    let fact = &facts[place];
    if fact.value == *value {
        return Ok(text.to_owned());
    }
    let new = value_text(value, fact.form);
    let in_its_place =
        (fact.form != Form::Other && !fact.value_at.is_empty()).then(|| replaced(text, &fact.value_at, &new));
    let behind_its_key =
        colon(text, fact).map(|colon| replaced(text, &(colon..fact.value_at.end.max(colon)), &format!(" {new}")));
    let mut ways = in_its_place.into_iter().chain(behind_its_key);
    ways.find(|written| means(written, &wanted)).ok_or_else(entangled)
}

/// Returns a text without a fact: its lines go, and nothing else.
pub(super) fn without_fact(text: &str, key: &str) -> Result<String, BadBlock> {
    let facts = read(text)?;
    let entangled = || BadBlock::Entangled { key: key.to_owned() };
    let wanted: Vec<(String, Value)> = meanings(&facts).into_iter().filter(|(name, _)| name != key).collect();
    if wanted.len() == facts.len() {
        return Ok(text.to_owned());
    }
    let mut written = text.to_owned();
    for fact in facts.iter().rev().filter(|fact| fact.key == key) {
        let start = text[..fact.key_at.start].rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let after = fact.value_at.end.max(fact.key_at.end);
        let end = text[after..].find('\n').map_or(text.len(), |end| after + end + 1);
        written.replace_range(start..end, "");
    }
    (is_of_lines(text) && means(&written, &wanted)).then_some(written).ok_or_else(entangled)
}

/// Puts a line at the end of a text, ended as its other lines are.
fn appended(text: &str, line: &str) -> String {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    // What is left of the last line, where the block ends on a line that is indented.
    let (lines, rest) = text.split_at(text.rfind('\n').map_or(0, |end| end + 1));
    let (lines, rest) = if rest.trim().is_empty() { (lines, rest) } else { (text, "") };
    let gap = if lines.is_empty() || lines.ends_with('\n') { "" } else { line_end };
    format!("{lines}{gap}{line}{line_end}{rest}")
}

/// Returns where the colon behind a key ends; none where the key is not written with one on its line.
fn colon(text: &str, fact: &Fact) -> Option<usize> {
    let rest = &text[fact.key_at.end..];
    let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest[gap..].starts_with(':').then_some(fact.key_at.end + gap + 1)
}

fn replaced(text: &str, at: &Range<usize>, new: &str) -> String {
    let mut written = text.to_owned();
    written.replace_range(at.clone(), new);
    written
}

fn meanings(facts: &[Fact]) -> Vec<(String, Value)> {
    facts.iter().map(|fact| (fact.key.clone(), fact.value.clone())).collect()
}

/// Tells whether a text says these facts, in this order.
fn means(text: &str, wanted: &[(String, Value)]) -> bool {
    read(text).is_ok_and(|facts| meanings(&facts) == wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{with_fact, without_fact};
    use crate::dialect::macf::BadBlock;

    const TEXT: &str = "# how it came to be\ncreated_cycle: 42 # counted\nagent: 'PA'\nparent_id: '000'\nupdates:\n\
                        - breadcrumb: s_1\n  agent: SA\n  # within\n# between\nreport: |\n  agent: nobody\n\n  # no comment\n\
                        plan: >-\n  folded\n  text\nlinks: [hooks, agent]\nempty:\nlast: é\n";

    #[test]
    fn only_the_fact_changes() {
        for (key, value, from, to) in [
            ("created_cycle", json!(43), "42", "43"),
            ("agent", json!("SA"), "agent: 'PA'", "agent: 'SA'"),
            ("agent", json!("it's"), "agent: 'PA'", "agent: 'it''s'"),
            ("parent_id", json!("7"), "'000'", "'7'"),
            ("links", json!(["x"]), "[hooks, agent]", "[\"x\"]"),
            ("report", json!("done"), "|\n  agent: nobody\n\n  # no comment", "done"),
            ("updates", json!("none"), "updates:\n- breadcrumb: s_1\n  agent: SA", "updates: none"),
            ("plan", json!("a: b"), ">-\n  folded\n  text", "'a: b'"),
            ("empty", json!("1.0"), "empty:", "empty: '1.0'"),
            ("last", json!("e"), "é", "e"),
            ("new", json!(true), "last: é\n", "last: é\nnew: true\n"),
        ] {
            assert_eq!(with_fact(TEXT, key, &value).unwrap(), TEXT.replacen(from, to, 1), "{key}");
            let crossed = |text: &str| text.replace('\n', "\r\n");
            assert_eq!(with_fact(&crossed(TEXT), key, &value).unwrap(), crossed(&TEXT.replacen(from, to, 1)), "{key}");
        }
    }

    #[test]
    fn a_fact_goes_with_its_lines() {
        for (key, lines) in [
            ("created_cycle", "created_cycle: 42 # counted\n"),
            ("updates", "updates:\n- breadcrumb: s_1\n  agent: SA\n"),
            ("report", "report: |\n  agent: nobody\n\n  # no comment\n"),
            ("last", "last: é\n"),
        ] {
            assert_eq!(without_fact(TEXT, key).unwrap(), TEXT.replacen(lines, "", 1), "{key}");
        }
        assert_eq!(without_fact(TEXT, "other").unwrap(), TEXT);
        assert_eq!(without_fact("a: 1\nb: 2\na: 3\n", "a").unwrap(), "b: 2\n");
        assert_eq!(with_fact("a: 1\nb: 2\na: 3\n", "a", &json!(4)).unwrap(), "a: 1\nb: 2\na: 4\n");
    }

    #[test]
    fn what_others_hang_on_is_not_changed() {
        let text = "a: &x 1\nb: *x\n";
        let entangled = Err(BadBlock::Entangled { key: "a".to_owned() });
        assert_eq!(with_fact(text, "a", &json!(2)), entangled);
        assert_eq!(without_fact(text, "a"), entangled);
        assert_eq!(with_fact(text, "b", &json!(2)).unwrap(), "a: &x 1\nb: 2\n");
        assert_eq!(with_fact("{a: 1}\n", "a", &json!(2)), entangled);
    }

    #[test]
    fn what_is_no_yaml_is_not_changed() {
        let bad = with_fact("created_cycle: 7\ntitle: CLI: x\n", "created_cycle", &json!(8)).unwrap_err();
        assert!(matches!(bad, BadBlock::NotYaml { line: 2, .. }), "{bad}");
        assert_eq!(with_fact("just words\n", "a", &json!(1)), Err(BadBlock::NoFacts));
    }
}
