//! pgbouncer in transaction mode, which knows no prepared statements and passes no notifications.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use tempfile::TempDir;

use super::cluster::Cluster;
use crate::patience::wait_until;
use crate::process::{Process, Program};

/// A pooler in front of a server, until it is dropped.
#[derive(Debug)]
pub struct Pooler {
    _process: Process,
    behind: u16,
    port: u16,
    _folder: TempDir,
}

impl Pooler {
    /// Starts one.
    pub fn start(cluster: &Cluster) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let file = folder.path().join("pgbouncer.ini");
        let behind = cluster.port();
        let settings = format!(
            "[databases]\npostgres = host=127.0.0.1 port={behind} dbname=postgres user=postgres\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = 20\n"
        );
        fs::write(&file, settings).unwrap();
        let mut command = Program::new("pgbouncer");
        command.args(["--quiet"]).arg(&file).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.unprivileged().start();
        wait_until("the pooler to come up", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        Self { _process: process, behind, port, _folder: folder }
    }

    /// Returns an address of the server as one of the pooler.
    pub fn address_like(&self, address: &str) -> String {
        address.replace(&format!(":{}/", self.behind), &format!(":{}/", self.port))
    }
}
