//! The weights of [`super::score`], made by `cargo xtask corpus --fit` from the sources betterleaks,
//! detect-secrets and kingfisher-1.x of the labelled corpora and from the words of the recorded
//! requests in `examples/recordings`. Do not edit.

pub(super) const BIAS: f32 = -5.751;

/// In the order of the measures.
#[rustfmt::skip]
pub(super) const WEIGHTS: [f32; super::MEASURES] = [
    10.076, 3.640, -4.173, 9.694, -1.321, -7.144, 0.356, -4.484, -3.721, 0.663, 5.668,
];
