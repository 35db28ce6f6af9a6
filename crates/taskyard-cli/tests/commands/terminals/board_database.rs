//! The board on PostgreSQL.

use taskyard_testkit::Cluster;

use crate::terminals::board::board;
use crate::terminals::terminal::Home;

#[test]
fn board_reconnects_to_restarted_database() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    let (home, address) = (Home::new(), cluster.address());
    home.run(&["--store", &address, "create", "Before"]);
    let terminal = board(&home, 110, &["--store", &address]);
    terminal.wait_for("#1 Before");
    home.run(&["--store", &address, "create", "While it runs"]);
    terminal.wait_for("#2 While it runs");
    cluster.stop("immediate");
    // What is asked for meanwhile waits for the database, and the user does not wait for it to move the cursor.
    terminal.keys(&["g"]).keys(&["s"]).wait_for("working");
    terminal.keys(&["j"]).wait_until("the cursor", |screen| screen.lines().any(|line| line.starts_with("▸ ◻ #2")));
    cluster.start();
    terminal.wait_for("◼ #1 Before");
    home.run(&["--store", &address, "create", "After"]);
    terminal.wait_for("#3 After");
    terminal.keys(&["G"]).keys(&["d"]).wait_for("Done #3");
    terminal.keys(&["q"]);
}
