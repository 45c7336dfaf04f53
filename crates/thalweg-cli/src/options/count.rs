//! Counts on the command line.

/// A count of at least 1.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be 1 or more; 0 would do nothing".into()),
        Ok(count) => Ok(count),
        Err(_) => Err("it must be a whole number".into()),
    }
}
