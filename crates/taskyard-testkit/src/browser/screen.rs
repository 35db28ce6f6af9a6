//! How large a window is and which colours its reader prefers.

/// A size of window, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// Held in a hand.
    Phone,
    /// On a desk.
    Laptop,
    /// On a wall.
    Wall,
}

/// The colours that a reader prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// What a window shows, as a PNG.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The bytes of the file.
    pub png: Vec<u8>,
}

impl Screen {
    /// Returns all of them.
    pub const ALL: [Self; 3] = [Self::Phone, Self::Laptop, Self::Wall];

    /// Returns its width and height.
    pub const fn size(self) -> (u32, u32) {
        match self {
            Self::Phone => (390, 844),
            Self::Laptop => (1440, 900),
            Self::Wall => (2560, 1440),
        }
    }

    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Phone => "phone",
            Self::Laptop => "laptop",
            Self::Wall => "wall",
        }
    }
}

impl Scheme {
    /// Returns all of them.
    pub const ALL: [Self; 2] = [Self::Light, Self::Dark];

    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

impl Picture {
    /// Returns its width and height, as its header has them.
    pub fn size(&self) -> (u32, u32) {
        let number = |at: usize| u32::from_be_bytes(self.png[at..at + 4].try_into().unwrap());
        (number(16), number(20))
    }
}
