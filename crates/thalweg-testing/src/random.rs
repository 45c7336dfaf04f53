//! Random numbers.

/// The generator SplitMix64: the same numbers for the same seed, on every machine.
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

impl SplitMix {
    /// A generator; neighboring seeds give unrelated numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound.max(1) as u64) as usize
    }

    /// A number from -1 to 1, 1 excluded.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the reference implementation in C, by Sebastiano Vigna, which starts from this seed.
    #[test]
    fn numbers_are_those_of_the_reference() {
        let mut random = SplitMix::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(expected.map(|_| random.bits()), expected);
    }

    #[test]
    fn numbers_are_in_their_ranges() {
        let mut random = SplitMix::new(0);
        for bound in 1..100 {
            assert!(random.below(bound) < bound);
            assert!((-1.0..1.0).contains(&random.unit()));
        }
        assert_eq!(random.below(0), 0);
    }
}
