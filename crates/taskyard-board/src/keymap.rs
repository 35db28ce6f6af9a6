//! Key bindings.

use std::collections::HashMap;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use taskyard::core::view::{Action, actions};

/// The key bindings, with keys in their written form: `d`, `ctrl-r`, `pagedown`.
#[derive(Clone, Debug)]
pub struct Keymap {
    by_key: HashMap<String, Action>,
    by_action: HashMap<Action, Vec<String>>,
}

impl Keymap {
    /// Returns the default bindings, with other keys for the actions in `chosen`. Fails with a message if a binding is
    /// invalid.
    pub fn with<'a>(chosen: impl IntoIterator<Item = (&'a String, &'a Vec<String>)>) -> Result<Self, String> {
        let usual = actions().iter().map(|info| {
            let keys = info.keys.iter().map(|key| (*key).to_owned()).collect();
            (info.action, keys)
        });
        let mut by_action: HashMap<Action, Vec<String>> = usual.collect();
        let mut taken: HashMap<String, &str> = HashMap::new();
        for (name, keys) in chosen {
            let Some(info) = actions().iter().find(|info| info.name == name) else {
                return Err(format!("unknown board action `{name}`; press `?` in the board for a list"));
            };
            if let Some(bad) = keys.iter().find(|key| !is_key(key)) {
                return Err(format!(
                    "invalid key `{bad}`: write `d`, `D`, `ctrl-d`, `alt-d`, `f5`, `enter`, `pagedown`"
                ));
            }
            if let Some((key, other)) = keys.iter().find_map(|key| Some((key, taken.insert(key.clone(), info.name)?))) {
                return Err(format!("the key `{key}` cannot do both `{other}` and `{name}`"));
            }
            by_action.insert(info.action, keys.clone());
        }
        // A key that the user chose is removed from its default action.
        for info in actions() {
            if let Some(keys) = by_action.get_mut(&info.action) {
                keys.retain(|key| taken.get(key).is_none_or(|name| *name == info.name));
            }
        }
        let by_key =
            by_action.iter().flat_map(|(action, keys)| keys.iter().map(|key| (key.clone(), *action))).collect();
        Ok(Self { by_key, by_action })
    }

    /// Returns the action of a key.
    pub(crate) fn action(&self, key: &KeyEvent) -> Option<Action> {
        self.by_key.get(&name_of(key)?).copied()
    }

    /// Returns the first key of an action in its written form; `None` if it has no key.
    pub(crate) fn key(&self, action: Action) -> Option<&str> {
        self.by_action.get(&action)?.first().map(String::as_str)
    }

    /// Returns all keys of an action.
    pub(crate) fn keys(&self, action: Action) -> &[String] {
        self.by_action.get(&action).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The named keys.
const NAMED: [(&str, KeyCode); 16] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("space", KeyCode::Char(' ')),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
];

/// Returns the written form of a key; `None` if it has none.
pub(crate) fn name_of(key: &KeyEvent) -> Option<String> {
    let base = match key.code {
        KeyCode::F(number) => format!("f{number}"),
        code => match NAMED.iter().find(|(_, named)| *named == code) {
            Some((name, _)) => (*name).to_owned(),
            None => match code {
                KeyCode::Char(letter) => letter.to_string(),
                _ => return None,
            },
        },
    };
    let mut name = String::new();
    for (modifier, word) in [(KeyModifiers::CONTROL, "ctrl-"), (KeyModifiers::ALT, "alt-")] {
        if key.modifiers.contains(modifier) {
            name.push_str(word);
        }
    }
    name.push_str(&base);
    Some(name)
}

/// Returns whether a text is the written form of a key.
fn is_key(text: &str) -> bool {
    let text = text.strip_prefix("ctrl-").unwrap_or(text);
    let text = text.strip_prefix("alt-").unwrap_or(text);
    let is_function =
        text.strip_prefix('f').and_then(|number| number.parse().ok()).is_some_and(|key: u8| (1..=24).contains(&key));
    is_function || NAMED.iter().any(|(name, _)| *name == text) || text.chars().count() == 1
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use taskyard::core::view::Action;

    use super::Keymap;

    fn with(chosen: &[(&str, &[&str])]) -> Result<Keymap, String> {
        let chosen: Vec<(String, Vec<String>)> = chosen
            .iter()
            .map(|(name, keys)| ((*name).to_owned(), keys.iter().map(|key| (*key).to_owned()).collect()))
            .collect();
        Keymap::with(chosen.iter().map(|(name, keys)| (name, keys)))
    }

    fn key(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    #[test]
    fn the_usual_keys_do_the_usual_things() {
        let keys = with(&[]).unwrap();
        assert_eq!(keys.action(&key(KeyCode::Char('d'), KeyModifiers::NONE)), Some(Action::Done));
        assert_eq!(keys.action(&key(KeyCode::Char('C'), KeyModifiers::SHIFT)), Some(Action::Cancel));
        assert_eq!(keys.action(&key(KeyCode::Char('r'), KeyModifiers::CONTROL)), Some(Action::Redo));
        assert_eq!(keys.action(&key(KeyCode::PageDown, KeyModifiers::NONE)), Some(Action::PageDown));
        assert_eq!(keys.key(Action::Quit), Some("q"));
        for (letter, arrow, action) in [
            ('j', KeyCode::Down, Action::Down),
            ('k', KeyCode::Up, Action::Up),
            ('h', KeyCode::Left, Action::Left),
            ('l', KeyCode::Right, Action::Right),
        ] {
            assert_eq!(keys.action(&key(KeyCode::Char(letter), KeyModifiers::NONE)), Some(action));
            assert_eq!(keys.action(&key(arrow, KeyModifiers::NONE)), Some(action));
        }
    }

    #[test]
    fn rebound_key_replaces_the_default() {
        let keys = with(&[("done", &["f5", "s"])]).unwrap();
        assert_eq!(keys.action(&key(KeyCode::Char('s'), KeyModifiers::NONE)), Some(Action::Done));
        assert_eq!(keys.action(&key(KeyCode::F(5), KeyModifiers::NONE)), Some(Action::Done));
        assert_eq!(keys.action(&key(KeyCode::Char('d'), KeyModifiers::NONE)), None);
        assert_eq!(keys.key(Action::Start), None);
    }

    #[test]
    fn what_makes_no_sense_is_told_in_words() {
        assert!(with(&[("dance", &["d"])]).unwrap_err().contains("unknown board action `dance`"));
        assert!(with(&[("done", &["hyper-d"])]).unwrap_err().contains("invalid key `hyper-d`"));
        assert!(with(&[("done", &["y"]), ("start", &["y"])]).unwrap_err().contains("cannot do both"));
    }
}
