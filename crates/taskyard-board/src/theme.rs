//! The colours of the board.

use ratatui::style::{Color, Modifier, Style};
use taskyard::core::render::Tone;

/// Which colours to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// The colours of the terminal, which suit its background.
    #[default]
    Terminal,
    /// Our own colours on white.
    Light,
    /// Our own colours on a dark background.
    Dark,
    /// No colours: marks, words and positions convey everything.
    None,
}

impl ThemeChoice {
    /// Parses the value in the configuration.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "terminal" => Some(Self::Terminal),
            "light" => Some(Self::Light),
            "dark" => Some(Self::Dark),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

/// Maps meanings to styles.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    choice: ThemeChoice,
}

/// The colours of a theme: text, background, dim, red, green, yellow, accent, line.
type Palette = [Color; 8];

const LIGHT: Palette = [
    Color::Rgb(0x0f, 0x17, 0x2a),
    Color::Rgb(0xff, 0xff, 0xff),
    Color::Rgb(0x64, 0x74, 0x8b),
    Color::Rgb(0xb9, 0x1c, 0x1c),
    Color::Rgb(0x15, 0x80, 0x3d),
    Color::Rgb(0xb4, 0x53, 0x09),
    Color::Rgb(0x03, 0x69, 0xa1),
    Color::Rgb(0xe2, 0xe8, 0xf0),
];

const DARK: Palette = [
    Color::Rgb(0xe5, 0xe7, 0xeb),
    Color::Rgb(0x0b, 0x11, 0x20),
    Color::Rgb(0x83, 0x91, 0xa7),
    Color::Rgb(0xf8, 0x71, 0x71),
    Color::Rgb(0x4a, 0xde, 0x80),
    Color::Rgb(0xfb, 0xbf, 0x24),
    Color::Rgb(0x38, 0xbd, 0xf8),
    Color::Rgb(0x1f, 0x29, 0x37),
];

/// The colours of members of teams, in the order of [`taskyard::core::COLOURS`].
const MEMBERS: [Color; 8] = [
    Color::Red,
    Color::Blue,
    Color::Green,
    Color::Yellow,
    Color::Magenta,
    Color::Indexed(208),
    Color::Indexed(211),
    Color::Cyan,
];

impl Theme {
    /// Returns the theme of a choice.
    pub const fn of(choice: ThemeChoice) -> Self {
        Self { choice }
    }

    /// Returns the style of the background.
    pub(super) const fn ground(self) -> Style {
        match self.palette() {
            Some([text, ground, ..]) => Style::new().fg(text).bg(ground),
            None => Style::new(),
        }
    }

    /// Returns the style of a meaning.
    pub(super) fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        match tone {
            Tone::Plain => plain,
            Tone::Strong => plain.add_modifier(Modifier::BOLD),
            Tone::Dim => self.dim(),
            Tone::Struck => self.dim().add_modifier(Modifier::CROSSED_OUT),
            Tone::Id | Tone::Hint => self.coloured(6, Color::Cyan),
            Tone::Owner => self.coloured(6, Color::Magenta),
            Tone::Active | Tone::Warning => self.coloured(5, Color::Yellow),
            Tone::Done => self.coloured(4, Color::Green),
            Tone::Blocked => self.coloured(3, Color::Red),
            Tone::Error => self.coloured(3, Color::Red).add_modifier(Modifier::BOLD),
            Tone::Emphasis => plain.add_modifier(Modifier::ITALIC),
            Tone::Link => plain.add_modifier(Modifier::UNDERLINED),
            Tone::Member(_) if self.choice == ThemeChoice::None => plain,
            Tone::Member(place) => plain.fg(MEMBERS[place % MEMBERS.len()]),
        }
    }

    /// Returns the style of dividing lines.
    pub(super) fn hairline(self) -> Style {
        match self.palette() {
            Some([.., line]) => Style::new().fg(line),
            None => self.dim(),
        }
    }

    /// Returns the style to overlay on the item under the cursor. It is visible without colours, and uniform: dim or
    /// coloured parts would leave patches.
    pub(super) const fn cursor(self) -> Style {
        let text = match self.palette() {
            Some([text, ..]) => text,
            None => Color::Reset,
        };
        Style::new().fg(text).add_modifier(Modifier::REVERSED).remove_modifier(Modifier::DIM)
    }

    /// Returns the style to overlay on items that have just changed.
    pub(super) const fn flash(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD).add_modifier(Modifier::UNDERLINED)
    }

    fn dim(self) -> Style {
        match self.palette() {
            Some([_, _, dim, ..]) => Style::new().fg(dim),
            None => Style::new().add_modifier(Modifier::DIM),
        }
    }

    fn coloured(self, place: usize, usual: Color) -> Style {
        match (self.choice, self.palette()) {
            (ThemeChoice::None, _) => Style::new(),
            (_, Some(palette)) => Style::new().fg(palette[place]),
            (_, None) => Style::new().fg(usual),
        }
    }

    const fn palette(self) -> Option<Palette> {
        match self.choice {
            ThemeChoice::Light => Some(LIGHT),
            ThemeChoice::Dark => Some(DARK),
            ThemeChoice::Terminal | ThemeChoice::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;
    use taskyard::core::render::Tone;

    use super::{DARK, LIGHT, Palette, Theme, ThemeChoice};

    fn brightness(colour: Color) -> f64 {
        let Color::Rgb(red, green, blue) = colour else { panic!("{colour:?} is none of ours") };
        let part = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue)
    }

    #[test]
    fn every_text_stands_out_from_its_ground() {
        let check = |palette: &Palette| {
            let ground = brightness(palette[1]);
            for text in [0, 2, 3, 4, 5, 6].map(|place| palette[place]) {
                let (one, two) = (brightness(text), ground);
                let contrast = (one.max(two) + 0.05) / (one.min(two) + 0.05);
                assert!(contrast >= 4.5, "{text:?}: {contrast}");
            }
        };
        check(&LIGHT);
        check(&DARK);
    }

    #[test]
    fn light_and_dark_have_own_colours_and_terminal_keeps_its() {
        let ground = |choice| Theme::of(choice).ground().bg;
        assert_eq!(ground(ThemeChoice::Light), Some(LIGHT[1]));
        assert_eq!(ground(ThemeChoice::Dark), Some(DARK[1]));
        assert_eq!(ground(ThemeChoice::Terminal), None);
    }

    #[test]
    fn without_colours_there_are_none() {
        let theme = Theme::of(ThemeChoice::None);
        for tone in [Tone::Plain, Tone::Dim, Tone::Id, Tone::Active, Tone::Done, Tone::Error, Tone::Member(3)] {
            let style = theme.style(tone);
            assert_eq!((style.fg, style.bg), (None, None), "{tone:?}");
        }
        assert_eq!(theme.ground().bg, None);
    }
}
