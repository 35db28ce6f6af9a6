//! The main loop: reading input, drawing and sleeping, until the user leaves.

use std::io;
use std::os::fd::AsFd as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ratatui::crossterm::event;
use ratatui::crossterm::event::Event;
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};
use signal_hook::low_level::{emulate_default_handler, pipe};
use taskyard::core::problem::Problem;
use taskyard::core::render::numbered;
use taskyard::core::{ListId, TaskId, Timestamp};
use taskyard::operations::Claim;
use taskyard::process::Waker;
use taskyard::system::{allow_blocking, forbid_blocking};
use taskyard::{Yard, failpoint};
use taskyard_jobs::notify::Notifier;
use taskyard_jobs::{Jobs, processes};

use super::app::{App, Effect, Settings, View};
use super::draw::draw;
use super::feed::Feed;
use super::messages::{Answer, AppEvent, EventSender, Refused};
use super::pane::PaneCommand;
use super::reading::{ReadThread, Reader, TodoSources};
use super::terminal;
use super::terminal::Screen;
use super::writing::{WriteThread, Writer, refused};

/// The minimum time between two frames while only events arrive; a key is answered at once.
const APART: Duration = Duration::from_millis(30);

/// How many events are applied before the keyboard is read again.
const NEWS: usize = 64;

/// Returns the process for a command that was typed for a list; `None` if the command needs the terminal for itself.
pub(crate) type TypedCommands<'a> = &'a dyn Fn(&ListId, &str) -> Result<Option<Command>, Problem>;

/// What a board needs to run.
pub struct Opening<'a> {
    /// The store, the initial list and the acting agent.
    pub yard: Yard,
    /// The jobs; `None` if there is no data directory for them.
    pub jobs: Option<Jobs>,
    /// The terms of claims.
    pub claim: Claim,
    /// The appearance and the key bindings.
    pub settings: Settings,
    /// The stores of todo lists.
    pub todos: Option<TodoSources>,
    /// Shows desktop notices for what needs the user; `None` if they are disabled.
    pub notifier: Option<Notifier>,
    /// Returns the process for a typed command; `None` if the command needs the terminal for itself.
    pub command: TypedCommands<'a>,
    /// Runs something that needs the terminal for itself.
    pub external: &'a mut dyn FnMut(&ListId, External<'_>) -> Result<(), Problem>,
}

/// Something that needs the terminal for itself.
#[derive(Clone, Copy, Debug)]
pub enum External<'a> {
    /// The user edits tasks in an editor.
    Edit(&'a [TaskId]),
    /// A `taskyard` command with these arguments.
    Command(&'a str),
}

/// Shows the board until the user leaves it.
pub fn run(opening: Opening<'_>) -> Result<(), Problem> {
    let waker = Waker::new()?;
    let (sender, news) = channel();
    let events = EventSender::new(sender, waker.clone());
    let Opening { yard, jobs, claim, settings, todos, command, notifier, external } = opening;
    let (zone, working_day) = (settings.zone, settings.working_day);
    let app = App::new(settings, yard.actor().clone(), yard.list_id().clone(), View::List, now());
    let signals_received = Signals::listen(&waker)?;
    let mut board = Board {
        reads: ReadThread::start(Reader { yard: yard.clone(), jobs: jobs.clone(), todos }, events.clone()),
        writes: WriteThread::start(Writer { yard: yard.clone(), jobs, claim, zone, working_day }, events.clone()),
        feed: Feed::start(yard.clone(), events.clone()),
        app,
        yard,
        events,
        news,
        waker,
        signals_received,
        command,
        pane: None,
        notifier,
        external,
    };
    let entered = terminal::enter()?;
    let forbidden = forbid_blocking();
    let ended = board.show();
    drop(forbidden);
    drop(entered);
    let Board { writes, feed, .. } = board;
    drop(feed);
    writes.finish();
    ended
}

/// The signals that concern the screen.
struct Signals {
    is_suspended: Arc<AtomicBool>,
    is_continued: Arc<AtomicBool>,
}

impl Signals {
    fn listen(waker: &Waker) -> io::Result<Self> {
        let (is_suspended, is_continued): (Arc<AtomicBool>, Arc<AtomicBool>) = Default::default();
        signal_hook::flag::register(SIGTSTP, Arc::clone(&is_suspended))?;
        signal_hook::flag::register(SIGCONT, Arc::clone(&is_continued))?;
        for signal in [SIGTSTP, SIGCONT, SIGWINCH] {
            pipe::register(signal, waker.writer()?)?;
        }
        let waker = waker.clone();
        processes::tell_when_stopped(move || waker.wake());
        Ok(Self { is_suspended, is_continued })
    }
}

struct Board<'a> {
    app: App,
    yard: Yard,
    events: EventSender,
    news: Receiver<AppEvent>,
    waker: Waker,
    reads: ReadThread,
    writes: WriteThread,
    feed: Feed,
    signals_received: Signals,
    command: TypedCommands<'a>,
    pane: Option<PaneCommand>,
    notifier: Option<Notifier>,
    external: &'a mut dyn FnMut(&ListId, External<'_>) -> Result<(), Problem>,
}

impl Board<'_> {
    /// Runs the main loop until the user leaves or the terminal is gone.
    fn show(&mut self) -> Result<(), Problem> {
        let shown = self.show_while_there();
        // An error on a terminal that is gone is a consequence of that.
        match terminal::sleep(&self.waker, io::stdin().as_fd(), Some(Duration::ZERO)) {
            Ok(true) => shown,
            Ok(false) | Err(_) => {
                processes::note_hangup();
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
                self.app.on_event(news, now());
            }
            self.app.on_tick(now());
            if processes::was_stopped() {
                return Ok(());
            }
            if self.signals_received.is_suspended.swap(false, Ordering::SeqCst) {
                suspend(&mut screen)?;
                is_typed = true;
            }
            if self.signals_received.is_continued.swap(false, Ordering::SeqCst) {
                // The program that had the terminal in the meantime may have changed its settings.
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
                // Drawing may have requested more data.
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

    /// Handles pending keyboard and mouse input. Returns whether there was any.
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

    /// Carries out pending effects. Returns whether the user leaves.
    fn carry_out(&mut self, screen: &mut Screen) -> Result<bool, Problem> {
        for effect in self.app.take_effects() {
            match effect {
                Effect::Write(deed) => self.writes.submit(deed),
                Effect::Read(ask) => self.reads.request(ask),
                Effect::Follow(list) => {
                    self.yard = self.yard.on(list.clone());
                    self.feed = Feed::start(self.yard.clone(), self.events.clone());
                    self.app.follow(list);
                    self.app.take_effects().into_iter().for_each(|effect| {
                        if let Effect::Read(ask) = effect {
                            self.reads.request(ask);
                        }
                    });
                }
                Effect::Edit(tasks) => self.run_external(External::Edit(&tasks), screen)?,
                Effect::Run(words) => self.run_command(words, screen)?,
                Effect::StopCommand => self.pane = None,
                Effect::Notify { kind, title, text } => {
                    self.notifier.iter().for_each(|notifier| notifier.notify(kind, &title, &text));
                }
                Effect::Suspend => suspend(screen)?,
                Effect::Quit => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Runs a typed command in the pane, or with the whole terminal if it needs that.
    fn run_command(&mut self, words: String, screen: &mut Screen) -> Result<(), Problem> {
        let list = self.yard.list_id().clone();
        let started = allow_blocking(|| {
            let Some(command) = (self.command)(&list, &words)? else { return Ok(None) };
            Ok(Some(PaneCommand::start(command, self.events.clone())?))
        });
        match started {
            Ok(None) => return self.run_external(External::Command(&words), screen),
            Ok(Some(pane)) => {
                self.pane = Some(pane);
                self.app.open_pane(words);
            }
            Err(problem) => self.app.on_event(AppEvent::Answered(Box::new(refused(&problem))), now()),
        }
        Ok(())
    }

    /// Hands the terminal over to something else until that has ended.
    fn run_external(&mut self, what: External<'_>, screen: &mut Screen) -> Result<(), Problem> {
        terminal::leave();
        let list = self.yard.list_id().clone();
        let ended = allow_blocking(|| {
            let ended = (self.external)(&list, what);
            if matches!(what, External::Command(_)) && ended.is_ok() {
                terminal::wait_for_enter();
            }
            ended
        });
        resume(screen)?;
        self.app.is_dirty = true;
        let answer = match (ended, what) {
            (Ok(()), External::Edit(tasks)) => Ok(format!("The editor has closed {}", numbered(tasks))),
            (Ok(()), External::Command(words)) => Ok(format!("taskyard {words}")),
            (Err(problem), _) => {
                let report = problem.report();
                Err(Refused { code: report.code, message: report.message.clone(), hint: report.hint.clone() })
            }
        };
        // That made the newest changes, whose revisions are not known here.
        self.app.made.clear();
        self.app.on_event(AppEvent::Answered(Box::new(Answer { answer, ..Answer::without_changes() })), now());
        Ok(())
    }
}

/// Releases the terminal and stops the process until the user continues it.
fn suspend(screen: &mut Screen) -> Result<(), Problem> {
    terminal::leave();
    emulate_default_handler(SIGTSTP)?;
    resume(screen)
}

/// Takes the terminal again and redraws everything.
fn resume(screen: &mut Screen) -> Result<(), Problem> {
    terminal::leave();
    // The guard is not needed: the terminal is restored when the board is left.
    std::mem::forget(terminal::enter()?);
    *screen = terminal::screen()?;
    Ok(())
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
