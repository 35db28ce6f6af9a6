//! Whose word a configuration file is: who besides the user could have written it.

/// Who owns a file or directory, and who may do what with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The number of the owner.
    pub owner: u32,
    /// The number of the group.
    pub group: u32,
    /// The permission bits.
    pub mode: u32,
}

/// Why a configuration file does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// Another user wrote it.
    #[error("it belongs to another user (uid {owner})")]
    ForeignFile {
        /// That user's number.
        owner: u32,
    },
    /// Another user can exchange it.
    #[error("its directory belongs to another user (uid {owner})")]
    ForeignDirectory {
        /// That user's number.
        owner: u32,
    },
    /// Every user can write it.
    #[error("every user can write it")]
    FileOpenToAll,
    /// Every user can exchange it.
    #[error("every user can write to its directory")]
    DirectoryOpenToAll,
    /// A group of several users can write it.
    #[error("other users of its group (gid {group}) can write it")]
    FileOpenToGroup {
        /// The group's number.
        group: u32,
    },
    /// A group of several users can exchange it.
    #[error("other users of its directory's group (gid {group}) can write to that")]
    DirectoryOpenToGroup {
        /// The group's number.
        group: u32,
    },
}

/// Judges a file that came with a directory: no other user but root may be able to write or exchange it.
pub fn judge_project_file(
    user: u32,
    file: Rights,
    directory: Rights,
    is_private_group: impl Fn(u32, u32) -> bool,
) -> Option<Doubt> {
    let is_open_to_group = |rights: Rights| rights.mode & 0o020 != 0 && !is_private_group(rights.owner, rights.group);
    judge_users_file(user, file, directory)
        .or_else(|| is_open_to_group(file).then_some(Doubt::FileOpenToGroup { group: file.group }))
        .or_else(|| is_open_to_group(directory).then_some(Doubt::DirectoryOpenToGroup { group: directory.group }))
}

/// Judges a file in the user's own configuration: it must be the user's or root's, and not every user's to write or exchange. Which groups
/// may help with it is the user's own decision.
pub fn judge_users_file(user: u32, file: Rights, directory: Rights) -> Option<Doubt> {
    let is_foreign = |rights: Rights| rights.owner != user && rights.owner != 0;
    let is_open_to_all = |rights: Rights| rights.mode & 0o002 != 0;
    if is_foreign(file) {
        return Some(Doubt::ForeignFile { owner: file.owner });
    }
    if is_open_to_all(file) {
        return Some(Doubt::FileOpenToAll);
    }
    if is_foreign(directory) {
        return Some(Doubt::ForeignDirectory { owner: directory.owner });
    }
    is_open_to_all(directory).then_some(Doubt::DirectoryOpenToAll)
}

/// Tells whether a group is its owner's private one: it has the owner's name, or the owner's number where neither has a name, and no other
/// user is in it. `users` and `groups` are the contents of `/etc/passwd` and `/etc/group`.
pub fn is_private_group(owner: u32, group: u32, users: &str, groups: &str) -> bool {
    let fields = |line: &'_ str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let number = |fields: &[String], place: usize| fields.get(place).and_then(|text| text.parse::<u32>().ok());
    let users: Vec<Vec<String>> = users.lines().map(fields).collect();
    let name_of = |user: u32| users.iter().find(|fields| number(fields, 2) == Some(user)).map(|fields| &fields[0]);
    let others_have_it =
        users.iter().any(|fields| number(fields, 3) == Some(group) && number(fields, 2) != Some(owner));
    if others_have_it {
        return false;
    }
    let entry = groups.lines().map(fields).find(|fields| number(fields, 2) == Some(group));
    match (entry, name_of(owner)) {
        (Some(entry), Some(name)) => {
            let members = entry.get(3).map(String::as_str).unwrap_or_default();
            entry[0] == *name && members.split(',').all(|member| member.is_empty() || member == name)
        }
        // A user of a directory service, say: then the numbers are all that can be told without asking the network.
        (None, None) => owner == group,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Doubt, Rights, is_private_group, judge_project_file, judge_users_file};

    const ANA: u32 = 1000;
    const EVE: u32 = 1001;

    fn rights(owner: u32, mode: u32) -> Rights {
        Rights { owner, group: 100, mode }
    }

    fn judged(file: Rights, directory: Rights) -> Option<Doubt> {
        judge_project_file(ANA, file, directory, |_, _| false)
    }

    #[test]
    fn a_file_counts_when_only_the_user_and_root_can_write_it() {
        for owner in [ANA, 0] {
            assert_eq!(judged(rights(owner, 0o644), rights(ANA, 0o755)), None);
            assert_eq!(judged(rights(ANA, 0o600), rights(owner, 0o700)), None);
        }
    }

    #[test]
    fn another_user_who_could_have_written_it_is_named() {
        let (file, directory) = (rights(ANA, 0o644), rights(ANA, 0o755));
        assert_eq!(judged(rights(EVE, 0o644), directory), Some(Doubt::ForeignFile { owner: EVE }));
        assert_eq!(judged(file, rights(EVE, 0o755)), Some(Doubt::ForeignDirectory { owner: EVE }));
        assert_eq!(judged(rights(ANA, 0o646), directory), Some(Doubt::FileOpenToAll));
        assert_eq!(judged(file, rights(0, 0o1777)), Some(Doubt::DirectoryOpenToAll));
        assert_eq!(judged(rights(ANA, 0o664), directory), Some(Doubt::FileOpenToGroup { group: 100 }));
        assert_eq!(judged(file, rights(ANA, 0o775)), Some(Doubt::DirectoryOpenToGroup { group: 100 }));
    }

    #[test]
    fn a_private_group_is_the_user_alone() {
        let private = |_: u32, _: u32| true;
        assert_eq!(judge_project_file(ANA, rights(ANA, 0o664), rights(ANA, 0o775), private), None);
        assert_eq!(judge_users_file(ANA, rights(ANA, 0o664), rights(ANA, 0o775)), None);
    }

    #[test]
    fn a_group_is_private_by_its_name_and_its_members() {
        let users =
            "root:x:0:0::/root:/bin/sh\nana:x:1000:1000::/:/bin/sh\neve:x:1001:1005::/:/bin/sh\nbob:x:1002:100::/:/b\n";
        let groups = "root:x:0:\nana:x:1000:\nusers:x:100:ana,eve\neve:x:1005:eve\nbob:x:1002:ana\n";
        let is_private = |owner, group| is_private_group(owner, group, users, groups);
        assert!(is_private(0, 0) && is_private(ANA, 1000) && is_private(EVE, 1005));
        assert!(!is_private(ANA, 100) && !is_private(1002, 100), "a group of several");
        assert!(!is_private(1002, 1002), "another user is in it");
        assert!(!is_private(ANA, 1005), "it is another's");
        assert!(is_private(5000, 5000), "nothing is known but that the numbers are the same");
        assert!(!is_private(5000, 1000) && !is_private(5000, 5001));
    }
}
