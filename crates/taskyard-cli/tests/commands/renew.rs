use std::time::{Duration, Instant};

use crate::test::Test;

/// A renewal is worth it after a sixteenth of the time that the lease of these tests has.
const WORTH_IT: Duration = Duration::from_millis(2_100);

#[test]
fn a_lease_is_renewed_by_its_token_only() {
    Test::new()
        .list("1 pending")
        .quietly("claim 1 --as ana --ttl 10m")
        .run("renew 1 --token 1 --as ana")
        .run("renew 1 --token 1 --ttl 2h --json")
        .run("renew 1 --token 2 --as ana --json")
        .run("renew 9 --token 1")
        .run("renew 1")
        .snapshot();
}

#[test]
fn whatever_an_agent_does_renews_its_leases() {
    let mut test = Test::new().list("1 pending; 2 pending");
    let at = |answer: &serde_json::Value| answer["lease"]["expiresAt"].as_str().unwrap().to_owned();
    test.json("claim 1 --as ana --ttl 32s --json");
    let first = at(&test.json("show 1 --as ben --json"));
    let claimed = Instant::now();
    while claimed.elapsed() < WORTH_IT {
        assert_eq!(at(&test.json("show 1 --as ben --json")), first, "what others do renews nothing");
    }
    test.json("list --as ana --json");
    let second = at(&test.json("show 1 --as ben --json"));
    assert!(second > first, "{second} {first}");
    let renewed = Instant::now();
    while renewed.elapsed() < WORTH_IT {
        assert_eq!(at(&test.json("show 1 --as ben --json")), second, "what others do renews nothing");
    }
    test.json("update 2 --subject x --as ana --json");
    assert!(at(&test.json("show 1 --as ben --json")) > second);
}
