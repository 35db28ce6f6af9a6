//! Entries of ours in other programs' configuration files: the rest of the file stays as it is, byte for byte.

mod json;
mod random_json;
mod toml;
