//! No new task takes the place of what is there, whatever it is: every store, both rules.

use taskyard::core::{ClientVersion, Rules};
use taskyard_testkit::properties::{Terrain, nothing_new_replaces_what_is_there};

const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

#[test]
fn nothing_is_replaced_in_memory() {
    nothing_new_replaces_what_is_there(Terrain::Memory, Rules::Strict, 2000);
    nothing_new_replaces_what_is_there(Terrain::Memory, CLIENT, 1000);
}

#[test]
fn nothing_is_replaced_among_the_clients_files() {
    nothing_new_replaces_what_is_there(Terrain::Files, Rules::Strict, 250);
}

#[test]
fn nothing_is_replaced_among_the_clients_files_in_client_rules() {
    nothing_new_replaces_what_is_there(Terrain::Files, CLIENT, 250);
}

#[test]
fn nothing_is_replaced_in_documents() {
    nothing_new_replaces_what_is_there(Terrain::Documents, Rules::Strict, 150);
    nothing_new_replaces_what_is_there(Terrain::Documents, CLIENT, 100);
}

#[test]
fn nothing_is_replaced_in_teaching_folders() {
    nothing_new_replaces_what_is_there(Terrain::Teaching, Rules::Strict, 150);
    nothing_new_replaces_what_is_there(Terrain::Teaching, CLIENT, 100);
}
