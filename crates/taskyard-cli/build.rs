//! Links debug builds without position independence. The tests start the program tens of thousands of times, and the dynamic linker would
//! spend more than half of each start on 200,000 relocations. Release builds stay position independent.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|set| set == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}
