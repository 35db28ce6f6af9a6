//! What the board in the terminal costs: while nothing happens, for a frame, and for a key while much happens.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use taskyard::core::ListId;
use taskyard::operations::{Claim, Patch, Update};

use crate::Failure;
use crate::corpus;
use crate::options::Options;
use crate::ours;
use crate::places::{Home, Place};
use crate::samples::Samples;
use crate::table::{Row, Target, milliseconds, tell};

const TASKS: usize = 10_000;
const LISTS: usize = 20;
/// What begins with the opening has ended after this.
const SETTLED: Duration = Duration::from_secs(4);
/// How much of one core it may take while nothing happens, and while it shows who is at work.
const IDLE_TARGET: f64 = 0.1;
const BUSY_TARGET: f64 = 1.0;
/// What the cursor is drawn with: a frame that holds it answers a key.
const CURSOR: &[u8] = "▸".as_bytes();
/// How far apart changes come: a hundred a second.
const CHANGES: Duration = Duration::from_millis(10);

/// Measures a board on a list of 500 among twenty, then on one of 10,000.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    let seconds = if options.scale.starts < 100 { 10 } else { 60 };
    tell(&format!("{}: the board, for {seconds} s three times", place.name));
    let mut rows = idle(options, place, seconds)?;
    rows.extend(moving(options, place, seconds)?);
    Ok(rows)
}

fn row(measure: String, place: &Place, ours: String, target: Target) -> Row {
    Row { measure, place: place.name, ours, limit: None, node: None, target }
}

/// Measures the processor time while nothing happens: with nothing in progress, then with three leases and what turns beside them.
fn idle(options: &Options, place: &Place, seconds: u64) -> Result<Vec<Row>, Failure> {
    let home = place.fresh_home()?;
    for number in 1..LISTS {
        corpus::fill_with_new(&home.tasks().join(format!("list-{number}")), TASKS / LISTS)?;
    }
    corpus::fill_with_new(&home.list(), TASKS / LISTS)?;
    let board = Board::open(options, &home)?;
    sleep(SETTLED);
    let span = Duration::from_secs(seconds);
    let quiet = board.computes_during(span)?;
    let yard = ours::yard(&home, "bench")?;
    for number in 1..=3 {
        yard.claim(&taskyard::core::TaskId::number(number), &Claim::default())?;
    }
    sleep(SETTLED);
    let busy = board.computes_during(span)?;
    let share = |computed: f64| computed / (span.as_secs_f64() * 1e3) * 100.0;
    let told = |computed: f64| format!("{computed:.0} ms, {:.2} %", share(computed));
    let most = |computed: f64, target: f64| Target::AtMost {
        milliseconds: computed,
        target: target / 100.0 * span.as_secs_f64() * 1e3,
    };
    Ok(vec![
        row(
            format!("board, idle for {seconds} s: {TASKS} tasks in {LISTS} lists"),
            place,
            told(quiet),
            most(quiet, IDLE_TARGET),
        ),
        row(format!("board, {seconds} s with three leases and what turns"), place, told(busy), most(busy, BUSY_TARGET)),
    ])
}

/// Measures how long a frame takes with 10,000 tasks, and how long a key takes to be seen while a hundred changes a second come.
fn moving(options: &Options, place: &Place, seconds: u64) -> Result<Vec<Row>, Failure> {
    let home = place.fresh_home()?;
    corpus::fill_with_new(&home.list(), TASKS)?;
    let mut board = Board::open(options, &home)?;
    sleep(SETTLED);
    let until = Instant::now() + Duration::from_secs(seconds.min(20));
    let yard = ours::yard(&home, "bench")?.on(ListId::new(Home::LIST)?);
    let writer = thread::spawn(move || -> Result<usize, String> {
        let mut changes = 0;
        while Instant::now() < until {
            let next = Instant::now() + CHANGES;
            changes += 1;
            let patch = Patch { description: Some(format!("change {changes}")), ..Patch::default() };
            let task = taskyard::core::TaskId::number(5_000 + changes as u64 % 4_000);
            let update = Update { patch, ..Update::default() };
            yard.update(&task, update).map_err(|error| error.to_string())?;
            sleep(next.saturating_duration_since(Instant::now()));
        }
        Ok(changes)
    });
    let mut keys = Vec::new();
    while Instant::now() < until {
        // Down and up again: where the list scrolls, the cursor stays in its row and is not drawn anew.
        let key = if keys.len() % 2 == 0 { b"j" } else { b"k" };
        keys.push(board.press(key)?);
        // Not in step with the changes.
        sleep(Duration::from_millis(37));
    }
    let changes = writer.join().map_err(|_| "the writer panicked")??;
    let frames = board.frames()?;
    let (keys, frames) = (Samples::new(keys), Samples::new(frames));
    let at_most = |samples: &Samples, target| Target::AtMost { milliseconds: samples.p95() / 1e3, target };
    let each_second = changes as u64 / seconds.min(20);
    Ok(vec![
        row(format!("board, a frame with {TASKS} tasks"), place, milliseconds(&frames), at_most(&frames, 3.0)),
        row(
            format!("board, a key until it is seen, {each_second} changes a second"),
            place,
            milliseconds(&keys),
            at_most(&keys, 16.0),
        ),
    ])
}

/// A board in a terminal of ours.
struct Board {
    process: Child,
    keyboard: File,
    screen: Receiver<(Instant, Vec<u8>)>,
    log: std::path::PathBuf,
}

impl Board {
    fn open(options: &Options, home: &Home) -> Result<Self, Failure> {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        tcsetwinsize(&terminal, Winsize { ws_row: 50, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 })?;
        let name = ptsname(&terminal, Vec::new())?;
        let end = || -> io::Result<Stdio> {
            let file = File::options().read(true).write(true).open(name.to_str().map_err(io::Error::other)?)?;
            Ok(Stdio::from(OwnedFd::from(file)))
        };
        let log = home.root().join("board.log");
        let mut command = ours::command(&options.programs, home);
        command
            .arg("board")
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .env("TASKYARD_LOG", "taskyard::board=trace");
        let process = command.stdin(end()?).stdout(end()?).stderr(File::create(&log)?).spawn()?;
        let (told, screen) = channel();
        let mut reader = File::from(terminal.try_clone()?);
        thread::spawn(move || {
            let mut bytes = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if told.send((Instant::now(), bytes[..count].to_vec())).is_err() {
                    break;
                }
            }
        });
        let board = Self { process, keyboard: File::from(terminal), screen, log };
        board.wait_for(CURSOR)?;
        Ok(board)
    }

    /// Presses a key and returns how long it took until the cursor was drawn anew, in microseconds.
    fn press(&mut self, key: &[u8]) -> Result<f64, Failure> {
        while self.screen.try_recv().is_ok() {}
        let pressed = Instant::now();
        self.keyboard.write_all(key)?;
        let seen = self.wait_for(CURSOR)?;
        Ok(seen.duration_since(pressed).as_secs_f64() * 1e6)
    }

    fn wait_for(&self, wanted: &[u8]) -> Result<Instant, Failure> {
        let mut seen: Vec<u8> = Vec::new();
        loop {
            let (at, bytes) = self.screen.recv_timeout(Duration::from_secs(60))?;
            seen.extend(bytes);
            if seen.windows(wanted.len()).any(|part| part == wanted) {
                return Ok(at);
            }
        }
    }

    /// Returns for how many milliseconds the process computes during a span of time.
    fn computes_during(&self, span: Duration) -> Result<f64, Failure> {
        let before = self.processor_time()?;
        sleep(span);
        Ok(self.processor_time()? - before)
    }

    fn processor_time(&self) -> Result<f64, Failure> {
        let mut nanoseconds = 0.0;
        for task in fs::read_dir(format!("/proc/{}/task", self.process.id()))? {
            let stat = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
            nanoseconds += stat.split_whitespace().next().and_then(|time| time.parse::<f64>().ok()).unwrap_or_default();
        }
        Ok(nanoseconds / 1e6)
    }

    /// Returns how long each frame took by the board's own word, in microseconds.
    fn frames(&self) -> Result<Vec<f64>, Failure> {
        let log = fs::read_to_string(&self.log)?;
        let frames = log.lines().filter_map(|line| line.split("microseconds=").nth(1)?.split(' ').next()?.parse().ok());
        Ok(frames.collect())
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.keyboard.write_all(b"q");
        let _ = self.process.wait();
    }
}
