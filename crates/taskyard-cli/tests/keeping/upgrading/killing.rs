//! The process that upgrades is killed, at any step.

use std::thread;

use taskyard_testkit::{OldYard, Rows, Scale, Step};

use crate::upgrading::{is_as_the_journal_says, what_was_added, yard};

/// A list of each kind, those with leases, and one whose last commit was broken off.
const LISTS: [(&str, &str); 5] =
    [("claude", "long"), ("claude", "broken-off"), ("file", "own"), ("document", "own"), ("teaching", "own")];

/// Returns the steps at which a command is to be killed: every distinct one that belongs to an upgrade, and at full scale
/// every one there is.
fn steps(yard: &OldYard, words: &str) -> Vec<Step> {
    let steps = Step::traced(&yard.home(), "", |plan| {
        let ran = yard.run_with(plan, words);
        assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
    });
    let is_of_upgrade = |step: &Step| step.name.starts_with("upgrade:");
    assert!(steps.iter().filter(|step| is_of_upgrade(step)).count() >= 3, "`{words}` upgrades nothing: {steps:?}");
    let is_full = Scale::from_environment(0.1).is_full();
    steps.into_iter().filter(|step| is_full || (is_of_upgrade(step) && step.occurrence == 1)).collect()
}

#[test]
fn killed_list_upgrade_loses_nothing() {
    let is_full = Scale::from_environment(0.1).is_full();
    thread::scope(|scope| {
        for name in OldYard::ALL {
            // The yards differ in what is upgraded, and hardly in how a list is: each kind of list once is enough for every day.
            let lists = if is_full || name == OldYard::ALL[0] { &LISTS[..] } else { &LISTS[..1] };
            for &(kind, list) in lists {
                scope.spawn(move || a_killed_upgrade_loses_nothing(&yard(name), kind, list));
            }
        }
    });
}

fn a_killed_upgrade_loses_nothing(yard: &OldYard, kind: &str, list: &str) {
    let list = yard.list(kind, list);
    let words = format!("create New --json {}", list.flags());
    for step in steps(yard, &words) {
        yard.put_back();
        let (written, leases) = (list.entries(), list.leases());
        let killed = yard.run_with(&step.killing(), &words);
        assert!(killed.was_killed(), "{list:?} at {step}: {killed:?}");
        let again = yard.run(&format!("create Again --json {}", list.flags()));
        assert_eq!(again.code, Some(0), "{list:?} at {step}: {again:?}");
        what_was_added(yard, &list, &written);
        let store = yard.open(&list);
        is_as_the_journal_says(&*store, &list);
        let now = store.read(&list.id()).unwrap().leases().unwrap();
        for (task, ..) in leases.iter().filter(|(_, agent, _)| agent == "bob") {
            let is_kept = now.iter().any(|lease| lease.task.as_str() == task);
            assert!(is_kept, "{list:?} at {step}: the lease on {task} is lost");
        }
    }
}

#[test]
fn killed_machine_or_team_database_upgrade_loses_nothing() {
    // The later yards have both as they are today.
    let name = OldYard::ALL[0];
    let send = "send --team crew --as bob --to cid Hello --json";
    let yard = yard(name);
    for (database, words) in [("machine.sqlite", "use came"), ("teams.sqlite", send)] {
        yard.put_back();
        for step in steps(&yard, words) {
            yard.put_back();
            let path = yard.data().join(database);
            let before = Rows::of(&path);
            let killed = yard.run_with(&step.killing(), words);
            assert!(killed.was_killed(), "{database} at {step}: {killed:?}");
            assert_eq!(yard.run(words).code, Some(0), "{database} at {step}");
            let after = before.again_in(&path);
            for (table, is_written) in
                before.tables().map(|table| (table, ["bindings", "sent", "seats"].contains(&table)))
            {
                if is_written {
                    assert!(after.count(table) >= before.count(table), "{table} at {step}");
                } else {
                    assert_eq!(after.rows(table), before.rows(table), "{table} at {step}");
                }
            }
            let jobs = yard.run("job list --json").json()["jobs"].as_array().unwrap().len();
            let messages = yard.run("inbox --as bob --team crew --json").json()["messages"].as_array().unwrap().len();
            assert_eq!((jobs, messages), (3, 3), "{database} at {step}");
        }
    }
}
