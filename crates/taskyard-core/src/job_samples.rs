//! Sample jobs for tests.

use crate::{
    AgentName, ClientVersion, Job, JobEnding, JobFate, JobKind, JobOutput, JobUsage, ListId, ProcessMark, Timestamp,
};

pub(crate) fn running() -> Job {
    let supervisor = ProcessMark { pid: 1, started: 1, boot: "b".into(), ..ProcessMark::default() };
    Job {
        id: "b3f0874".parse().unwrap(),
        kind: JobKind::LocalBash,
        description: "bg fail".into(),
        name: None,
        fate: JobFate::Running { pid: 2, supervisor },
        started: Timestamp(0),
        output_file: "/tmp/x/b3f0874.output".into(),
        form: ClientVersion::V2_1_34,
        output: JobOutput::default(),
        output_offset: 0,
        notified: false,
        task: None,
        reopens_task: false,
        command: ["bash", "-c", "make; exit 3"].map(str::to_owned).to_vec(),
        directory: "/tmp".into(),
        agent: AgentName::new("ana").unwrap(),
        list: ListId::new("L").unwrap(),
        store: "claude:".into(),
        tool_use: None,
        time_limit: None,
        max_output: 1000,
        last_seen: Timestamp(0),
        machine: None,
    }
}

pub(crate) fn ended(how: JobEnding) -> Job {
    Job { fate: JobFate::Ended { how, at: Timestamp(0), usage: JobUsage::default() }, ..running() }
}
