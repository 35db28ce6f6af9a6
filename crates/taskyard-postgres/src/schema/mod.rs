//! The tables of a yard: making them, and bringing them to the newest version.

mod migrating;
mod name;
mod rights;

pub(crate) use migrating::{VERSION, lost_row, migrate};
pub(crate) use name::SchemaName;
pub(crate) use rights::{
    TableRights, columns_in, giving, giving_all, question_for_columns, question_for_roles, quoted,
};
