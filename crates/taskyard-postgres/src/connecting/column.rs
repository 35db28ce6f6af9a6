//! Columns of the rows that a statement writes.

use tokio_postgres::types::{ToSql, Type};

/// A value and its type, as the server is told of them.
pub(super) type Parameter = (Box<dyn ToSql + Sync + Send>, Type);

/// The values of one column, one for each row.
#[derive(Debug)]
pub(crate) enum Column {
    /// Texts.
    Texts(Vec<String>),
    /// Texts of which some may be absent.
    SomeTexts(Vec<Option<String>>),
    /// Bytes of which some may be absent.
    SomeBytes(Vec<Option<Vec<u8>>>),
    /// Whole numbers.
    Numbers(Vec<i64>),
    /// Whole numbers of which some may be absent.
    SomeNumbers(Vec<Option<i64>>),
    /// Answers to yes-or-no questions.
    Bools(Vec<bool>),
}

impl Column {
    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Texts(values) => values.len(),
            Self::SomeTexts(values) => values.len(),
            Self::SomeBytes(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::SomeNumbers(values) => values.len(),
            Self::Bools(values) => values.len(),
        }
    }

    /// Returns the value of the only row.
    pub(super) fn into_only(self) -> Parameter {
        match self {
            Self::Texts(mut values) => (Box::new(values.pop()), Type::TEXT),
            Self::SomeTexts(mut values) => (Box::new(values.pop().flatten()), Type::TEXT),
            Self::SomeBytes(mut values) => (Box::new(values.pop().flatten()), Type::BYTEA),
            Self::Numbers(mut values) => (Box::new(values.pop()), Type::INT8),
            Self::SomeNumbers(mut values) => (Box::new(values.pop().flatten()), Type::INT8),
            Self::Bools(mut values) => (Box::new(values.pop()), Type::BOOL),
        }
    }

    /// Returns the values of all rows.
    pub(super) fn into_array(self) -> Parameter {
        match self {
            Self::Texts(values) => (Box::new(values), Type::TEXT_ARRAY),
            Self::SomeTexts(values) => (Box::new(values), Type::TEXT_ARRAY),
            Self::SomeBytes(values) => (Box::new(values), Type::BYTEA_ARRAY),
            Self::Numbers(values) => (Box::new(values), Type::INT8_ARRAY),
            Self::SomeNumbers(values) => (Box::new(values), Type::INT8_ARRAY),
            Self::Bools(values) => (Box::new(values), Type::BOOL_ARRAY),
        }
    }
}
