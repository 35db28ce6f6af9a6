//! Statements, and sending several at once.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

use super::column::{Column, Parameter};

/// A statement with its parameters. It is parsed anew each time: nothing is left on the server that a pooler between us would lose.
pub(crate) struct Statement {
    sql: String,
    parameters: Vec<Parameter>,
    is_simple: bool,
}

impl Statement {
    /// Returns a statement without parameters yet.
    pub(crate) fn new(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), parameters: Vec::new(), is_simple: false }
    }

    /// Returns several statements at once that have neither parameters nor answers.
    pub(crate) fn script(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), parameters: Vec::new(), is_simple: true }
    }

    /// Adds a parameter.
    fn with(mut self, value: impl ToSql + Sync + Send + 'static, of: Type) -> Self {
        self.parameters.push((Box::new(value), of));
        self
    }

    /// Adds a text.
    pub(crate) fn text(self, value: impl Into<String>) -> Self {
        self.with(value.into(), Type::TEXT)
    }

    /// Adds a text that may be absent.
    pub(crate) fn some_text(self, value: Option<String>) -> Self {
        self.with(value, Type::TEXT)
    }

    /// Adds bytes.
    pub(crate) fn bytes(self, value: Vec<u8>) -> Self {
        self.with(value, Type::BYTEA)
    }

    /// Adds a whole number.
    pub(crate) fn number(self, value: i64) -> Self {
        self.with(value, Type::INT8)
    }

    /// Adds a whole number that may be absent.
    pub(crate) fn some_number(self, value: Option<i64>) -> Self {
        self.with(value, Type::INT8)
    }

    /// Adds any number.
    pub(crate) fn float(self, value: f64) -> Self {
        self.with(value, Type::FLOAT8)
    }

    /// Adds texts.
    pub(crate) fn texts(self, values: Vec<String>) -> Self {
        self.with(values, Type::TEXT_ARRAY)
    }

    /// Adds texts of which some may be absent.
    pub(crate) fn some_texts(self, values: Vec<Option<String>>) -> Self {
        self.with(values, Type::TEXT_ARRAY)
    }

    /// Adds bytes of which some may be absent.
    pub(crate) fn some_bytes(self, values: Vec<Option<Vec<u8>>>) -> Self {
        self.with(values, Type::BYTEA_ARRAY)
    }

    /// Adds whole numbers.
    pub(crate) fn numbers(self, values: Vec<i64>) -> Self {
        self.with(values, Type::INT8_ARRAY)
    }

    /// Adds rows, which `ROWS` stands for in the statement. Most commits write one row, and PostgreSQL takes less time for that where its
    /// values stand in the statement than where they come out of arrays.
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

/// Sends statements one behind the other without waiting for answers in between, and returns the rows of each. Where one fails, those
/// behind it do nothing, since they are in one transaction.
pub(crate) async fn pipeline(client: &Client, statements: &[Statement]) -> Result<Vec<Vec<Row>>, Error> {
    type Answer = Result<Vec<Row>, Error>;
    type Coming<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;
    let mut sent: Vec<(Coming<'_>, Option<Answer>)> = Vec::with_capacity(statements.len());
    for statement in statements {
        let mut answer: Coming<'_> = Box::pin(statement.send(client));
        // The first poll sends it.
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
            // The first failure is the reason of those behind it. Their answers are waited for: the connection is of use afterwards.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(rows), Err)
}
