//! Many jobs at once.

use taskyard_testkit::Scale;

use crate::server::Server;
use crate::site::Site;

#[test]
fn many_jobs_at_once_all_end_and_all_say_what_they_have_to_say() {
    let site = Site::new();
    let count = Scale::from_environment(0.04).of(1000);
    let ids: Vec<String> = (0..count)
        .map(|number| {
            site.start(&format!("--name n{number}"), &format!("while [ ! -e go ]; do sleep 0.5; done; echo {number}"))
        })
        .collect();
    assert_eq!(site.ask("job list --running")["jobs"].as_array().unwrap().len(), count);
    std::fs::write(site.path("go"), "").unwrap();
    for (number, id) in ids.iter().enumerate() {
        let job = site.ended(id);
        assert_eq!(job["status"], "completed");
        assert_eq!(site.file(&job), format!("{number}\n\n[exited with code 0]\n").into_bytes());
    }
    assert_eq!(site.processes(), [0; 0]);
}

#[test]
fn whoever_starts_many_jobs_needs_no_more_memory_for_it() {
    let site = Site::new();
    let count = Scale::from_environment(0.06).of(1000);
    let mut server = Server::start(&site);
    let mut early = 0;
    for number in 0..count {
        server.run("while [ ! -e go ]; do sleep 0.5; done");
        if number == count / 4 {
            early = server.memory();
        }
    }
    let late = server.memory();
    assert!(late < early * 5 / 4 + 2048, "{early} kB after a quarter, {late} kB after all of {count}");
    std::fs::write(site.path("go"), "").unwrap();
    for job in site.jobs() {
        assert_eq!(site.ended(job["id"].as_str().unwrap())["status"], "completed");
    }
    assert_eq!(site.processes(), [0; 0]);
}
