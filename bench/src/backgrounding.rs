//! Background jobs: how fast one may write, what its supervisor takes, and how long a start takes.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Failure;
use crate::options::Options;
use crate::ours;
use crate::places::{Home, Place};
use crate::samples::Samples;
use crate::table::{Row, Target, milliseconds, tell};

/// The limit of the output.
const LIMIT: &str = "16MB";
/// The most memory a supervisor may have taken, in kilobytes.
const MEMORY: f64 = 20.0 * 1024.0;

/// Measures `yes` as a job against `yes | cat > file`, the supervisor's memory, and starts.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    let (seconds, rounds) = options.scale.jobs;
    tell(&format!("{}: writing for {seconds} s, {rounds} times", place.name));
    let (mut ours, mut bare, mut memory) = (Vec::new(), Vec::new(), 0.0_f64);
    for _ in 0..rounds {
        bare.push(write_barely(place, seconds)?);
        let (rate, peak) = write_as_job(options, place, seconds)?;
        ours.push(rate);
        memory = memory.max(peak);
    }
    let (ours, bare) = (Samples::new(ours), Samples::new(bare));
    let ratio = bare.median() / ours.median();
    let starts = starts(options, place)?;
    let rate = |samples: &Samples| format!("{:.0} MB/s", samples.median() / 1e6);
    Ok(vec![
        Row {
            measure: format!("job: yes, {LIMIT} kept"),
            place: place.name,
            ours: rate(&ours),
            limit: Some(rate(&bare)),
            node: None,
            // 0.8 of the rate is 1.25 times the time.
            target: Target::AtMostTimesTheLimit { ratio, target: 1.25 },
        },
        Row {
            measure: "job: memory of its supervisor".to_owned(),
            place: place.name,
            ours: format!("{:.1} MB", memory / 1024.0),
            limit: Some(format!("{:.1} MB", MEMORY / 1024.0)),
            node: None,
            target: Target::AtMostTimesTheLimit { ratio: memory / MEMORY, target: 1.0 },
        },
        Row {
            measure: "job: run, to its answer".to_owned(),
            place: place.name,
            ours: milliseconds(&starts),
            limit: None,
            node: None,
            target: Target::Information(String::new()),
        },
    ])
}

/// Returns how many bytes a second go through a pipe into a file.
fn write_barely(place: &Place, seconds: u64) -> Result<f64, Failure> {
    let home = place.fresh_home()?;
    let file = home.root().join("file");
    let line = format!("timeout {seconds} yes | cat > '{}'", file.display());
    let started = Instant::now();
    Command::new("sh").args(["-c", &line]).status()?;
    let elapsed = started.elapsed().as_secs_f64();
    let size = fs::metadata(&file)?.len();
    // The file may be as large as the disk.
    fs::remove_file(&file)?;
    Ok(size as f64 / elapsed)
}

/// Returns how many bytes a second a job writes, and the most memory its supervisor has taken, in kilobytes.
fn write_as_job(options: &Options, place: &Place, seconds: u64) -> Result<(f64, f64), Failure> {
    let home = place.fresh_home()?;
    let limit = ["job", "run", "--json", "--max-output", LIMIT, "--"];
    let seconds = seconds.to_string();
    let job = ask(options, &home, &[&limit[..], &["timeout", &seconds, "yes"]].concat())?;
    let id = job["id"].as_str().ok_or("a job has an id")?;
    let status = format!("/proc/{}/status", job["supervisor"]);
    let (started, mut peak) = (Instant::now(), 0.0);
    while let Ok(text) = fs::read_to_string(&status) {
        let found =
            text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse().ok());
        peak = found.unwrap_or(peak);
        if started.elapsed() > Duration::from_secs(600) {
            return Err("the job does not end".into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let elapsed = started.elapsed().as_secs_f64();
    let mut wait = command(options, &home);
    wait.args(["job", "wait", id, "--json"]);
    let answer: Value = serde_json::from_slice(&wait.stdout(Stdio::piped()).output()?.stdout)?;
    let written = answer["job"]["outputBytes"].as_f64().ok_or("a job has written something")?;
    Ok((written / elapsed, peak))
}

/// Measures `job run` of a command that does nothing, from before it started to its answer.
fn starts(options: &Options, place: &Place) -> Result<Samples, Failure> {
    let home = place.fresh_home()?;
    let mut times = Vec::new();
    for _ in 0..options.scale.starts {
        let mut run = command(options, &home);
        run.args(["job", "run", "--", "true"]);
        times.push(crate::timing::run(&mut run)?);
    }
    Ok(Samples::microseconds(&times))
}

fn ask(options: &Options, home: &Home, words: &[&str]) -> Result<Value, Failure> {
    let output = command(options, home).args(words).stdout(Stdio::piped()).output()?;
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    Ok(answer["job"].clone())
}

fn command(options: &Options, home: &Home) -> Command {
    let mut command = ours::command(&options.programs, home);
    command.env("CLAUDE_CODE_TMPDIR", home.root()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}
