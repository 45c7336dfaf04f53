//! Numbers, lists and tables as text.

use std::time::Duration;

/// "1 value", "2 values".
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {}", self::noun(n, noun))
}

/// "value" for 1, else "values".
pub(crate) fn noun(n: usize, noun: &str) -> String {
    format!("{noun}{}", if n == 1 { "" } else { "s" })
}

/// A number of bytes with about three digits: "512 B", "1.5 MiB".
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut size = n as f64 / 1024.0;
    let mut unit = 0;
    // What would be rounded to 1024 is 1 of the next unit.
    while size >= 1023.95 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(size < 99.95);
    format!("{size:.digits$} {}", UNITS[unit])
}

/// A time with about three digits: "740 ns", "12.3 ms".
pub(crate) fn duration(time: Duration) -> String {
    let nanos = time.as_nanos() as f64;
    let (size, unit) = match nanos {
        n if n < 999.5 => return format!("{n:.0} ns"),
        n if n < 999.5e3 => (n / 1e3, "µs"),
        n if n < 999.5e6 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let decimals = match size {
        s if s < 9.995 => 2,
        s if s < 99.95 => 1,
        _ => 0,
    };
    format!("{size:.decimals$} {unit}")
}

/// A number with `digits` significant digits, without zeros at the end.
pub(crate) fn float(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        // Not "-0", which is of no interest here, and not "NaN" but PyTorch's "nan".
        return match value {
            v if v.is_nan() => "nan".into(),
            v if v == f64::INFINITY => "inf".into(),
            v if v == f64::NEG_INFINITY => "-inf".into(),
            _ => "0".into(),
        };
    }
    let digits = digits.max(1);
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-5..digits as i32).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        without_zeros(&format!("{value:.decimals$}")).to_string()
    } else {
        format!("{}e{exponent}", without_zeros(mantissa))
    }
}

/// "a", "a and b", "a, b and c".
pub(crate) fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_string(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// "the device a", "the devices a and b".
pub(crate) fn named<T: AsRef<str>>(noun: &str, names: &[T]) -> String {
    format!("{} {}", self::noun(names.len(), noun), list(names))
}

/// Rows with aligned columns, two spaces apart. Each row ends with a line feed.
pub(crate) fn columns(indent: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths = vec![0; count];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = indent.to_string();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A name from a file, without characters that control a terminal.
pub(crate) fn printable(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_fitting_unit() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(bytes(300 << 20), "300 MiB");
    }

    #[test]
    fn durations_have_three_digits() {
        assert_eq!(duration(Duration::from_nanos(740)), "740 ns");
        assert_eq!(duration(Duration::from_nanos(1_234)), "1.23 µs");
        assert_eq!(duration(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!(duration(Duration::from_millis(999)), "999 ms");
        assert_eq!(duration(Duration::from_micros(999_900)), "1.00 s");
    }

    #[test]
    fn numbers_have_so_many_significant_digits() {
        assert_eq!(float(0.1f32.into(), 6), "0.1");
        assert_eq!(float(-1234.5678, 6), "-1234.57");
        assert_eq!(float(1e-7, 6), "1e-7");
        assert_eq!(float(123_456_789.0, 6), "1.23457e8");
        assert_eq!(float(100.0, 6), "100");
        assert_eq!(float(0.000_123_456, 3), "0.000123");
        assert_eq!(float(f64::NAN, 6), "nan");
        assert_eq!(float(-0.0, 6), "0");
    }

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let rows = [["a", "bc", "d"], ["≤ef", "g", ""]];
        let rows = rows.map(|row| row.map(String::from).to_vec());
        assert_eq!(columns("  ", rows), "  a    bc  d\n  ≤ef  g\n");
    }

    #[test]
    fn names_cannot_command_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\n"), "a\u{fffd}[31mb\u{fffd}");
    }

    #[test]
    fn lists_end_with_and() {
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }
}
