//! Claims of ours and of others on one task at the same moment: never two winners.
//!
//! Full scale (2,000 rounds against Node): `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test rivals claim_rivals::`.

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard::core::rules::refusal::ClaimRefusal;
use taskyard::core::{AgentName, ListId, TaskId};
use taskyard::operations::{Claim, NewTask};
use taskyard::{Outcome, Yard};
use taskyard_testkit::{Home, Ran, Rival, Scale, Suspended, is_consistent_journal, leftovers};

/// The agent of the Node process.
const NODE: &str = "node";
/// Ours.
const OURS: &str = "ours";

#[test]
fn a_program_with_the_library_and_a_node_process_never_both_win() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let yard = yard(&home);
    let rounds = Scale::from_environment(0.1).of(2000);
    race(&home, rounds, |id, round| {
        let claim = Claim { only_when_idle: round.is_multiple_of(4), ..Claim::default() };
        match yard.claim(id, &claim).unwrap() {
            Outcome::Done(claimed) => {
                assert_eq!(claimed.task.owner(), Some(OURS));
                true
            }
            Outcome::Refused(refusal) => {
                let theirs = ClaimRefusal::AlreadyClaimed { by: NODE.to_owned(), free_at: None };
                assert_eq!(refusal.of_claim(), Some(&theirs));
                false
            }
        }
    });
}

#[test]
fn one_shot_commands_and_a_node_process_never_both_win() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let rounds = Scale::from_environment(0.1).of(500);
    race(&home, rounds, |id, round| {
        let wish = if round.is_multiple_of(4) { format!("{id} --if-idle") } else { id.to_string() };
        let ran = home.run(&format!("claim {wish} --as {OURS} --json"));
        let answer = ran.json();
        if ran.code == Some(0) {
            assert_eq!((&answer["claimed"], &answer["task"]["owner"]), (&json!(true), &json!(OURS)));
            return true;
        }
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert_eq!((&answer["reason"], &answer["owner"]), (&json!("already_claimed"), &json!(NODE)), "{answer}");
        false
    });
}

/// Lets a Node process and one of ours claim a fresh task at the same moment, again and again.
///
/// The rival that lost has more of a start the next time, and the more the oftener it lost in a row, so that the two stay close.
fn race(home: &Home, rounds: usize, ours: impl Fn(&TaskId, usize) -> bool + Sync) {
    let yard = yard(home);
    create(&yard);
    let mut node = Rival::start_listening("claim.js", &[home.list("L").to_str().unwrap(), NODE]);
    assert_eq!(node.line().as_deref(), Some("ready"));
    let (mut start_of_ours, mut step, mut won) = (0.0, 20.0, [0, 0]);
    let mut last_winner = None;
    for round in 0..4 * rounds {
        // Where one side was first most of the time, it goes on until the other has had its chance.
        if round >= rounds && won.iter().all(|won| *won > rounds / 10) {
            break;
        }
        let id = create(&yard);
        let told = if round.is_multiple_of(3) { format!("{id} --if-idle") } else { id.to_string() };
        let together = Barrier::new(2);
        let (we_won, answer) = thread::scope(|scope| {
            let claiming = scope.spawn(|| {
                together.wait();
                delay(-start_of_ours);
                ours(&id, round)
            });
            together.wait();
            delay(start_of_ours);
            node.tell(&told);
            let answer = node.json().expect("the Node process lives");
            (claiming.join().unwrap(), answer)
        });
        let node_won = answer["claimed"] == json!(true);
        assert!(we_won != node_won, "round {round}: we won: {we_won}, Node won: {node_won}");
        assert!(node_won || answer["reason"] == json!("already_claimed"), "round {round}: {answer}");
        let task = &home.present()[id.as_str()];
        assert_eq!(task["owner"], json!(if we_won { OURS } else { NODE }), "round {round}: {task}");
        let lease = yard.lease(&id).unwrap().map(|lease| lease.agent);
        assert_eq!(lease, we_won.then(|| AgentName::new(OURS).unwrap()), "round {round}");
        won[usize::from(we_won)] += 1;
        let is_again = last_winner.replace(we_won) == Some(we_won);
        step = f64::clamp(if is_again { step * 1.6 } else { step / 2.0 }, 20.0, 10_000.0);
        start_of_ours += if we_won { -step } else { step };
        yard.overruling().delete(&[id]).unwrap().done().unwrap();
    }
    assert!(won.iter().all(|won| *won > rounds / 10), "one side was always first, so nothing was contested: {won:?}");
    assert_eq!(node.end().code, Some(0));
    assert_eq!(leftovers(&home.list("L")), Vec::<String>::new());
    is_consistent_journal(&home.ask("history"), &home.present()).unwrap();
}

#[test]
fn of_many_commands_at_once_one_wins_each_task() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let rounds = Scale::from_environment(0.1).of(60);
    for round in 0..rounds {
        home.ask("create A");
        home.ask("create B");
        let [first, second] = [2 * round + 1, 2 * round + 2].map(|number| number.to_string());
        let wish = |number: usize| match number % 4 {
            0 => "--next".to_owned(),
            1 => "--next --if-idle".to_owned(),
            2 => format!("{first} --reserve"),
            _ => second.clone(),
        };
        let together = Barrier::new(8);
        let agent = |number: usize| format!("agent{round}x{number}");
        let claim = &|number: usize| {
            together.wait();
            home.run(&format!("claim {} --as {} --json", wish(number), agent(number)))
        };
        let answers: Vec<Ran> = thread::scope(|scope| {
            let commands: Vec<_> = (0..8).map(|number| scope.spawn(move || claim(number))).collect();
            commands.into_iter().map(|command| command.join().unwrap()).collect()
        });
        let mut winners: Vec<(String, String)> = Vec::new();
        for (number, ran) in answers.iter().enumerate() {
            let answer = ran.json();
            match ran.code {
                Some(0) => winners.push((ran.id(), agent(number))),
                Some(3) => is_told_why(&answer, wish(number).starts_with("--next")),
                _ => panic!("{ran:?}"),
            }
        }
        let present = home.present();
        let tasks: BTreeSet<&str> = winners.iter().map(|(task, _)| task.as_str()).collect();
        assert_eq!(tasks, BTreeSet::from([first.as_str(), second.as_str()]), "{winners:?}");
        assert_eq!(winners.len(), 2, "a task has two winners: {winners:?}");
        for (task, agent) in &winners {
            assert_eq!(present[task]["owner"], json!(agent));
        }
        for answer in answers.iter().filter(|ran| ran.code == Some(3)).map(Ran::json) {
            let owner = answer["owner"].as_str();
            assert!(owner.is_none_or(|owner| winners.iter().any(|(_, winner)| winner == owner)), "{answer}");
        }
    }
}

/// Where a claim of ours stops when it is in the journal and not in the file.
const BETWEEN: [&str; 3] = ["journal: written", "journal: flushed", "file: before"];

#[test]
fn suspended_claim_past_its_locks_yields_to_rival() {
    side_by_side(&BETWEEN, |step| {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        home.ask("create A");
        let sleeper = Suspended::at(&home, step, "claim 1 --as ours --json");
        claim_as_a_patient_client(&home);
        let ran = sleeper.go_on();
        assert_eq!(ran.code, Some(3), "{step}: {ran:?}");
        let answer = ran.json();
        assert_eq!((&answer["reason"], &answer["owner"]), (&json!("already_claimed"), &json!(NODE)), "{step}");
        is_the_rivals(&home, step);
    });
}

#[test]
fn killed_claim_yields_to_rival_that_won_before_repair() {
    side_by_side(&BETWEEN, |step| {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        home.ask("create A");
        assert!(home.run_with(&format!("{step}=kill;any=token:1"), "claim 1 --as ours").was_killed());
        claim_as_a_patient_client(&home);
        is_the_rivals(&home, step);
    });
}

#[test]
fn claim_yields_to_slow_rival_that_decided_first() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create A");
    let rival = Decided::on_task_1(&home, Duration::from_millis(1500));
    let ran = home.run("claim 1 --as ours --json");
    rival.has_won_over(&home, &ran);
}

#[test]
fn claim_yields_to_slow_rival_deciding_before_its_rename() {
    side_by_side(&["journal: looked again", "journal: written", "file: before", "file: looked"], |step| {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        home.ask("create A");
        let sleeper = Suspended::at(&home, step, "claim 1 --as ours --json");
        let rival = Decided::on_task_1(&home, Duration::from_millis(1500));
        let ran = sleeper.go_on();
        rival.has_won_over(&home, &ran);
    });
}

#[test]
fn a_claim_yields_to_a_rival_that_wrote_just_before_its_rename() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create A");
    let sleeper = Suspended::at(&home, "file: looked", "claim 1 --as ours --json");
    let rival = Decided::on_task_1(&home, Duration::ZERO);
    // It has given the list's lock back before we go on, so nothing but the file that we replace tells of it.
    assert_eq!(rival.0.end().code, Some(0));
    yields(&home, &sleeper.go_on());
}

/// A client that claims with the check for other work, under the list's lock, and has decided, but not written yet.
struct Decided(Rival);

impl Decided {
    fn on_task_1(home: &Home, until_it_writes: Duration) -> Self {
        let directory = Value::from(home.list("L").to_str().unwrap());
        let mut rival = Rival::script(&format!(
            "await locking.withLock(locking.listLock({directory}), async () => {{ \
               const task = files.read({directory}, '1'); \
               if (task.owner) return console.log('late'); \
               console.log('decided'); \
               await new Promise((done) => setTimeout(done, {})); \
               files.write({directory}, {{ ...task, owner: '{NODE}' }}); \
             }});",
            until_it_writes.as_millis()
        ));
        assert_eq!(rival.line().as_deref(), Some("decided"));
        Self(rival)
    }

    fn has_won_over(self, home: &Home, ours: &Ran) {
        assert_eq!(self.0.end().code, Some(0));
        yields(home, ours);
    }
}

/// Checks that a claim of ours was refused because the rival has the task.
fn yields(home: &Home, ours: &Ran) {
    assert_eq!(ours.code, Some(3), "{ours:?}");
    let answer = ours.json();
    assert_eq!((&answer["reason"], &answer["owner"]), (&json!("already_claimed"), &json!(NODE)), "{answer}");
    is_the_rivals(home, "a rival that decided first");
}

/// Claims task 1 the client's way, as often as it takes until the locks of rivals that sleep or are dead have gone stale.
fn claim_as_a_patient_client(home: &Home) {
    let directory = Value::from(home.list("L").to_str().unwrap());
    let mut rival = Rival::script(&format!(
        "for (;;) try {{ console.log(JSON.stringify(await store.claim({directory}, '1', '{NODE}'))); break; }} \
         catch (error) {{ if (error.code !== 'ELOCKED') throw error; }}"
    ));
    let answer = rival.json().expect("the rival gets its turn");
    assert_eq!(answer["task"]["owner"], json!(NODE), "{answer}");
    assert_eq!(rival.end().code, Some(0));
}

fn is_the_rivals(home: &Home, step: &str) {
    home.ask("list");
    assert_eq!(home.present()["1"]["owner"], json!(NODE), "{step}");
    let refused = home.run("claim 1 --as another --json");
    assert_eq!((refused.code, &refused.json()["owner"]), (Some(3), &json!(NODE)), "{step}: {refused:?}");
    let late = home.run("done 1 --token 1 --as ours --json");
    assert_eq!(late.code, Some(3), "{step}: {late:?}");
    assert_eq!(leftovers(&home.list("L")), Vec::<String>::new(), "{step}");
    is_consistent_journal(&home.ask("history"), &home.present()).unwrap();
}

fn side_by_side<T: Copy + Send + Sync>(cases: &[T], check: impl Fn(T) + Sync) {
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(|| check(*case));
        }
    });
}

fn is_told_why(answer: &Value, is_for_the_next: bool) {
    let reason = if is_for_the_next { "nothing_ready" } else { "already_claimed" };
    assert_eq!((&answer["claimed"], &answer["reason"]), (&json!(false), &json!(reason)), "{answer}");
}

fn yard(home: &Home) -> Yard {
    Yard::new(Arc::new(home.store()), ListId::new("L").unwrap(), AgentName::new(OURS).unwrap())
}

fn create(yard: &Yard) -> TaskId {
    yard.create(NewTask { subject: "wanted".into(), ..NewTask::default() }).unwrap().done().unwrap().task.id
}

/// Lets so many microseconds go by, by turning: a sleep is too vague for this.
fn delay(microseconds: f64) {
    let end = Instant::now() + Duration::from_secs_f64(microseconds.max(0.0) / 1e6);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}
