//! Links the programs of debug builds at a fixed address. The tests start tens of thousands of them, and each would spend more than half of
//! its start on moving 200,000 addresses to where it was loaded. Released programs are loaded at random addresses, as they should be.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|set| set == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}
