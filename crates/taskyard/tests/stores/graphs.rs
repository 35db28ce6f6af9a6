//! Completing a task tells exactly what that made ready, in lists of every shape and however other programs left them.
//!
//! Full scale: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard --test stores graphs::`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use taskyard::core::dialect::native;
use taskyard::core::{AgentName, ListId, Rules, Status, Task, TaskId};
use taskyard::store::{FileStore, FileStoreOptions, HistoryQuery, MemoryStore};
use taskyard::{Store, Yard};
use taskyard_testkit::list_builder::{Shape, startable, weather};
use taskyard_testkit::{Random, Scale, commit};

#[test]
fn completing_in_any_order_tells_exactly_what_it_made_ready() {
    for seed in 0..Scale::from_environment(0.1).of(200) as u64 {
        for shape in Shape::ALL {
            let mut random = Random::new(seed);
            let tasks = weathered(shape, 5 + random.below(40), &mut random);
            let completions = tasks.len();
            complete_some(&in_memory(&tasks), tasks, completions, &mut random, |_, _| {});
        }
    }
}

#[test]
fn completing_among_ten_thousand_names_what_became_ready() {
    let completions = Scale::from_environment(0.01).of(1000);
    for shape in Shape::ALL {
        let mut random = Random::new(7);
        let tasks = weathered(shape, 10_000, &mut random);
        complete_some(&in_memory(&tasks), tasks, completions, &mut random, |_, _| {});
    }
}

#[test]
fn completing_the_centre_of_a_star_frees_ten_thousand() {
    let tasks = Shape::Star.tasks(10_001, &mut Random::new(1));
    let yard = in_memory(&tasks);
    let freed: Vec<TaskId> = (2..=10_001).map(TaskId::number).collect();
    assert_eq!(yard.done(&TaskId::number(1)).unwrap().done().unwrap().now_ready, freed);
}

#[test]
fn what_other_programs_wrote_this_instant_counts() {
    let completions = Scale::from_environment(0.2).of(150);
    for shape in Shape::ALL {
        let mut random = Random::new(3);
        let tasks = weathered(shape, 150, &mut random);
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("tasks/L");
        fs::create_dir_all(&list).unwrap();
        tasks.iter().for_each(|task| write(&list, task));
        let yard = in_files(folder.path());
        // From here on the list is known, and what is known is about to be outdated.
        assert_eq!(yard.history(&HistoryQuery::default()).unwrap().len(), tasks.len());
        // Between two completions another program lets one task wait for another, and tells only the one that waits.
        complete_some(&yard, tasks, completions, &mut random, |tasks, random| {
            let (waiting, on) = (random.below(tasks.len()), random.below(tasks.len()));
            let on = tasks[on].id.clone();
            tasks[waiting].blocked_by.push(on);
            write(&list, &tasks[waiting]);
        });
    }
}

#[test]
fn a_long_list_that_was_just_made_is_looked_through_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let yard = in_files(folder.path());
    let mut random = Random::new(5);
    let tasks = weathered(Shape::Layers, 2000, &mut random);
    fill(&yard, &tasks);
    complete_some(&yard, tasks, 10, &mut random, |_, _| {});
}

/// Completes or cancels open tasks in random order, and compares what is told with what the plainest account says.
fn complete_some(
    yard: &Yard,
    mut tasks: Vec<Task>,
    completions: usize,
    random: &mut Random,
    meanwhile: impl Fn(&mut [Task], &mut Random),
) {
    for _ in 0..completions {
        meanwhile(&mut tasks, random);
        let open: Vec<usize> = (0..tasks.len()).filter(|place| tasks[*place].status.is_open()).collect();
        if open.is_empty() {
            return;
        }
        let place = *random.pick(&open);
        let id = tasks[place].id.clone();
        let before = startable(&tasks);
        tasks[place].status = Status::Completed;
        let freed: Vec<TaskId> = startable(&tasks).difference(&before).cloned().collect();
        let outcome = if random.below(4) == 0 { yard.cancel(&id) } else { yard.done(&id) };
        let updated = outcome.unwrap().done().unwrap();
        assert_eq!(updated.now_ready, freed, "completing {id} of {} tasks", tasks.len());
        tasks[place] = updated.task;
    }
}

fn weathered(shape: Shape, count: usize, random: &mut Random) -> Vec<Task> {
    let mut tasks = shape.tasks(count, random);
    weather(&mut tasks, random);
    tasks
}

fn in_memory(tasks: &[Task]) -> Yard {
    let yard = yard(Arc::new(MemoryStore::new(Rules::Strict)));
    fill(&yard, tasks);
    yard
}

fn in_files(folder: &Path) -> Yard {
    let options =
        FileStoreOptions { tasks: folder.join("tasks"), data: Some(folder.join("data")), rules: Rules::Strict };
    yard(Arc::new(FileStore::open(options)))
}

fn yard(store: Arc<dyn Store>) -> Yard {
    Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap())
}

fn fill(yard: &Yard, tasks: &[Task]) {
    commit(yard.store(), yard.list_id(), |txn| tasks.iter().for_each(|task| txn.put(task.clone()).unwrap()));
}

/// Writes a task as another program does.
fn write(list: &Path, task: &Task) {
    let image = native::write(None, task, Rules::Strict).unwrap();
    fs::write(list.join(format!("{}.json", task.id)), image.bytes()).unwrap();
}
