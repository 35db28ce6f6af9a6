//! A team: a lead and a member who share a list, a message, and a member who leaves, whose work comes back.
//!
//! `cargo run -p taskyard --example teams`
#![allow(clippy::print_stdout, reason = "a program that shows what it does")]

use std::error::Error;
use std::sync::Arc;

use taskyard::core::{AgentName, Rules, TeamName};
use taskyard::operations::{Claim, NewTask};
use taskyard::store::MemoryStore;
use taskyard::teams::{Letter, MemoryTeams, NewMember, NewTeam, Presence, TeamCaller, Teams};
use taskyard::{Outcome, Yard};

fn main() -> Result<(), Box<dyn Error>> {
    let teams = Teams::over(Arc::new(MemoryTeams::new()), Rules::Strict, TeamCaller::default());
    let new = NewTeam { name: TeamName::new("alpha")?, description: None, agent_type: None };
    let lead = teams.create(&new, &AgentName::new("lead")?)?.done()?;
    let ana = AgentName::new("ana")?;
    let member = NewMember {
        agent: ana.clone(),
        agent_type: None,
        model: None,
        plan_mode_required: false,
        presence: Presence::Lasting,
        backend: None,
    };
    let seat = teams.join(&lead.team, &member)?.done()?;
    // A seat knows its team as it was; now there is one more.
    let lead = teams.only_seat(&AgentName::new("lead")?)?.ok_or("the lead has left")?;

    // A team has a list of its own, and what happens to its tasks is told to its members.
    let (list, teams) = (teams.list_of(&lead.team.name)?, Arc::new(teams));
    let yard = Yard::new(Arc::new(MemoryStore::new(Rules::Strict)), list, AgentName::new("lead")?);
    let yard = yard.with_teams(Arc::clone(&teams));
    yard.create(NewTask { subject: "Design the schema".into(), ..NewTask::default() })?.done()?;
    let Outcome::Done(claimed) = yard.acting_as(ana).claim_next(&Claim::default())? else {
        return Err("nothing was ready".into());
    };
    println!("ana has #{} {}", claimed.task.id, claimed.task.subject);

    let letter = Letter { text: "How far are you?".into(), summary: None };
    teams.send(&lead, "ana", &letter)?.done()?;
    for delivery in teams.receive(&seat)?.deliveries {
        println!("to ana, from {}: {}", delivery.message.from, delivery.message.text);
    }
    Ok(())
}
