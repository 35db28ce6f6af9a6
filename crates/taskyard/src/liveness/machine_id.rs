//! Which machine this is.

use std::sync::OnceLock;

/// Where the system keeps what the machine is known by, the first that says anything.
const FILES: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// Returns what this machine is known by: its machine id, else its host name, marked as such. Read once in the life of a process.
pub(super) fn machine_id() -> &'static str {
    static MACHINE: OnceLock<String> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let said = FILES.iter().find_map(|file| machine_id_in(&std::fs::read_to_string(file).ok()?));
        said.unwrap_or_else(|| format!("host:{}", rustix::system::uname().nodename().to_string_lossy()))
    })
}

/// Returns the machine id in the text of a file. An image that is to be started many times says `uninitialized` or nothing.
fn machine_id_in(text: &str) -> Option<String> {
    let word = text.trim();
    let is_id = word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| word.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{machine_id, machine_id_in};

    #[test]
    fn only_what_can_be_a_machine_id_is_one() {
        let id = "3d1219c7c4c5404aaa1f6d2a48adfda4";
        assert_eq!(machine_id_in(&format!("{id}\n")).as_deref(), Some(id));
        for text in ["", "\n", "uninitialized\n", "3d1219c7", &format!("{id}0")] {
            assert_eq!(machine_id_in(text), None, "{text}");
        }
        assert!(!machine_id().is_empty());
    }
}
