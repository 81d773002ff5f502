//! How many tokens a picture comes to, by its size, as the providers publish it:
//! [OpenAI](https://platform.openai.com/docs/guides/images-vision#calculating-costs),
//! [Anthropic](https://platform.claude.com/docs/en/build-with-claude/vision#calculate-image-costs),
//! [Google](https://ai.google.dev/gemini-api/docs/tokens#multimodal-tokens).

/// Pixels of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureSize {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// How closely a model is to look at a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// At a small copy of it.
    Low,
    /// Less closely than it could.
    Medium,
    /// As closely as it does where nobody says anything.
    #[default]
    High,
    /// At all of it.
    Original,
}

/// What pictures come to for a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PictureRule {
    /// OpenAI's by squares of 512 pixels: so many tokens for the picture, and for each square.
    Squares {
        /// Those of the picture.
        base: u64,
        /// Those of each square.
        square: u64,
    },
    /// OpenAI's by patches of 32 pixels.
    Patches {
        /// The most patches.
        most: u64,
        /// Tokens of a hundred of them.
        percent: u64,
    },
    /// Anthropic's by area.
    Area {
        /// The longest edge; larger pictures are made smaller.
        edge: u32,
        /// The most tokens.
        most: u64,
    },
    /// Google's by tiles of 768 pixels.
    Tiles,
    /// Google's since Gemini 3: the same for every picture.
    Fixed,
    /// Not known: an estimate by area.
    #[default]
    Unknown,
}

use PictureRule::{Area, Fixed, Patches, Squares, Tiles};

/// Models whose names begin so; the longest that fits counts.
const RULES: &[(&str, PictureRule)] = &[
    ("chatgpt-4o", Squares { base: 85, square: 170 }),
    ("computer-use-preview", Squares { base: 65, square: 129 }),
    ("gpt-4", Squares { base: 85, square: 170 }),
    ("gpt-4.1-mini", Patches { most: 1536, percent: 162 }),
    ("gpt-4.1-nano", Patches { most: 1536, percent: 246 }),
    ("gpt-4o-mini", Squares { base: 2833, square: 5667 }),
    ("gpt-5", Squares { base: 70, square: 140 }),
    ("gpt-5-mini", Patches { most: 1536, percent: 162 }),
    ("gpt-5-nano", Patches { most: 1536, percent: 246 }),
    ("o1", Squares { base: 75, square: 150 }),
    ("o3", Squares { base: 75, square: 150 }),
    ("o4-mini", Patches { most: 1536, percent: 172 }),
    ("claude-", Area { edge: 1568, most: 1600 }),
    ("claude-fable-", Area { edge: 2576, most: 4784 }),
    ("claude-opus-4-7", Area { edge: 2576, most: 4784 }),
    ("claude-opus-4-8", Area { edge: 2576, most: 4784 }),
    ("claude-opus-5", Area { edge: 2576, most: 4784 }),
    ("claude-sonnet-5", Area { edge: 2576, most: 4784 }),
    // Later ones of OpenAI have rules of their own.
    ("gpt-5.", PictureRule::Unknown),
    ("gemini-", Tiles),
    ("gemini-3", Fixed),
];

/// A picture of which only an address is known: of a common size.
const COMMON: PictureSize = PictureSize { width: 1024, height: 1024 };

impl PictureSize {
    /// Reads the size of a PNG, JPEG, GIF or WebP from its first bytes; `None` where they do not say.
    pub fn of(head: &[u8]) -> Option<Self> {
        let size = imagesize::blob_size(head).ok()?;
        let (width, height) = (u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?);
        (width > 0 && height > 0).then_some(PictureSize { width, height })
    }

    fn edges(self) -> (f64, f64) {
        (f64::from(self.width), f64::from(self.height))
    }

    /// How many squares of an edge cover it.
    fn squares(self, edge: u32) -> u64 {
        u64::from(self.width.div_ceil(edge)) * u64::from(self.height.div_ceil(edge))
    }

    /// The same picture with whole pixels, no longer and no wider on its short side than this.
    fn within(self, longest: u32, shortest: u32) -> Self {
        let by = |size: PictureSize, scale: f64| match scale < 1.0 {
            true => size.scaled(scale),
            false => size,
        };
        let fits = by(self, f64::from(longest) / f64::from(self.width.max(self.height)));
        by(fits, f64::from(shortest) / f64::from(fits.width.min(fits.height)))
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it becomes smaller")]
    fn scaled(self, by: f64) -> Self {
        let edge = |pixels: u32| (f64::from(pixels) * by).round().max(1.0) as u32;
        PictureSize { width: edge(self.width), height: edge(self.height) }
    }
}

impl Detail {
    /// Returns what a request's word for it means: `low`, `MEDIA_RESOLUTION_MEDIUM`.
    pub fn named(word: &str) -> Self {
        let word = word.to_ascii_lowercase();
        match word.rsplit('_').next().unwrap_or_default() {
            "low" => Detail::Low,
            "medium" => Detail::Medium,
            "original" => Detail::Original,
            _ => Detail::High,
        }
    }
}

impl PictureRule {
    pub(crate) fn of_model(model: &str) -> Option<Self> {
        let fits = RULES.iter().filter(|(begin, _)| model.starts_with(begin));
        fits.max_by_key(|(begin, _)| begin.len()).map(|(_, rule)| *rule)
    }

    /// Returns how many tokens a picture comes to, and whether that is an estimate: its size is not known
    /// and matters, or the rule is not.
    pub fn count(self, size: Option<PictureSize>, detail: Detail) -> (u64, bool) {
        let by_size = |count: &dyn Fn(PictureSize) -> u64| (count(size.unwrap_or(COMMON)), size.is_none());
        match (self, detail) {
            (Squares { base, .. }, Detail::Low) => (base, false),
            (Squares { base, square }, _) => {
                by_size(&|size| base + square * size.within(2048, 768).squares(512))
            }
            (Patches { most, percent }, _) => {
                let most = if detail == Detail::Low { 256 } else { most };
                by_size(&|size| (patches(size, most) * percent).div_ceil(100))
            }
            (Area { edge, most }, _) => by_size(&|size| area(size.within(edge, edge)).min(most)),
            (Tiles, Detail::Low) => (64, false),
            (Tiles, _) => by_size(&|size| 258 * tiles(size)),
            (Fixed, Detail::Low) => (280, false),
            (Fixed, Detail::Medium) => (560, false),
            (Fixed, _) => (1120, false),
            (PictureRule::Unknown, _) => (by_size(&|size| area(size.within(1568, 1568)).min(1600)).0, true),
        }
    }
}

/// What is no part of a patch but of a calculation.
const ROUNDING: f64 = 1e-9;

/// The patches of 32 pixels that cover it, once it is made so small that they are no more than this.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "few"
)]
fn patches(size: PictureSize, most: u64) -> u64 {
    if size.squares(32) <= most {
        return size.squares(32);
    }
    let (width, height) = size.edges();
    let shrink = (32.0 * 32.0 * most as f64 / (width * height)).sqrt();
    let (across, down) = (width * shrink / 32.0, height * shrink / 32.0);
    // Scaled once more, so that one side is whole patches.
    let floor = |patches: f64| (patches + ROUNDING).floor();
    let again = (floor(across) / across).min(floor(down) / down);
    let ceil = |patches: f64| (patches * again - ROUNDING).ceil().max(1.0) as u64;
    (ceil(across) * ceil(down)).min(most)
}

/// A token for 750 pixels.
fn area(size: PictureSize) -> u64 {
    (u64::from(size.width) * u64::from(size.height)).div_ceil(750)
}

/// One for a picture that is small both ways.
fn tiles(size: PictureSize) -> u64 {
    if size.width.max(size.height) <= 384 { 1 } else { size.squares(768) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(width: u32, height: u32) -> Option<PictureSize> {
        Some(PictureSize { width, height })
    }

    fn count(model: &str, width: u32, height: u32, detail: Detail) -> u64 {
        let (tokens, is_estimate) = PictureRule::of_model(model).unwrap().count(size(width, height), detail);
        assert!(!is_estimate, "{model}");
        tokens
    }

    /// Figures of the providers' own examples, and of bills that people published.
    // S0-81
    #[test]
    fn pictures_come_to_what_the_providers_say() {
        for (model, width, height, tokens) in [
            ("gpt-4o", 1024, 1024, 765),
            ("gpt-4o", 2048, 4096, 1105),
            ("gpt-4o", 200, 170, 255),
            ("gpt-4.1", 2049, 513, 1445),
            ("gpt-4.1", 2050, 513, 765),
            ("gpt-4.1-mini", 1024, 1024, 1659),
            ("gpt-4.1-mini", 1800, 2400, 2353),
            ("gpt-5-nano", 32, 32, 3),
            ("o4-mini-2025-04-16", 33, 32, 4),
            ("claude-sonnet-4-5", 200, 200, 54),
            ("claude-sonnet-4-5", 1000, 1000, 1334),
            ("claude-sonnet-4-5", 1092, 1092, 1590),
            ("claude-sonnet-4-5", 4000, 1000, 820),
            ("claude-sonnet-4-5", 3840, 2160, 1600),
            ("claude-opus-4-7", 2000, 1000, 2667),
            ("gemini-2.5-pro", 384, 384, 258),
            ("gemini-2.5-pro", 769, 384, 516),
            ("gemini-2.5-pro", 1980, 1380, 1548),
            ("gemini-3-pro", 4000, 3000, 1120),
        ] {
            assert_eq!(count(model, width, height, Detail::High), tokens, "{model} {width}x{height}");
        }
        assert_eq!(count("gpt-4o", 4096, 4096, Detail::Low), 85);
        assert_eq!(count("gpt-5-mini", 2048, 2048, Detail::Low), 415);
        assert_eq!(count("gemini-2.5-pro", 4000, 3000, Detail::named("MEDIA_RESOLUTION_LOW")), 64);
    }

    #[test]
    fn what_is_not_known_is_an_estimate() {
        let rule = |model| PictureRule::of_model(model).unwrap_or_default();
        assert_eq!(rule("gpt-4o").count(None, Detail::High), (765, true));
        assert_eq!(rule("gpt-4o").count(None, Detail::Low), (85, false), "its size does not matter");
        assert_eq!(rule("house").count(size(1000, 1000), Detail::High), (1334, true));
        assert_eq!(rule("gpt-5.2").count(size(200, 200), Detail::High), (54, true));
    }

    #[test]
    fn a_size_is_read_from_the_head_of_each_kind_of_file() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\xc8\0\0\0\xaa\x08\x06\0\0\0";
        let gif = b"GIF89a\xc8\0\xaa\0\0\0\0";
        let webp = b"RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xc7\0\0\xa9\0\0";
        let jpeg = b"\xff\xd8\xff\xe1\0\x08Exif\0\0\xff\xc2\0\x0b\x08\0\xaa\0\xc8\x01\x01\x11\0\xff\xd9";
        for head in [&png[..], gif, webp, jpeg] {
            assert_eq!(PictureSize::of(head), size(200, 170), "{head:?}");
            assert_eq!(PictureSize::of(&head[..8]), None, "{head:?}");
        }
        assert_eq!(PictureSize::of(b"%PDF-1.7 and more"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_picture_is_beyond_its_bound(width in 1_u32.., height in 1_u32..) {
            let count = |model: &str| count(model, width, height, Detail::High);
            proptest::prop_assert!(count("gpt-4.1-mini") <= 2489 && count("claude-opus-4-1") <= 1600);
            proptest::prop_assert!(count("gpt-4o") <= 85 + 170 * 8);
        }
    }
}
