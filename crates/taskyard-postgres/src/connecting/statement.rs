//! Statements, their parameters, and pipelining.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

/// A statement with its parameters. It is parsed anew each time, so no session state is needed that a pooler would
/// lose.
pub(crate) struct Statement {
    sql: String,
    parameters: Vec<Parameter>,
    is_simple: bool,
}

impl Statement {
    pub(crate) fn new(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), parameters: Vec::new(), is_simple: false }
    }

    /// Returns a script of several statements without parameters or result rows.
    pub(crate) fn script(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), parameters: Vec::new(), is_simple: true }
    }

    fn with(mut self, value: impl ToSql + Sync + Send + 'static, of: Type) -> Self {
        self.parameters.push((Box::new(value), of));
        self
    }

    pub(crate) fn text(self, value: impl Into<String>) -> Self {
        self.with(value.into(), Type::TEXT)
    }

    pub(crate) fn some_text(self, value: Option<String>) -> Self {
        self.with(value, Type::TEXT)
    }

    pub(crate) fn bytes(self, value: Vec<u8>) -> Self {
        self.with(value, Type::BYTEA)
    }

    pub(crate) fn number(self, value: i64) -> Self {
        self.with(value, Type::INT8)
    }

    pub(crate) fn some_number(self, value: Option<i64>) -> Self {
        self.with(value, Type::INT8)
    }

    pub(crate) fn float(self, value: f64) -> Self {
        self.with(value, Type::FLOAT8)
    }

    pub(crate) fn texts(self, values: Vec<String>) -> Self {
        self.with(values, Type::TEXT_ARRAY)
    }

    pub(crate) fn some_texts(self, values: Vec<Option<String>>) -> Self {
        self.with(values, Type::TEXT_ARRAY)
    }

    pub(crate) fn some_bytes(self, values: Vec<Option<Vec<u8>>>) -> Self {
        self.with(values, Type::BYTEA_ARRAY)
    }

    pub(crate) fn numbers(self, values: Vec<i64>) -> Self {
        self.with(values, Type::INT8_ARRAY)
    }

    /// Adds rows, for which `ROWS` stands in the statement. Most commits write a single row, and PostgreSQL is faster
    /// if its values are direct parameters rather than arrays.
    pub(crate) fn rows(mut self, columns: Vec<Column>) -> Self {
        let is_one = columns.iter().all(|column| column.len() == 1);
        let places: Vec<String> =
            (1..=columns.len()).map(|place| format!("${}", self.parameters.len() + place)).collect();
        let places = places.join(", ");
        let rows = if is_one { format!("(VALUES ({places}))") } else { format!("unnest({places})") };
        self.sql = self.sql.replacen("ROWS", &rows, 1);
        self.parameters.extend(columns.into_iter().map(if is_one { Column::into_only } else { Column::into_array }));
        self
    }

    async fn send(&self, client: &Client) -> Result<Vec<Row>, Error> {
        if self.is_simple {
            client.batch_execute(&self.sql).await?;
            return Ok(Vec::new());
        }
        let parameters: Vec<_> =
            self.parameters.iter().map(|(value, of)| (value.as_ref() as &(dyn ToSql + Sync), of.clone())).collect();
        client.query_typed(&self.sql, &parameters).await
    }
}

/// Sends statements without waiting for answers in between and returns the rows of each. They share one transaction,
/// so if one fails, those after it have no effect.
pub(crate) async fn pipeline(client: &Client, statements: &[Statement]) -> Result<Vec<Vec<Row>>, Error> {
    type Answer = Result<Vec<Row>, Error>;
    type Coming<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;
    let mut sent: Vec<(Coming<'_>, Option<Answer>)> = Vec::with_capacity(statements.len());
    for statement in statements {
        let mut answer: Coming<'_> = Box::pin(statement.send(client));
        // The first poll sends the statement.
        let first = match poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        };
        sent.push((answer, first));
    }
    let mut rows = Vec::with_capacity(sent.len());
    let mut failed = None;
    for (answer, first) in sent {
        match match first {
            Some(answer) => answer,
            None => answer.await,
        } {
            Ok(answer) => rows.push(answer),
            // The first failure is the cause of all later ones. Read the remaining answers anyway, so that the
            // connection stays usable.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(rows), Err)
}

/// A value and its SQL type.
pub(super) type Parameter = (Box<dyn ToSql + Sync + Send>, Type);

/// The values of one column, one per row.
#[derive(Debug)]
pub(crate) enum Column {
    Texts(Vec<String>),
    SomeTexts(Vec<Option<String>>),
    SomeBytes(Vec<Option<Vec<u8>>>),
    Numbers(Vec<i64>),
    SomeNumbers(Vec<Option<i64>>),
    Bools(Vec<bool>),
}

impl Column {
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
