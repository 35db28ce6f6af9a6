//! Compression of images: as a difference from an earlier image, or as a whole. Unpacking reproduces the image
//! exactly.
//!
//! The format is specified in `docs/formats/journal.md`. Corruption is not detected here; whoever stores packed
//! images keeps a checksum of them.

use lz4_flex::block::{compress, compress_with_dict, decompress, decompress_with_dict};

/// The first byte of a packed image: what the rest is.
const WHOLE: u8 = b'w';
const DIFFERENCE: u8 = b'd';
/// The byte before the new part of a difference: how it is written.
const PLAIN: u8 = b'p';
const COMPRESSED: u8 = b'c';
/// No compressed byte stands for more bytes than this.
const LARGEST_RATIO: usize = 255;

/// Why a packed image cannot be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unpackable {
    /// It is truncated or invalid.
    #[error("the packed image is malformed")]
    Malformed,
    /// It is a difference, and its base image is missing.
    #[error("the image that it was packed against is missing")]
    NoBase,
}

/// Packs a whole image. Returns `None` if that does not make it smaller.
pub fn pack_whole(image: &[u8]) -> Option<Vec<u8>> {
    let mut packed = vec![WHOLE];
    push_number(&mut packed, image.len());
    packed.extend(compress(image));
    (packed.len() < image.len()).then_some(packed)
}

/// Packs an image as a difference from an earlier one. Returns `None` if that does not save at least half.
pub fn pack_difference(image: &[u8], base: &[u8]) -> Option<Vec<u8>> {
    let same_before = base.iter().zip(image).take_while(|(one, two)| one == two).count();
    let (base_rest, image_rest) = (&base[same_before..], &image[same_before..]);
    let same_after = base_rest.iter().rev().zip(image_rest.iter().rev()).take_while(|(one, two)| one == two).count();
    let old = &base_rest[..base_rest.len() - same_after];
    let new = &image_rest[..image_rest.len() - same_after];
    let mut packed = vec![DIFFERENCE];
    push_number(&mut packed, same_before);
    push_number(&mut packed, same_after);
    push_number(&mut packed, new.len());
    let compressed = compress_with_dict(new, old);
    if compressed.len() < new.len() {
        packed.push(COMPRESSED);
        packed.extend(compressed);
    } else {
        packed.push(PLAIN);
        packed.extend_from_slice(new);
    }
    (packed.len() * 2 < image.len()).then_some(packed)
}

/// Returns whether a packed image can only be unpacked with its base image.
pub fn needs_base(packed: &[u8]) -> bool {
    packed.first() == Some(&DIFFERENCE)
}

/// Unpacks an image.
pub fn unpack(packed: &[u8], base: Option<&[u8]>) -> Result<Vec<u8>, Unpackable> {
    let mut rest = packed;
    match take_byte(&mut rest)? {
        WHOLE => {
            let length = believable(take_number(&mut rest)?, rest)?;
            let image = decompress(rest, length).map_err(|_| Unpackable::Malformed)?;
            if image.len() == length { Ok(image) } else { Err(Unpackable::Malformed) }
        }
        DIFFERENCE => {
            let base = base.ok_or(Unpackable::NoBase)?;
            let (before, after) = (take_number(&mut rest)?, take_number(&mut rest)?);
            let length = take_number(&mut rest)?;
            let kind = take_byte(&mut rest)?;
            let end = base.len().checked_sub(after).filter(|end| *end >= before).ok_or(Unpackable::Malformed)?;
            let new = match kind {
                PLAIN => rest.to_vec(),
                COMPRESSED => decompress_with_dict(rest, believable(length, rest)?, &base[before..end])
                    .map_err(|_| Unpackable::Malformed)?,
                _ => return Err(Unpackable::Malformed),
            };
            if new.len() != length {
                return Err(Unpackable::Malformed);
            }
            Ok([&base[..before], &new, &base[end..]].concat())
        }
        _ => Err(Unpackable::Malformed),
    }
}

/// Rejects a length that the compressed bytes cannot represent, because memory is allocated by it.
fn believable(length: usize, compressed: &[u8]) -> Result<usize, Unpackable> {
    let most = compressed.len().saturating_mul(LARGEST_RATIO).saturating_add(LARGEST_RATIO);
    if length <= most { Ok(length) } else { Err(Unpackable::Malformed) }
}

/// Appends a number in groups of seven bits, lowest first; the high bit of a byte means that more follow.
fn push_number(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let group = u8::try_from(number & 0x7f).unwrap_or(0);
        number >>= 7;
        if number == 0 {
            return bytes.push(group);
        }
        bytes.push(group | 0x80);
    }
}

fn take_number(rest: &mut &[u8]) -> Result<usize, Unpackable> {
    let mut number = 0_usize;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = take_byte(rest)?;
        let group = usize::from(byte & 0x7f);
        let shifted = group.checked_shl(shift).filter(|shifted| shifted >> shift == group);
        number |= shifted.ok_or(Unpackable::Malformed)?;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Unpackable::Malformed)
}

fn take_byte(rest: &mut &[u8]) -> Result<u8, Unpackable> {
    let (first, after) = rest.split_first().ok_or(Unpackable::Malformed)?;
    *rest = after;
    Ok(*first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Unpackable, needs_base, pack_difference, pack_whole, unpack};

    fn described(length: usize) -> String {
        let words = (0..length / 8).map(|number| format!("{:07x} ", number * 2_654_435_761 % 0xfff_ffff));
        format!("{{\"subject\": \"a\", \"description\": \"{}\", \"status\": \"pending\"}}", words.collect::<String>())
    }

    #[test]
    fn one_changed_word_of_a_long_task_costs_a_few_bytes() {
        let before = described(10_000);
        let after = before.replace("pending", "in_progress");
        let packed = pack_difference(after.as_bytes(), before.as_bytes()).unwrap();
        assert!(packed.len() < 24, "{}", packed.len());
        assert_eq!(unpack(&packed, Some(before.as_bytes())).unwrap(), after.as_bytes());
    }

    #[test]
    fn changes_at_both_ends_of_long_task_are_cheap() {
        let before = described(10_000);
        let after = before.replace("\"a\"", "\"b\"").replace("pending", "completed");
        let packed = pack_difference(after.as_bytes(), before.as_bytes()).unwrap();
        assert!(packed.len() < 200, "{}", packed.len());
        assert_eq!(unpack(&packed, Some(before.as_bytes())).unwrap(), after.as_bytes());
    }

    #[test]
    fn what_does_not_get_shorter_is_not_packed() {
        assert_eq!(pack_whole(b"{}"), None);
        assert_eq!(pack_difference(b"all of it is new", b""), None);
    }

    #[test]
    fn a_difference_needs_what_it_differs_from() {
        let before = described(1_000);
        let packed = pack_difference(before.replace("pending", "x").as_bytes(), before.as_bytes()).unwrap();
        assert!(needs_base(&packed) && !needs_base(&pack_whole(before.repeat(2).as_bytes()).unwrap()));
        assert_eq!(unpack(&packed, None), Err(Unpackable::NoBase));
        assert_eq!(unpack(&packed, Some(b"short")), Err(Unpackable::Malformed));
    }

    #[test]
    fn a_length_that_cannot_be_asks_for_no_memory() {
        let packed = [b'w', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0];
        assert_eq!(unpack(&packed, None), Err(Unpackable::Malformed));
    }

    proptest! {
        #[test]
        fn every_image_comes_back(parts in prop::collection::vec(".{0,40}", 0..12), changed in 0..12_usize, new in ".{0,60}", repeated in 1..40_usize) {
            let before = parts.concat().repeat(repeated);
            let mut parts = parts;
            if let Some(part) = parts.get_mut(changed) {
                *part = new;
            }
            let after = parts.concat().repeat(repeated);
            if let Some(packed) = pack_difference(after.as_bytes(), before.as_bytes()) {
                prop_assert_eq!(unpack(&packed, Some(before.as_bytes())).unwrap(), after.as_bytes());
            }
            if let Some(packed) = pack_whole(after.as_bytes()) {
                prop_assert_eq!(unpack(&packed, None).unwrap(), after.as_bytes());
            }
        }

        #[test]
        fn whatever_is_unpacked_nothing_panics(packed in prop::collection::vec(any::<u8>(), 0..60), kind in prop::sample::select(vec![b'w', b'd']), base in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = unpack(&packed, Some(&base));
            let _ = unpack(&[&[kind], &packed[..]].concat(), Some(&base));
        }
    }
}
