//! Links that let one browser in, once.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::tokens::{digest, random_secret};

/// So many links wait to be used; of more the oldest no longer counts.
const MOST: usize = 16;
/// So long one waits.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The links that no browser has used yet. Only their digests are kept.
#[derive(Debug, Default)]
pub(crate) struct Links {
    waiting: Mutex<Vec<(String, Instant)>>,
}

impl Links {
    /// Makes a link, and returns its path.
    pub(crate) fn make(&self) -> io::Result<String> {
        let code = random_secret()?;
        let mut waiting = self.waiting();
        if waiting.len() >= MOST {
            waiting.remove(0);
        }
        waiting.push((digest(&code), Instant::now()));
        Ok(format!("/open/{code}"))
    }

    /// Uses a link; returns whether it was there to be used.
    pub(crate) fn take(&self, code: &str) -> bool {
        let code = digest(code);
        let mut waiting = self.waiting();
        waiting.retain(|(_, made)| made.elapsed() < LIFE);
        let before = waiting.len();
        waiting.retain(|(known, _)| *known != code);
        waiting.len() < before
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(String, Instant)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Links, MOST};

    #[test]
    fn a_link_is_good_for_one_use() {
        let links = Links::default();
        let made = links.make().unwrap();
        let code = made.strip_prefix("/open/").unwrap();
        assert!(!links.take("") && !links.take(&code[1..]));
        assert!(links.take(code));
        assert!(!links.take(code));
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let links = Links::default();
        let made: Vec<String> = (0..=MOST).map(|_| links.make().unwrap()).collect();
        let take = |path: &String| links.take(path.strip_prefix("/open/").unwrap());
        assert!(!take(&made[0]) && take(&made[1]) && take(&made[MOST]));
    }
}
