//! When the agent that started a job has heard of its end.

use taskyard_testkit::wait_until;

use crate::jobs::server::Server;
use crate::jobs::site::{Site, is_alive, kill};

/// Returns the jobs of which an agent is still to hear.
fn waiting(site: &Site) -> Vec<String> {
    let answer = site.run("inbox --json").json();
    let waiting = answer["notifications"].as_array().unwrap();
    waiting.iter().map(|notice| notice["job"].as_str().unwrap().to_owned()).collect()
}

/// Starts a job and waits, as another agent, until it has ended.
fn ended(site: &Site) -> String {
    let id = site.start("", "echo out; exit 3");
    assert_eq!(site.run(&format!("job wait {id} --as somebody-else")).code, Some(3));
    id
}

#[test]
fn agent_shown_the_end_of_its_job_is_not_told_again() {
    let site = Site::new();
    for (command, is_heard) in [
        ("job wait", true),
        ("job output --wait", true),
        ("job output --follow", true),
        ("job output --json", true),
        ("job output --json --follow", true),
        ("job output", false),
        ("job stop", false),
        ("job wait --as somebody-else", false),
        ("job output --json --as somebody-else", false),
    ] {
        let id = ended(&site);
        assert_eq!(waiting(&site).as_slice(), std::slice::from_ref(&id), "before `{command}`");
        site.run(&format!("{command} {id}"));
        assert_eq!(waiting(&site).is_empty(), is_heard, "after `{command}`");
        site.run("inbox --ack");
    }
}

#[test]
fn an_agent_that_gave_up_waiting_has_not_been_told() {
    let site = Site::new();
    let id = site.start("", "while [ ! -e go ]; do sleep 0.02; done");
    assert_eq!(site.run(&format!("job wait {id} --timeout 10ms")).code, Some(124));
    assert_eq!(site.run(&format!("job output {id} --wait --timeout 10ms --json")).code, Some(5));
    std::fs::write(site.path("go"), "").unwrap();
    wait_until("the notification", || waiting(&site) == [id.clone()]);
}

#[test]
fn what_nobody_has_heard_survives_the_job_that_is_tidied_away() {
    let site = Site::new();
    let (unheard, heard) = (ended(&site), ended(&site));
    site.run(&format!("job wait {heard}"));
    assert_eq!(site.ask("job gc --older-than 0s")["jobs"].as_array().unwrap().len(), 2);
    assert!(site.jobs().is_empty());
    let inbox = site.ask("inbox");
    let notices = inbox["notifications"].as_array().unwrap();
    assert_eq!(notices.len(), 1, "{inbox}");
    let text = notices[0]["text"].as_str().unwrap();
    assert!(
        text.contains(&format!("<task-id>{unheard}</task-id>")) && text.contains("failed with exit code 3"),
        "{text}"
    );
    site.run("inbox --ack");
    assert!(waiting(&site).is_empty());
}

/// Starts a job and kills its supervisor.
fn lost(site: &Site) -> String {
    let id = site.start("", "exec sleep 600");
    let supervisor = u32::try_from(site.job(&id)["supervisor"].as_u64().unwrap()).unwrap();
    kill(supervisor);
    wait_until("the supervisor to end", || !is_alive(supervisor));
    id
}

#[test]
fn a_lost_job_is_told_of_by_whatever_tells_of_jobs() {
    let site = Site::new();
    let id = lost(&site);
    assert_eq!(waiting(&site), [id]);
    site.run("inbox --ack");
    let id = lost(&site);
    let mut server = Server::start(&site);
    let told = server.told_with("TaskList");
    assert!(told.contains(&format!("<task-id>{id}</task-id>")), "{told}");
}
