//! Listening, drawing and sleeping, until the user leaves.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event};
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};
use signal_hook::low_level::{emulate_default_handler, pipe};
use taskyard::Yard;
use taskyard::blocking::{allow_blocking, forbid_blocking};
use taskyard::core::render::numbered;
use taskyard::core::{ListId, TaskId, Timestamp};
use taskyard::failpoint;
use taskyard::operations::Claim;
use taskyard::process::Waker;
use taskyard_jobs::Jobs;

use super::app::{App, Effect, Settings, View};
use super::asking::{Asker, Eyes};
use super::doing::{Doer, Hands};
use super::draw::draw;
use super::feed::Feed;
use super::news::{Did, News, Refused, Teller};
use super::terminal::{self, Screen};
use super::todo_sources::TodoSources;
use taskyard::core::problem::Problem;
use taskyard_jobs::signals;

/// While only news come, the screen is drawn so far apart; a key is answered at once.
const APART: Duration = Duration::from_millis(30);

/// So many news are taken in before the keyboard is listened to again.
const NEWS: usize = 64;

/// What a board is opened with.
pub struct Opening<'a> {
    /// The store, the list to begin with, and the agent that acts.
    pub yard: Yard,
    /// The jobs; `None` if there is no place for them.
    pub jobs: Option<Jobs>,
    /// How tasks are claimed.
    pub claim: Claim,
    /// How it looks, and what keys do.
    pub settings: Settings,
    /// Where todo lists are found.
    pub todos: Option<TodoSources>,
    /// Does what has the terminal to itself meanwhile.
    pub outside: &'a mut dyn FnMut(&ListId, Outside<'_>) -> Result<(), Problem>,
}

/// Something that has the terminal to itself meanwhile.
#[derive(Clone, Copy, Debug)]
pub enum Outside<'a> {
    /// The user edits tasks in an editor.
    Edit(&'a [TaskId]),
    /// A command of ours runs, with these arguments.
    Command(&'a str),
}

/// Shows the board until the user leaves it.
pub fn run(opening: Opening<'_>) -> Result<(), Problem> {
    let waker = Waker::new()?;
    let (sender, news) = channel();
    let teller = Teller::new(sender, waker.clone());
    let Opening { yard, jobs, claim, settings, todos, outside } = opening;
    let app = App::new(settings, yard.actor().clone(), yard.list_id().clone(), View::List, now());
    let stops = Stops::listen(&waker)?;
    let mut board = Board {
        asker: Asker::start(Eyes { yard: yard.clone(), jobs: jobs.clone(), todos }, teller.clone()),
        doer: Doer::start(Hands { yard: yard.clone(), jobs, claim }, teller.clone()),
        feed: Feed::start(yard.clone(), teller.clone()),
        app,
        yard,
        teller,
        news,
        waker,
        stops,
        outside,
    };
    let entered = terminal::enter()?;
    let forbidden = forbid_blocking();
    let ended = board.show();
    drop(forbidden);
    drop(entered);
    let Board { doer, feed, .. } = board;
    drop(feed);
    doer.finish();
    ended
}

/// The signals that concern the screen.
struct Stops {
    is_suspended: Arc<AtomicBool>,
    is_continued: Arc<AtomicBool>,
}

impl Stops {
    fn listen(waker: &Waker) -> io::Result<Self> {
        let (is_suspended, is_continued): (Arc<AtomicBool>, Arc<AtomicBool>) = Default::default();
        signal_hook::flag::register(SIGTSTP, Arc::clone(&is_suspended))?;
        signal_hook::flag::register(SIGCONT, Arc::clone(&is_continued))?;
        for signal in [SIGTSTP, SIGCONT, SIGWINCH] {
            pipe::register(signal, waker.writer()?)?;
        }
        let waker = waker.clone();
        signals::tell_when_stopped(move || waker.wake());
        Ok(Self { is_suspended, is_continued })
    }
}

struct Board<'a> {
    app: App,
    yard: Yard,
    teller: Teller,
    news: Receiver<News>,
    waker: Waker,
    asker: Asker,
    doer: Doer,
    feed: Feed,
    stops: Stops,
    outside: &'a mut dyn FnMut(&ListId, Outside<'_>) -> Result<(), Problem>,
}

impl Board<'_> {
    /// Shows it until the user leaves, or the terminal is gone.
    fn show(&mut self) -> Result<(), Problem> {
        let shown = self.show_while_there();
        // Whatever failed on a terminal that is gone failed because it is gone.
        match terminal::sleep(&self.waker, io::stdin().as_fd(), Some(Duration::ZERO)) {
            Ok(true) => shown,
            Ok(false) | Err(_) => {
                signals::note_hangup();
                Ok(())
            }
        }
    }

    fn show_while_there(&mut self) -> Result<(), Problem> {
        let mut screen = terminal::screen()?;
        let mut fitted = screen.size()?;
        let mut drawn: Option<Instant> = None;
        loop {
            let mut is_typed = self.listen()?;
            for news in self.news.try_iter().take(NEWS).collect::<Vec<_>>() {
                self.app.on_news(news, now());
            }
            self.app.on_tick(now());
            if signals::was_stopped() {
                return Ok(());
            }
            if self.stops.is_suspended.swap(false, Ordering::SeqCst) {
                suspend(&mut screen)?;
                is_typed = true;
            }
            if self.stops.is_continued.swap(false, Ordering::SeqCst) {
                // The program that had the terminal meanwhile may have changed its settings.
                resume(&mut screen)?;
                self.app.is_dirty = true;
                is_typed = true;
            }
            if self.carry_out(&mut screen)? {
                return Ok(());
            }
            let size = screen.size()?;
            if size != fitted {
                screen = terminal::screen()?;
                fitted = size;
            }
            self.app.on_resize(size.width, size.height);
            let rest = drawn.map_or(Duration::ZERO, |drawn| APART.saturating_sub(drawn.elapsed()));
            let mut pause = self.app.next_tick().and_then(|span| u64::try_from(span).ok()).map(Duration::from_millis);
            if self.app.is_dirty && (is_typed || rest.is_zero()) {
                self.app.is_dirty = false;
                let begun = Instant::now();
                screen.draw(|frame| draw(frame, &mut self.app))?;
                tracing::trace!(microseconds = begun.elapsed().as_micros(), "drawn");
                drawn = Some(Instant::now());
                // Drawing may show that something more is to be asked for.
                if self.carry_out(&mut screen)? {
                    return Ok(());
                }
            } else if self.app.is_dirty {
                pause = Some(pause.map_or(rest, |pause| pause.min(rest)));
            }
            if !terminal::sleep(&self.waker, io::stdin().as_fd(), pause)? {
                return Ok(());
            }
        }
    }

    /// Takes in what was typed and clicked. Tells whether anything was.
    fn listen(&mut self) -> Result<bool, Problem> {
        let mut is_typed = false;
        while event::poll(Duration::ZERO)? {
            is_typed = true;
            match event::read()? {
                Event::Key(key) => {
                    failpoint::reach_if_named("board-key");
                    self.app.on_key(&key, now());
                }
                Event::Mouse(mouse) => self.app.on_mouse(&mouse, now()),
                Event::Paste(text) => self.app.on_paste(&text),
                Event::Resize(columns, rows) => self.app.on_resize(columns, rows),
                Event::FocusGained | Event::FocusLost => {}
            }
        }
        Ok(is_typed)
    }

    /// Has done what is to be done. Tells whether the user leaves.
    fn carry_out(&mut self, screen: &mut Screen) -> Result<bool, Problem> {
        for effect in self.app.take_effects() {
            match effect {
                Effect::Do(deed) => self.doer.have_done(deed),
                Effect::Ask(ask) => self.asker.ask(ask),
                Effect::Follow(list) => {
                    self.yard = self.yard.on(list.clone());
                    self.feed = Feed::start(self.yard.clone(), self.teller.clone());
                    self.app.follow(list);
                    self.app.take_effects().into_iter().for_each(|effect| {
                        if let Effect::Ask(ask) = effect {
                            self.asker.ask(ask);
                        }
                    });
                }
                Effect::Edit(tasks) => self.go_outside(Outside::Edit(&tasks), screen)?,
                Effect::Run(words) => self.go_outside(Outside::Command(&words), screen)?,
                Effect::Suspend => suspend(screen)?,
                Effect::Quit => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Gives the terminal to something else until that has ended.
    fn go_outside(&mut self, what: Outside<'_>, screen: &mut Screen) -> Result<(), Problem> {
        terminal::leave();
        let list = self.yard.list_id().clone();
        let ended = allow_blocking(|| {
            let ended = (self.outside)(&list, what);
            if matches!(what, Outside::Command(_)) && ended.is_ok() {
                terminal::wait_for_enter();
            }
            ended
        });
        resume(screen)?;
        self.app.is_dirty = true;
        let answer = match (ended, what) {
            (Ok(()), Outside::Edit(tasks)) => Ok(format!("The editor has closed {}", numbered(tasks))),
            (Ok(()), Outside::Command(words)) => Ok(format!("taskyard {words}")),
            (Err(problem), _) => {
                let report = problem.report();
                Err(Refused { message: report.message.clone(), hint: report.hint.clone() })
            }
        };
        // What was done outside is the newest, and its revisions are not known here.
        self.app.made.clear();
        self.app.on_news(News::Did(Box::new(Did { answer, ..Did::without_changes() })), now());
        Ok(())
    }
}

/// Gives the terminal back and sleeps until the user continues us.
fn suspend(screen: &mut Screen) -> Result<(), Problem> {
    terminal::leave();
    emulate_default_handler(SIGTSTP)?;
    resume(screen)
}

/// Takes the terminal again, and draws all of it anew.
fn resume(screen: &mut Screen) -> Result<(), Problem> {
    terminal::leave();
    // It is ours until the board is left.
    std::mem::forget(terminal::enter()?);
    *screen = terminal::screen()?;
    Ok(())
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
