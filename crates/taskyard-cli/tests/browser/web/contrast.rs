//! The colours of the pages can be told apart, by day and by night.

use std::collections::HashMap;

const STYLE: &str = include_str!("../../../../taskyard-server/src/web/assets/board.css");

/// The red, green and blue of a colour.
type Rgb = [f64; 3];

/// Reads `--name: light-dark(#aabbcc, #ddeeff);`.
fn palette() -> HashMap<&'static str, [Rgb; 2]> {
    let lines = STYLE.lines().filter_map(|line| line.trim().strip_prefix("--")?.strip_suffix(");"));
    let pairs = lines.filter_map(|line| line.split_once(": light-dark("));
    let read = |(name, colours): (&'static str, &'static str)| {
        let (light, dark) = colours.split_once(", ").unwrap();
        (name, [light, dark].map(colour))
    };
    pairs.map(read).collect()
}

fn colour(text: &str) -> Rgb {
    let digits = text.strip_prefix('#').unwrap();
    [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&digits[at..at + 2], 16).unwrap()) / 255.0)
}

/// Returns how far two colours are apart, as the guidelines for accessibility compute it.
fn contrast(one: Rgb, two: Rgb) -> f64 {
    let luminance = |colour: Rgb| {
        let linear = colour.map(|part| if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    };
    let (one, two) = (luminance(one), luminance(two));
    (one.max(two) + 0.05) / (one.min(two) + 0.05)
}

/// Everything that is written in, on what it is written.
const TEXTS: [&str; 17] = [
    "text",
    "dim",
    "pending",
    "blocked",
    "active",
    "done",
    "cancelled",
    "alarm",
    "accent",
    "red",
    "blue",
    "green",
    "yellow",
    "purple",
    "orange",
    "pink",
    "cyan",
];

#[test]
fn every_text_can_be_read_on_everything_it_stands_on() {
    let palette = palette();
    assert!(palette.len() >= 20, "the palette is read: {palette:?}");
    let mut pairs: Vec<(&str, &str)> = TEXTS.iter().flat_map(|text| [(*text, "back"), (*text, "raised")]).collect();
    pairs.extend([("on-accent", "accent"), ("back", "text"), ("back", "alarm")]);
    for (text, ground) in pairs {
        for (place, theme) in ["light", "dark"].iter().enumerate() {
            let found = contrast(palette[text][place], palette[ground][place]);
            assert!(found >= 4.5, "--{text} on --{ground}, {theme}: {found:.2} is less than 4.5");
        }
    }
}

#[test]
fn marks_that_glow_can_still_be_read() {
    let palette = palette();
    for text in ["text", "active", "done", "alarm"] {
        for (text_colour, glow) in palette[text].iter().zip(&palette["glow"]) {
            let found = contrast(*text_colour, *glow);
            assert!(found >= 3.0, "--{text} on --glow: {found:.2} is less than 3");
        }
    }
}

#[test]
fn contrast_is_computed_as_others_compute_it() {
    let [white, black, grey] = ["#ffffff", "#000000", "#767676"].map(colour);
    assert!((contrast(white, black) - 21.0).abs() < 0.001);
    assert!((contrast(white, grey) - 4.54).abs() < 0.01);
}
