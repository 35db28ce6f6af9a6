//! What was acknowledged survives a power loss: whatever the file system forgot of the files, the journal brings it back.
//!
//! Full scale: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test crashes power_loss::`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use taskyard_testkit::{Home, Random, Scale, Tasks, is_consistent_journal, leftovers, read_tasks};

const LISTS: [&str; 2] = ["L", "M"];
/// The next commands believe that the machine was started again.
const ANOTHER_BOOT: &str = "any=boot:another";
/// What is flushed no power loss takes.
const NOTHING_IS_FLUSHED: &str = "any=flush:9000000000";

#[test]
fn whatever_a_power_loss_takes_is_brought_back() {
    let rounds = Scale::from_environment(0.05).of(200);
    for round in 0..rounds {
        let mut random = Random::new(round as u64 + 1);
        let mut machine = Machine::new();
        for _ in 0..6 + random.below(10) {
            machine.change(&mut random);
        }
        let expected = machine.state();
        machine.lose_power(&mut random);
        machine.expect(&[expected], &format!("round {round}"));
    }
}

#[test]
fn change_during_power_loss_is_there_in_full_or_not_at_all() {
    let scale = Scale::from_environment(0.08);
    for (setup, command) in [
        (&["create A", "create B --blocked-by 1", "create C --blocked-by 1"][..], "delete 1"),
        (&["create A", "create B --blocked-by 1", "create C --list M"][..], "merge L M"),
        (&["create A", "create B"][..], "create C --blocked-by 1 --blocks 2"),
    ] {
        let base = Machine::new();
        for command in setup {
            base.home.ask(command);
        }
        let finished = Machine { home: base.home.copy(), versions: BTreeMap::new() };
        let steps = finished.home.steps_with(NOTHING_IS_FLUSHED, command);
        let ends = [base.state(), finished.state()];
        let stride = steps.len().div_ceil(scale.of(steps.len()));
        for (number, step) in steps.iter().enumerate().step_by(stride) {
            let mut random = Random::new(number as u64 + 1);
            let mut machine = Machine { home: base.home.copy(), versions: BTreeMap::new() };
            machine.remember();
            let ran = machine.home.run_with(&format!("{NOTHING_IS_FLUSHED};{}", step.killing()), command);
            assert!(ran.was_killed(), "{step}: {ran:?}");
            machine.lose_power(&mut random);
            machine.expect(&ends, &format!("`{command}` at {step}"));
        }
    }
}

#[test]
fn client_writes_before_power_loss_are_not_lost() {
    let machine = Machine::new();
    machine.home.ask("create A");
    machine.home.ask("update 1 --subject B");
    let theirs = fs::read_to_string(machine.home.task_file("1")).unwrap().replace("\"B\"", "\"Theirs\"");
    fs::write(machine.home.task_file("1"), &theirs).unwrap();
    let ran = machine.home.run_with(ANOTHER_BOOT, "list");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(fs::read_to_string(machine.home.task_file("1")).unwrap(), theirs);
}

#[test]
fn power_loss_is_not_recorded_as_removal_under_rival_lock() {
    let mut machine = Machine::new();
    machine.home.ask("create A");
    machine.home.ask("create B");
    machine.remember();
    let expected = machine.state();
    fs::remove_file(machine.home.task_file("1")).unwrap();
    fs::write(machine.home.task_file("2"), b"").unwrap();
    let lock = machine.home.list("L").join(".lock.lock");
    fs::create_dir(&lock).unwrap();
    let ran = machine.home.run_with(ANOTHER_BOOT, "history");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    fs::remove_dir(lock).unwrap();
    machine.expect(&[expected], "a reader could not recover");
}

#[test]
fn removed_list_directory_is_recreated_after_restart() {
    let machine = Machine::new();
    machine.home.ask("create A");
    machine.home.ask("create B --blocked-by 1");
    let expected = machine.state();
    fs::remove_dir_all(machine.home.list("L")).unwrap();
    for command in ["list", "restore --all"] {
        let ran = machine.home.run_with(ANOTHER_BOOT, command);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    machine.expect(&[expected], "restored after a restart");
}

/// A home, and every content its files ever had.
struct Machine {
    home: Home,
    versions: BTreeMap<PathBuf, Vec<Vec<u8>>>,
}

impl Machine {
    fn new() -> Self {
        Self { home: Home::new(env!("CARGO_BIN_EXE_taskyard")), versions: BTreeMap::new() }
    }

    fn state(&self) -> Vec<Tasks> {
        LISTS.iter().map(|list| read_tasks(&self.home.list(list))).collect()
    }

    /// Makes one change that is acknowledged or refused.
    fn change(&mut self, random: &mut Random) {
        let list = *random.pick(&LISTS);
        let tasks = read_tasks(&self.home.list(list));
        let ids: Vec<&String> = tasks.keys().collect();
        let mut id = || if ids.is_empty() { "1".to_owned() } else { (*random.pick(&ids)).clone() };
        let (one, two) = (id(), id());
        let command = match random.below(14) {
            0..4 => format!("create New --list {list}"),
            4 | 5 => format!("create Waiting --blocked-by {one} --list {list}"),
            6 | 7 => format!("update {one} --subject Changed --meta k={} --list {list}", random.below(100)),
            8 => format!("depend {one} --on {two} --list {list}"),
            9 => format!("done {one} --list {list}"),
            10 | 11 => format!("delete {one} --list {list}"),
            12 => format!("undo --list {list}"),
            _ if random.below(2) == 0 => format!("clear --list {list}"),
            _ => "merge L M".to_owned(),
        };
        let ran = self.home.run(&command);
        // Refused by a rule or no such task: also an answer.
        assert!(matches!(ran.code, Some(0 | 3 | 4)), "`{command}`: {ran:?}");
        self.remember();
    }

    /// Keeps what every file holds now.
    fn remember(&mut self) {
        for list in LISTS {
            for id in read_tasks(&self.home.list(list)).keys() {
                let path = self.home.list(list).join(format!("{id}.json"));
                let bytes = fs::read(&path).unwrap();
                let versions = self.versions.entry(path).or_default();
                if versions.last() != Some(&bytes) {
                    versions.push(bytes);
                }
            }
        }
    }

    /// Makes the file system forget: young files are empty, zeros, gone, or as they were earlier; removed ones are back; the
    /// words our processes leave each other are lost, and so are temporary files.
    fn lose_power(&mut self, random: &mut Random) {
        self.remember();
        for (path, versions) in &self.versions {
            let earlier = random.pick(versions);
            match (path.exists(), random.below(6)) {
                (true, 0) => fs::write(path, b"").unwrap(),
                (true, 1) => fs::write(path, vec![0; earlier.len()]).unwrap(),
                (true, 2) => fs::remove_file(path).unwrap(),
                (true | false, 3) => fs::write(path, earlier).unwrap(),
                (false, 4) => fs::write(path, b"").unwrap(),
                _ => {}
            }
        }
        for list in LISTS {
            let queue = self.home.sidecar(list).join("queue");
            match (queue.exists(), random.below(3)) {
                (true, 0) => fs::remove_file(queue).unwrap(),
                (true, 1) => fs::write(&queue, vec![0; fs::metadata(&queue).unwrap().len() as usize]).unwrap(),
                _ => {}
            }
            for name in leftovers(&self.home.list(list)) {
                let path = self.home.list(list).join(&name);
                match name.ends_with(".tmp") {
                    true if random.below(2) == 0 => fs::remove_file(path).unwrap(),
                    true => {}
                    // Machines take their time to start.
                    false => make_old(&path),
                }
            }
        }
    }

    /// Requires one of these states, of a reader and of a writer after the machine has started again.
    fn expect(&self, allowed: &[Vec<Tasks>], place: &str) {
        for list in LISTS.into_iter().filter(|list| self.home.list(list).exists()) {
            let ran = self.home.run_with(ANOTHER_BOOT, &format!("list --all --json --list {list}"));
            assert_eq!(ran.code, Some(0), "{place}: {ran:?}");
        }
        let found = self.state();
        assert!(allowed.contains(&found), "{place}\nfound:   {found:?}\nallowed: {allowed:?}");
        for list in LISTS.into_iter().filter(|list| self.home.list(list).exists()) {
            let ran = self.home.run_with(ANOTHER_BOOT, &format!("create Later --json --list {list}"));
            assert_eq!(ran.code, Some(0), "{place}: {ran:?}");
            assert_eq!(leftovers(&self.home.list(list)), Vec::<String>::new(), "{place}");
            let history = self.home.run_with(ANOTHER_BOOT, &format!("history --json --list {list}")).json();
            let present = read_tasks(&self.home.list(list));
            is_consistent_journal(&history, &present).unwrap_or_else(|why| panic!("{place}, {list}: {why}"));
        }
    }
}

fn make_old(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(60);
    fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
}
