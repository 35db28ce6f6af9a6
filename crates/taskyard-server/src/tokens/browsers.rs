//! Signing browsers in and listing them.

use taskyard::core::Timestamp;

use super::browser_record::{BrowserDigests, BrowserRecord, LinkTerms};
use super::digest::random_secret;
use super::token_book::{TokenBook, TokenProblem};

/// Resolution of a browser's last use, in milliseconds. Every update rewrites the file.
const EXACTNESS: u64 = 60 * 60 * 1000;
/// Maximum number of signed-in browsers; beyond it, the least recently used one is removed.
const MOST: usize = 64;

impl TokenBook {
    /// Records a new browser and removes browsers that have been idle for too long.
    pub(crate) fn let_browser_in(
        &self,
        digests: BrowserDigests,
        agent: &str,
        terms: LinkTerms,
        now: Timestamp,
    ) -> Result<BrowserRecord, TokenProblem> {
        let id = random_secret().map_err(|source| self.io(source))?;
        let record = BrowserRecord::new(&id[..8], digests, agent, terms, now);
        self.change(|book| {
            book.browsers.retain(|browser| browser.counts(now));
            book.browsers.sort_by_key(|browser| browser.used);
            let room = book.browsers.len().min(MOST - 1);
            book.browsers.drain(..book.browsers.len() - room);
            book.browsers.push(record.clone());
            Ok(())
        })?;
        Ok(record)
    }

    /// Returns the browser whose cookie has this digest if it is valid, and records its use.
    pub(crate) fn find_browser(&self, cookie: &str, now: Timestamp) -> Result<Option<BrowserRecord>, TokenProblem> {
        let found = self.look(|book| {
            let is_it = |browser: &&BrowserRecord| browser.cookie == cookie && browser.counts(now);
            book.browsers.iter().find(is_it).filter(|browser| book.has_token_of(browser, now)).cloned()
        })?;
        let Some(browser) = found else { return Ok(None) };
        // This also corrects a time recorded with a wrong clock.
        if now.0.abs_diff(browser.used) > EXACTNESS {
            let recorded = self.change(|book| {
                book.browsers.iter_mut().filter(|one| one.name == browser.name).for_each(|one| one.used = now.0);
                Ok(())
            });
            // A full disk must not lock browsers out.
            recorded.unwrap_or_else(|problem| tracing::warn!(?problem, "that a browser asked is not recorded"));
        }
        Ok(Some(browser))
    }

    /// Returns the signed-in browsers, oldest first.
    pub fn browsers(&self, now: Timestamp) -> Result<Vec<BrowserRecord>, TokenProblem> {
        self.look(|book| {
            let mut browsers = book.browsers.clone();
            browsers.retain(|browser| browser.counts(now));
            browsers.sort_by_key(|browser| browser.made);
            browsers
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use taskyard::core::Timestamp;

    use super::{BrowserDigests, EXACTNESS, LinkTerms, MOST, TokenBook};
    use crate::tokens::Scope;
    use crate::tokens::browser_record::IDLE;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn digests(number: usize) -> BrowserDigests {
        BrowserDigests { cookie: format!("c{number}"), page: format!("p{number}") }
    }

    fn terms() -> LinkTerms {
        LinkTerms { actor: None, scope: Scope::All, token: None }
    }

    fn after(milliseconds: i64) -> Timestamp {
        Timestamp(NOW.0 + milliseconds)
    }

    #[test]
    fn a_browser_counts_while_it_asks_and_a_week_longer() {
        let data = tempfile::tempdir().unwrap();
        let book = TokenBook::of(data.path());
        let made = book.let_browser_in(digests(1), "Fox\n/1", terms(), NOW).unwrap();
        assert_eq!((made.agent.as_str(), made.is_page("p1"), made.is_page("c1")), ("Fox/1", true, false));
        assert!(book.find_browser("c1", after(IDLE - 1)).unwrap().is_some());
        assert!(TokenBook::of(data.path()).find_browser("c1", after(IDLE * 2 - 2)).unwrap().is_some(), "it asked then");
        assert!(book.find_browser("c1", after(IDLE * 4)).unwrap().is_none());
        assert!(book.find_browser("p1", NOW).unwrap().is_none());
        assert_eq!(book.browsers(after(IDLE * 4)).unwrap(), []);
    }

    #[test]
    fn browser_session_gets_name_and_scope_of_its_link() {
        let data = tempfile::tempdir().unwrap();
        let book = TokenBook::of(data.path());
        book.create("xia", Scope::Work, None, NOW).unwrap();
        let of_token = LinkTerms { actor: Some("xia".into()), scope: Scope::Read, token: Some("xia".into()) };
        book.let_browser_in(digests(1), "", of_token, NOW).unwrap();
        let found = TokenBook::of(data.path()).find_browser("c1", NOW).unwrap().unwrap();
        assert_eq!((found.actor.as_deref(), found.scope(), found.is_page("p1")), (Some("xia"), Scope::Read, true));
        assert!(!found.is_page(""));
        let text = fs::read_to_string(data.path().join("serve-tokens.json")).unwrap();
        assert!(text.contains("\"page\": \"\""), "a release that knows no scopes lets it only read: {text}");
        assert_eq!(book.valid(NOW).unwrap().len(), 2);
        book.revoke("xia").unwrap();
        assert!(book.find_browser("c1", NOW).unwrap().is_none());
        assert_eq!(book.valid(NOW).unwrap().len(), 0);
    }

    #[test]
    fn a_record_is_written_once_an_hour() {
        let hour = i64::try_from(EXACTNESS).unwrap();
        let data = tempfile::tempdir().unwrap();
        let book = TokenBook::of(data.path());
        let used = || book.browsers(NOW).unwrap()[0].used;
        book.let_browser_in(digests(1), "", terms(), NOW).unwrap();
        book.find_browser("c1", after(hour)).unwrap();
        assert_eq!(used(), NOW.0);
        for moved in [hour + 1, 3 * hour, hour] {
            book.find_browser("c1", after(moved)).unwrap();
            assert_eq!(used(), NOW.0 + moved, "also where the clock was set back");
        }
    }

    #[test]
    fn of_too_many_the_one_that_asked_least_recently_goes() {
        let data = tempfile::tempdir().unwrap();
        let book = TokenBook::of(data.path());
        for number in 0..=MOST {
            book.let_browser_in(digests(number), "", terms(), after(i64::try_from(number).unwrap())).unwrap();
        }
        assert!(book.find_browser("c0", NOW).unwrap().is_none() && book.find_browser("c1", NOW).unwrap().is_some());
        assert_eq!(book.browsers(NOW).unwrap().len(), MOST);
    }

    #[test]
    fn browsers_stay_beside_tokens_and_files_without_them_are_read() {
        let data = tempfile::tempdir().unwrap();
        let (book, path) = (TokenBook::of(data.path()), data.path().join("serve-tokens.json"));
        book.create("ci", Scope::Work, None, NOW).unwrap();
        assert!(!fs::read_to_string(&path).unwrap().contains("browsers"), "as earlier versions write it");
        let name = book.let_browser_in(digests(1), "", terms(), NOW).unwrap().name;
        let text = fs::read_to_string(&path).unwrap().replace("\"agent\"", "\"later\": 7, \"agent\"");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        book.create("two", Scope::Work, None, NOW).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("\"later\": 7"));
        book.revoke(&name).unwrap();
        assert!(book.find_browser("c1", NOW).unwrap().is_none());
        assert_eq!(book.all().unwrap().len(), 2);
    }
}
