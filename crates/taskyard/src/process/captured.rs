//! What is kept of a command's output.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Takes output as it comes.
pub type Sink = Box<dyn FnMut(&[u8]) + Send>;

/// Output of which only so much is kept: its beginning, or its end. Clones keep together.
#[derive(Clone)]
pub(crate) struct Captured(Arc<Mutex<Kept>>);

struct Kept {
    bytes: VecDeque<u8>,
    limit: usize,
    which: Which,
}

#[derive(Clone, Copy)]
enum Which {
    Beginning,
    End,
}

impl Captured {
    /// Keeps the first bytes.
    pub(crate) fn beginning(limit: usize) -> Self {
        Self::new(limit, Which::Beginning)
    }

    /// Keeps the last bytes.
    pub(crate) fn end(limit: usize) -> Self {
        Self::new(limit, Which::End)
    }

    /// Returns a sink that leads here.
    pub(crate) fn sink(&self) -> Sink {
        let captured = self.clone();
        Box::new(move |bytes| captured.add(bytes))
    }

    /// Returns what was kept so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes.iter().copied().collect()
    }

    /// Returns what was kept so far as text; what is none is replaced by marks.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    fn new(limit: usize, which: Which) -> Self {
        Self(Arc::new(Mutex::new(Kept { bytes: VecDeque::new(), limit, which })))
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.which {
            Which::Beginning => {
                let room = kept.limit.saturating_sub(kept.bytes.len()).min(bytes.len());
                kept.bytes.extend(&bytes[..room]);
            }
            Which::End => {
                let newest = &bytes[bytes.len().saturating_sub(kept.limit)..];
                let surplus = (kept.bytes.len() + newest.len()).saturating_sub(kept.limit);
                kept.bytes.drain(..surplus);
                kept.bytes.extend(newest);
            }
        }
    }
}

impl fmt::Debug for Captured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Captured")
    }
}

#[cfg(test)]
mod tests {
    use super::Captured;

    #[test]
    fn the_beginning_or_the_end_is_kept() {
        let (beginning, end) = (Captured::beginning(4), Captured::end(4));
        for captured in [&beginning, &end] {
            let mut sink = captured.sink();
            for part in ["ab", "", "cde", "fghijk"] {
                sink(part.as_bytes());
            }
        }
        assert_eq!((beginning.text().as_str(), end.text().as_str()), ("abcd", "hijk"));
    }
}
