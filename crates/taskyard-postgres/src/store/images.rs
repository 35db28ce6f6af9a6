//! Tasks to the letter, in columns.

use taskyard::core::Image;
use tokio_postgres::Row;

use crate::connecting::Failure;

/// An image in two columns: its text, or its bytes where PostgreSQL has no such text.
#[derive(Debug, Default)]
pub(super) struct ImageColumns {
    pub(super) texts: Vec<Option<String>>,
    pub(super) bytes: Vec<Option<Vec<u8>>>,
}

impl ImageColumns {
    /// Adds one more.
    pub(super) fn push(&mut self, image: Option<&Image>) {
        let text = image.and_then(|image| std::str::from_utf8(image.bytes()).ok()).filter(|text| !text.contains('\0'));
        self.bytes.push(image.filter(|_| text.is_none()).map(|image| image.bytes().to_vec()));
        self.texts.push(text.map(str::to_owned));
    }
}

/// Reads an image from a column and the one behind it.
pub(super) fn image(row: &Row, place: usize) -> Result<Option<Image>, Failure> {
    if let Some(text) = row.try_get::<_, Option<&str>>(place)? {
        return Ok(Some(Image::new(text.as_bytes())));
    }
    Ok(row.try_get::<_, Option<&[u8]>>(place + 1)?.map(Image::new))
}
