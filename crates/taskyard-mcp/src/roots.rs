//! Where a client works, in the words of the older versions of the protocol.
#![expect(deprecated, reason = "clients of those versions say it in no other way")]

use std::path::PathBuf;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::Peer;
use taskyard::opening::percent_decoded;

/// How long a client may take to say where it works.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns the directories the client says it works in.
pub(crate) async fn roots_of(client: &Peer<RoleServer>) -> Vec<PathBuf> {
    let asked = tokio::time::timeout(PATIENCE, client.list_roots()).await;
    let roots = match asked {
        Ok(Ok(answer)) => answer.roots,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the client does not say where it works");
            return Vec::new();
        }
        Err(_) => {
            tracing::warn!("the client does not say where it works");
            return Vec::new();
        }
    };
    roots.iter().filter_map(|root| file_path(&root.uri)).collect()
}

/// Returns the path a `file:` address names on this machine.
fn file_path(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = PathBuf::from(String::from_utf8(percent_decoded(path)).ok()?);
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::file_path;

    #[test]
    fn a_root_is_a_path_on_this_machine() {
        assert_eq!(file_path("file:///home/ana/my%20work"), Some(PathBuf::from("/home/ana/my work")));
        assert_eq!(file_path("file://localhost/home/ana%2"), Some(PathBuf::from("/home/ana%2")));
        for other in ["https://example.org/x", "file://server/share", "file:x", "/home", "file:///%ff"] {
            assert_eq!(file_path(other), None, "{other}");
        }
    }
}
