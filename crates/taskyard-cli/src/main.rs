//! The binary `taskyard`.

fn main() {}
