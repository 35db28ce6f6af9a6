//! Single-use links, and the file that passes one to the user's browser.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use taskyard::private;

use crate::tokens::{LinkTerms, digest, random_secret};

/// Maximum number of unused links; beyond it, the oldest is revoked.
const MOST: usize = 16;
/// The file that redirects a browser to a link is named with this prefix, the process id and the suffix.
const BEFORE_PID: &str = "serve-open-";
const AFTER_PID: &str = ".html";
/// Lifetime of an unused link.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The unused links. Only their digests are kept.
#[derive(Debug, Default)]
pub(crate) struct Links {
    waiting: Mutex<Vec<WaitingLink>>,
}

#[derive(Debug)]
struct WaitingLink {
    digest: String,
    made: Instant,
    terms: LinkTerms,
}

impl Links {
    /// Creates a link with these terms and returns its path.
    pub(crate) fn make(&self, terms: LinkTerms) -> io::Result<String> {
        let code = random_secret()?;
        let mut waiting = self.waiting();
        if waiting.len() >= MOST {
            waiting.remove(0);
        }
        waiting.push(WaitingLink { digest: digest(&code), made: Instant::now(), terms });
        Ok(format!("/open/{code}"))
    }

    /// Uses a link and returns its terms, or `None` if it is unknown, used or expired.
    pub(crate) fn take(&self, code: &str) -> Option<LinkTerms> {
        let code = digest(code);
        let mut waiting = self.waiting();
        waiting.retain(|link| link.made.elapsed() < LIFE);
        let used = waiting.iter().position(|link| link.digest == code)?;
        Some(waiting.remove(used).terms)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<WaitingLink>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file that redirects the user's browser to a link. Command lines are visible to all users of the machine, the
/// file only to this user. Removed on drop.
#[derive(Debug)]
pub(crate) struct OpeningPage {
    path: PathBuf,
    link: String,
}

impl OpeningPage {
    /// Writes the file in the data directory, and removes those left behind by killed servers.
    pub(crate) fn write(data: &Path, link: &str) -> io::Result<Self> {
        private::make_data_directory(data)?;
        for entry in fs::read_dir(data)? {
            let path = entry?.path();
            if writer_of(&path).is_some_and(|pid| pid == std::process::id() || !is_alive(pid)) {
                let _ = fs::remove_file(path);
            }
        }
        let path = data.join(format!("{BEFORE_PID}{}{AFTER_PID}", std::process::id()));
        let mut file = private::create_new(&path)?;
        let page = Self { path, link: link.to_owned() };
        let text = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
             <meta http-equiv=\"refresh\" content=\"0;url={link}\"><title>Taskyard</title>\
             <p><a href=\"{link}\">Open the board</a></html>\n"
        );
        file.write_all(text.as_bytes())?;
        Ok(page)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether it redirects to the link with this code.
    pub(crate) fn leads_to(&self, code: &str) -> bool {
        self.link.rsplit('/').next() == Some(code)
    }
}

impl Drop for OpeningPage {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the process that wrote such a file, or `None` for any other file.
fn writer_of(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix(BEFORE_PID)?.strip_suffix(AFTER_PID)?.parse().ok()
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::{LinkTerms, Links, MOST, OpeningPage};
    use crate::tokens::Scope;

    fn terms() -> LinkTerms {
        LinkTerms { actor: Some("xia".into()), scope: Scope::Work, token: None }
    }

    #[test]
    fn only_the_user_reads_the_page_and_it_goes_with_its_owner() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("serve-open-999999999.html"), "left by a server that was killed").unwrap();
        let page = OpeningPage::write(data.path(), "http://127.0.0.1:1/open/x").unwrap();
        assert_eq!(fs::metadata(page.path()).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::read_to_string(page.path()).unwrap().contains("url=http://127.0.0.1:1/open/x\""));
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1);
        assert!(page.leads_to("x") && !page.leads_to("y") && !page.leads_to(""));
        drop(page);
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_is_good_for_one_use() {
        let links = Links::default();
        let made = links.make(terms()).unwrap();
        let code = made.strip_prefix("/open/").unwrap();
        assert!(links.take("").is_none() && links.take(&code[1..]).is_none());
        assert_eq!(links.take(code), Some(terms()));
        assert!(links.take(code).is_none());
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let links = Links::default();
        let made: Vec<String> = (0..=MOST).map(|_| links.make(terms()).unwrap()).collect();
        let take = |path: &String| links.take(path.strip_prefix("/open/").unwrap()).is_some();
        assert!(!take(&made[0]) && take(&made[1]) && take(&made[MOST]));
    }
}
