//! The tables of a yard: creating and upgrading them, and the privileges of roles on them. Begin with `migrating.rs`; the
//! SQL is in `version_*.sql`.

mod migrating;

pub(crate) use migrating::{
    SchemaName, TableRights, VERSION, columns_in, giving, giving_all, lost_row, migrate, question_for_columns,
    question_for_roles, quoted,
};
