//! The schema that a yard is in.

use sha2::{Digest, Sha256};

/// The name of a schema, as it is written in statements.
#[derive(Clone, Debug)]
pub(crate) struct SchemaName {
    plain: String,
    quoted: String,
}

impl SchemaName {
    /// Takes a name as it is.
    pub(crate) fn new(plain: &str) -> Self {
        Self { plain: plain.to_owned(), quoted: format!("\"{}\"", plain.replace('"', "\"\"")) }
    }

    /// Returns the name as it is.
    pub(crate) fn plain(&self) -> &str {
        &self.plain
    }

    /// Returns a statement in which `@` stands for the schema.
    pub(crate) fn in_sql(&self, sql: &str) -> String {
        sql.replace('@', &self.quoted)
    }

    /// Returns a number that no other program is likely to lock by.
    pub(crate) fn lock_number(&self) -> i64 {
        let digest = Sha256::digest(format!("taskyard\0{}", self.plain));
        i64::from_be_bytes(digest[..8].try_into().expect("eight bytes are eight bytes"))
    }

    /// Returns the channel on which it is told that something has moved.
    pub(crate) fn channel(&self, kind: &str, name: &str) -> String {
        let digest = Sha256::digest(format!("{}\0{kind}\0{name}", self.plain));
        let hex = taskyard::random::hexadecimal(&digest[..16]);
        format!("taskyard_{hex}")
    }
}
