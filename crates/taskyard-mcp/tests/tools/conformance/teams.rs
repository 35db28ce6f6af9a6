//! The recorded runs of teams: tools answer the same, and the files of teams, inboxes and tasks are the same to the byte, ids and
//! times aside. What the client did by itself between calls, starting teammates and reading inboxes, is done here through the
//! library in its place.

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::dialect::inbox::Manner;
use taskyard::core::dialect::{inbox, team_file};
use taskyard::core::rules::agents::Departure;
use taskyard::core::rules::hooks::System;
use taskyard::core::tools::inbox_read::tagged;
use taskyard::core::{AgentName, ClientVersion, ListId, Member, Message, Rules, Timestamp};
use taskyard::operations::NewTask;
use taskyard::store::{FileStore, FileStoreOptions};
use taskyard::teams::{FileTeamsOptions, Letter, Seat, TeamCaller, Teams};
use taskyard_mcp::calls::Toolbox;
use tempfile::TempDir;

use crate::conformance::recording::Disk;
use crate::conformance::replay::gather;

const SESSION: &str = "11111111-2222-4333-8444-555555555555";
const MODEL: &str = "claude-sonnet-4-5-20250929";

/// A directory of the client's with teams, and the agents that work there.
struct Office {
    folder: TempDir,
    version: ClientVersion,
}

impl Office {
    fn new(version: ClientVersion) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), version }
    }

    fn config(&self) -> std::path::PathBuf {
        self.folder.path().join(".claude")
    }

    fn rules(&self) -> Rules {
        Rules::Client(self.version)
    }

    fn teams(&self) -> Teams {
        Teams::new(
            FileTeamsOptions {
                root: self.config().join("teams"),
                tasks: self.config().join("tasks"),
                data: self.folder.path().join("data"),
                rules: self.rules(),
            },
            TeamCaller {
                session: Some(SESSION.to_owned()),
                directory: Some(self.folder.path().join("work")),
                client_teammate: None,
                model: (self.version == ClientVersion::V2_1_34).then(|| MODEL.to_owned()),
            },
        )
    }

    /// Returns the yard of `main`, the client itself, or of `agent:NAME`, a teammate.
    fn yard(&self, agent: &str) -> Yard {
        let actor =
            agent.strip_prefix("agent:").map_or_else(|| format!("claude-code-{}", &SESSION[..8]), str::to_owned);
        let options = FileStoreOptions {
            tasks: self.config().join("tasks"),
            data: Some(self.folder.path().join("data")),
            rules: self.rules(),
        };
        let list = ListId::new(SESSION).unwrap();
        let yard = Yard::new(Arc::new(FileStore::open(options)), list, AgentName::new(actor).unwrap());
        yard.with_rules(self.rules()).with_teams(Arc::new(self.teams())).in_team_list().unwrap()
    }

    fn seat(&self, agent: &str) -> Seat {
        self.teams().only_seat(self.yard(agent).actor()).unwrap().unwrap()
    }

    /// Returns everything under the client's directory, as the recording writes it, ids and times aside.
    fn disk(&self) -> Disk {
        let mut disk = Disk::new();
        for part in ["tasks", "teams"] {
            if self.config().join(part).exists() {
                gather(&self.config(), part, &mut disk);
            }
        }
        let home = self.folder.path().to_str().unwrap();
        disk.into_iter().map(|(path, contents)| (path, without_moments(&contents.replace(home, "$HOME")))).collect()
    }

    /// Does what the client does when it starts a teammate.
    fn spawn(&self, name: &str, prompt: &str, model: &str) {
        let team = self.seat("main").team;
        let file = self.teams().file_of(&team.name).unwrap();
        let member = Member {
            name: name.to_owned(),
            agent_id: team.name.agent_id(name),
            agent_type: Some("general-purpose".to_owned()),
            model: Some(model.to_owned()),
            prompt: Some(prompt.to_owned()),
            color: Some(team.colour_for(name)),
            plan_mode_required: false,
            joined_at: Timestamp(1),
            cwd: Some(self.folder.path().join("work").to_str().unwrap().to_owned()),
            backend_type: None,
            pane: None,
        };
        fs::write(&file, team_file::with_member(&fs::read(&file).unwrap(), &member, self.version).unwrap()).unwrap();
        if self.version == ClientVersion::V2_1_34 {
            let metadata = json!({"_internal": true}).as_object().cloned();
            let new = NewTask { subject: name.into(), description: prompt.into(), metadata, ..NewTask::default() };
            let yard = self.yard("main");
            let id = yard.create(new).unwrap().done().unwrap().task.id;
            yard.start(&id).unwrap().done().unwrap();
        }
    }

    /// Reads messages as the client delivers them, and takes them out of the inbox as it does.
    fn deliver(&self, agent: &str, count: usize) -> String {
        let (teams, seat) = (self.teams(), self.seat(agent));
        let deliveries = teams.look_into(&seat).unwrap().deliveries;
        let taken: Vec<_> = deliveries.into_iter().take(count).collect();
        let keys: Vec<_> = taken.iter().flat_map(|delivery| delivery.keys.clone()).collect();
        teams.acknowledge(&seat, &keys).unwrap();
        let texts: Vec<String> = taken.iter().map(|delivery| tagged(&delivery.message, None)).collect();
        texts.join("\n\n")
    }

    /// Says what a teammate's program says when the agent is idle.
    fn idle(&self, agent: &str, more: &str) {
        let seat = self.seat(agent);
        let text =
            format!(r#"{{"type":"idle_notification","from":"{}","timestamp":"{}"{more}}}"#, seat.name, Timestamp(0));
        self.teams().send(&seat, "team-lead", &Letter::new(text)).unwrap().done().unwrap();
    }
}

/// Replaces moments and ids by words: `2026-11-15T00:56:34.365Z`, 13 digits, UUIDs.
fn without_moments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if rest.len() >= 24 && is_moment(&rest.as_bytes()[..24]) {
            out.push_str("MOMENT");
            rest = &rest[24..];
        } else if is_uuid(rest) && !rest.starts_with(SESSION) {
            out.push_str("UUID");
            rest = &rest[36..];
        } else if digits > 0 {
            out.push_str(if digits == 13 || (digits == 1 && out.ends_with("joinedAt\": ")) {
                "TIME"
            } else {
                &rest[..digits]
            });
            rest = &rest[digits..];
        } else {
            let next = rest.chars().next().unwrap();
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}

fn is_moment(bytes: &[u8]) -> bool {
    bytes.iter().zip(b"dddd-dd-ddTdd:dd:dd.dddZ").all(|(byte, form)| match form {
        b'd' => byte.is_ascii_digit(),
        form => byte == form,
    })
}

fn is_uuid(text: &str) -> bool {
    let Some(word) = text.get(..36) else { return false };
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && word.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

fn unwrapped(text: &str) -> &str {
    let inner = text.strip_prefix("<tool_use_error>").and_then(|text| text.strip_suffix("</tool_use_error>"));
    inner.unwrap_or(text)
}

/// Goes through a recording. `by_itself` does what the client did besides answering calls.
fn replay(contents: &str, mut by_itself: impl FnMut(&Office, usize, &Value)) {
    let recording: Value = serde_json::from_str(contents).unwrap();
    let office = Office::new(recording["client"].as_str().unwrap().parse().unwrap());
    let mut expected = Disk::new();
    let mut change = |disk: Option<&Value>, office: &Office, writes: bool| {
        for (path, contents) in disk.and_then(Value::as_object).into_iter().flatten() {
            let place = office.config().join(path);
            match contents.as_str() {
                Some("<dir>") => {
                    if writes {
                        fs::create_dir_all(place).unwrap();
                    }
                    // The directories above are in no recording.
                    for above in path.trim_end_matches('/').match_indices('/').map(|(end, _)| &path[..=end]) {
                        expected.entry(above.to_owned()).or_default();
                    }
                    expected.insert(path.clone(), String::new());
                }
                Some(contents) => {
                    if writes {
                        fs::write(place, contents.replace("$HOME", office.folder.path().to_str().unwrap())).unwrap();
                    }
                    expected.insert(path.clone(), without_moments(contents));
                }
                None => drop(expected.remove(path)),
            }
        }
        expected.clone()
    };
    change(recording.get("disk_before"), &office, true);
    for (number, step) in recording["steps"].as_array().unwrap().iter().enumerate() {
        let told = format!("step {number}: {step}");
        let agent = step["agent"].as_str().unwrap();
        let tool = step["tool"].as_str().unwrap_or_default();
        if ["Task", "Agent", ""].contains(&tool) || step["is_error"].is_null() {
            by_itself(&office, number, step);
        } else {
            let toolbox = Toolbox::new(office.yard(agent), System::Tasks);
            let answer = toolbox.call(tool, &step["input"]).unwrap();
            if let Some(text) = step["text"].as_str() {
                let ours = answer.text.replace(office.folder.path().to_str().unwrap(), "$HOME");
                assert_eq!(without_moments(&ours), without_moments(unwrapped(text)), "{told}");
            }
            assert_eq!(answer.is_error, step["is_error"], "{told}");
            by_itself(&office, number, step);
        }
        let expected = change(step.get("disk"), &office, false);
        assert_eq!(office.disk(), expected, "{told}");
    }
}

#[test]
fn teams_and_messages_of_2_1_34() {
    replay(include_str!("../../fixtures/conformance/team-tools.2.1.34.json"), |_, _, _| {});
}

#[test]
fn a_teammate_at_work_in_2_1_34() {
    let recorded = |step: &Value| step["delivered"].as_str().map(without_moments);
    replay(include_str!("../../fixtures/conformance/teammate-at-work.2.1.34.json"), |office, number, step| {
        let available = r#","idleReason":"available""#;
        match number {
            4 => office.spawn("bob", "work please", "claude-opus-4-6"),
            // What a teammate is started with comes without its inbox.
            5 => {}
            11 | 12 => {
                assert_eq!(recorded(step), Some(without_moments(&office.deliver("agent:bob", 1))));
                office.idle("agent:bob", available);
            }
            13 => office.idle("agent:bob", available),
            15 => assert_eq!(recorded(step), Some(without_moments(&office.deliver("agent:bob", 1)))),
            16 => {
                office.deliver("agent:bob", 1);
                office.idle("agent:bob", available);
            }
            18 => {
                let call = json!({"type": "shutdown_response", "request_id": "NOMATCH", "approve": true});
                let answer = Toolbox::new(office.yard("agent:bob"), System::Tasks).call("SendMessage", &call).unwrap();
                assert!(answer.text.contains("Agent bob is now exiting."), "{}", answer.text);
            }
            25 => {
                // The lead reads everything, and takes out a member that approved its end.
                let lead = office.seat("main");
                let path = office.config().join("teams/alpha/inboxes/team-lead.json");
                let messages = inbox::read(&fs::read(&path).unwrap()).unwrap().messages;
                let keys: HashSet<_> = messages.iter().map(Message::key).collect();
                let read =
                    inbox::consume(&fs::read(&path).unwrap(), |key| keys.contains(key), Manner::Marked, false).unwrap();
                fs::write(&path, read.bytes.unwrap()).unwrap();
                let bob = AgentName::new("bob").unwrap();
                office.yard("main").depart(&bob, Departure::Shutdown).unwrap();
                office.teams().leave(&Seat { team: lead.team, name: "bob".into() }).unwrap().done().unwrap();
            }
            _ => {}
        }
    });
}

#[test]
fn the_implicit_team_of_2_1_325() {
    let recorded = |step: &Value| step["delivered"].as_str().map(without_moments);
    replay(include_str!("../../fixtures/conformance/implicit-team.2.1.325.json"), |office, number, step| {
        match number {
            3 => office.spawn("bob", "work please", "claude-opus-5-5"),
            10 => {
                assert_eq!(recorded(step), Some(without_moments(&office.deliver("agent:bob", 9))));
                office.idle("agent:bob", r#","result":"bob first idle""#);
            }
            11 => drop(office.deliver("main", 9)),
            // A message that came was read before the next look at the disk.
            13 => assert!(office.deliver("agent:bob", 9).ends_with("summary=\"hi\">\nhello bob\n</teammate-message>")),
            18 | 20 => assert_eq!(recorded(step), Some(without_moments(&office.deliver("agent:bob", 9)))),
            22 => office.teams().delete(&office.seat("main").team).unwrap(),
            _ => {}
        }
    });
}
