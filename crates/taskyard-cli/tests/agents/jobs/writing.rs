//! What is kept of a large output.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard_testkit::Scale;

use crate::jobs::site::Site;

/// The limit the tests use.
const LIMIT: u64 = 256 << 10;

#[test]
fn file_stays_within_limit_and_keeps_head_and_tail() {
    let site = Site::new();
    let id = site.start("--max-output 256KB", "i=0; while [ ! -e stop ]; do i=$((i+1)); echo line $i; done");
    let path = site.job(&id)["outputFile"].as_str().unwrap().to_owned();
    let span = Duration::from_secs(Scale::from_environment(0.05).of(30) as u64);
    let started = Instant::now();
    while started.elapsed() < span || site.job(&id).get("gap").is_none() {
        assert!(fs::metadata(&path).unwrap().len() <= LIMIT);
    }
    let supervisor = site.job(&id)["supervisor"].as_u64().unwrap();
    let status = fs::read_to_string(format!("/proc/{supervisor}/status")).unwrap();
    let kilobytes = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches("kB").trim().parse().unwrap()
    };
    // The pages of the program itself are shared by all supervisors, and a debug build has nearly 20 MB of them.
    let own = kilobytes("VmHWM:").saturating_sub(kilobytes("RssFile:"));
    assert!(own < 4 << 10, "the supervisor took {own} kB for itself");
    fs::write(site.path("stop"), "").unwrap();
    let job = site.ended(&id);
    let all = String::from_utf8(site.file(&job)).unwrap();
    assert!(all.len() as u64 <= LIMIT);
    let (head, rest) = all.split_once("\n[taskyard: ").unwrap();
    let (count, rest) = rest.split_once(" bytes left out here]").unwrap();
    let tail = rest.trim_start_matches(' ').strip_prefix('\n').unwrap();
    let (from, to) = (job["gap"]["from"].as_u64().unwrap(), job["gap"]["to"].as_u64().unwrap());
    assert_eq!(count.parse::<u64>().unwrap(), to - from);
    assert_eq!(head.len() as u64, from);
    let tail = tail.strip_suffix("\n[exited with code 0]\n").unwrap();
    assert_eq!(to + tail.len() as u64, job["outputBytes"].as_u64().unwrap());
    // Every whole line of both parts is the one that belongs there.
    assert!(head.starts_with("line 1\nline 2\n"));
    let numbers: Vec<u64> =
        tail.lines().skip(1).map(|line| line.strip_prefix("line ").unwrap().parse().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert_eq!(position(*numbers.last().unwrap() + 1), job["outputBytes"].as_u64().unwrap());
}

/// Returns how many bytes were written before a line.
fn position(line: u64) -> u64 {
    (1..line).map(|number| "line \n".len() as u64 + u64::from(number.ilog10()) + 1).sum()
}

#[test]
fn readers_get_the_right_bytes_while_the_file_is_rearranged() {
    let site = Site::new();
    let id = site.start("--max-output 64KB", "i=0; while [ ! -e stop ]; do i=$((i+1)); printf '%07d\\n' $i; done");
    let check = |answer: &Value| {
        let text = answer["output"].as_str().unwrap();
        let mut at = answer["offset"].as_u64().unwrap();
        let gap = answer.get("gap");
        for line in text.split_inclusive('\n') {
            if gap.is_some_and(|gap| gap["from"] == at) {
                at = gap.unwrap()["to"].as_u64().unwrap();
            }
            let whole = format!("{:07}\n", at / 8 + 1);
            let skipped = usize::try_from(at % 8).unwrap();
            assert!(whole[skipped..].starts_with(line), "at {at}: {line:?} instead of {whole:?}");
            at += line.len() as u64;
        }
        at
    };
    for round in 0..Scale::from_environment(0.2).of(200) as u64 {
        let written = site.job(&id)["outputBytes"].as_u64().unwrap();
        let offset = if round % 3 == 0 { written / 2 } else { written.saturating_sub(1000) };
        let answer = site.ask(&format!("job output {id} --offset {offset}"));
        assert_eq!(check(&answer), answer["nextOffset"].as_u64().unwrap());
    }
    fs::write(site.path("stop"), "").unwrap();
    let job = site.ended(&id);
    let tail = site.ask(&format!("job output {id} --tail 3"));
    assert_eq!(tail["output"].as_str().unwrap().lines().count(), 3);
    assert_eq!(check(&tail), job["outputBytes"].as_u64().unwrap());
    let from = job["gap"]["from"].as_u64().unwrap();
    let answer = site.ask(&format!("job output {id} --offset {}", from + 8));
    assert_eq!(answer["gap"], json!({"from": from + 8, "to": job["gap"]["to"]}));
}

#[test]
fn all_jobs_together_stay_within_the_quota() {
    let site = Site::new().configured("[jobs]\nquota = \"300KB\"\nmax_output = \"200KB\"\n");
    let line = "head -c 150000 /dev/zero";
    let (one, two) = (site.start("", line), site.start("", line));
    let (one, two) = (site.ended(&one), site.ended(&two));
    // The third makes room by letting the oldest go; its record stays.
    let three = site.ended(&site.start("", line));
    assert!(!fs::exists(one["outputFile"].as_str().unwrap()).unwrap());
    let total: u64 = [&two, &three]
        .iter()
        .map(|job| fs::metadata(job["outputFile"].as_str().unwrap()).map_or(0, |file| file.len()))
        .sum();
    assert!(total <= 300 << 10, "{total}");
    assert_eq!(site.jobs().len(), 3);
}

#[test]
fn old_output_form_keeps_both_streams_whole_and_ordered() {
    let site = Site::new().configured("[jobs]\noutput_form = \"2.1.34\"\n");
    let count = 10_000;
    let line = format!("i=0; while [ $i -lt {count} ]; do i=$((i+1)); echo o$i; echo e$i >&2; done");
    let job = site.ended(&site.start("", &line));
    let text = String::from_utf8(site.file(&job)).unwrap();
    assert_eq!(job["outputBytes"], text.len());
    let (mut out, mut err, mut is_err) = (0, 0, false);
    for line in text.lines() {
        let marked = line.strip_prefix("[stderr] ");
        // A chunk of stderr begins with a mark, and what follows without one belongs to the chunk before.
        is_err = marked.is_some() || is_err && line.starts_with('e');
        let (letter, number) = if is_err { ('e', &mut err) } else { ('o', &mut out) };
        *number += 1;
        assert_eq!(marked.unwrap_or(line), format!("{letter}{number}"));
    }
    assert_eq!((out, err), (count, count));
}
