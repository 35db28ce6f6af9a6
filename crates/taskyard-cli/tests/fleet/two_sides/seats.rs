//! Who sits in a team.

use serde_json::{Value, json};

use crate::two_sides::side::on_all_kinds;

fn member(shown: &Value) -> Value {
    let members = shown["members"].as_array().unwrap_or_else(|| panic!("{shown}"));
    members.iter().find(|member| member["name"] == "ana").cloned().unwrap_or_else(|| panic!("{shown}"))
}

#[test]
fn living_foreign_member_is_no_ghost_and_dead_one_is_at_home() {
    on_all_kinds(|kind, mut sides| {
        sides.ask_here("team create alpha --as lead");
        let sleeping = sides.start_there("sleep 600");
        assert_eq!(sides.ask_there(&format!("team join alpha --as ana --pid {sleeping}")).0, 0);
        let shown = member(&sides.ask_here("team show alpha"));
        assert_eq!((&shown["state"], &shown["alive"]), (&json!("idle"), &Value::Null), "{kind:?} {shown}");
        let own = std::process::id();
        let taken = sides.here(&format!("team join alpha --as ana --pid {own}"));
        assert_eq!(taken.code, Some(3), "{kind:?}: the seat is ana's on the other side: {taken:?}");
        let shown = member(&sides.ask_there("team show alpha").1);
        assert_eq!(shown["alive"], json!(true), "{kind:?} {shown}");
        sides.kill_there(sleeping);
        let shown = member(&sides.ask_there("team show alpha").1);
        assert_eq!((&shown["state"], &shown["alive"]), (&json!("ghost"), &json!(false)), "{kind:?} {shown}");
        assert_eq!(member(&sides.ask_here("team show alpha"))["state"], json!("idle"), "{kind:?}");
        if sides.are_on_database() {
            // Its server's clock is not ours to set.
            return;
        }
        // An hour later no process has seen it any more.
        let later = sides.home.run_with("any=wall:3700000", "team show alpha --json");
        assert_eq!(member(&later.json())["state"], json!("ghost"), "{kind:?} {later:?}");
    });
}
