//! Keeping the terminal from writing `^C` where lines are redrawn.

/// While this lives, the terminal does not write `^C` for a Ctrl-C. The cursor stands at the end of a line that is redrawn, so what
/// it writes there begins a new line, and the old one would never be taken away.
#[derive(Debug)]
pub(crate) struct QuietControlKeys {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl QuietControlKeys {
    /// Quietens the terminal that stdin is, where it is one.
    pub(crate) fn on_stdin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

        let stdin = rustix::stdio::stdin();
        let quieten = |before: rustix::termios::Termios| {
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHOCTL);
            tcsetattr(stdin, OptionalActions::Now, &quiet).is_ok().then_some(before)
        };
        Self { before: tcgetattr(stdin).ok().and_then(quieten) }
    }
}

#[cfg(unix)]
impl Drop for QuietControlKeys {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};

        if let Some(before) = &self.before {
            // A terminal that is gone needs no tidying.
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before);
        }
    }
}

#[cfg(not(unix))]
impl QuietControlKeys {
    /// Does nothing: other systems write nothing for a Ctrl-C.
    pub(crate) fn on_stdin() -> Self {
        Self {}
    }
}
