//! Where in the source something was thrown.

/// Returns line and column of the first frame of a stack that is in the file of this name. Frames of
/// the prelude and of the engine name other files.
pub(crate) fn first(stack: &str, name: &str) -> Option<(u32, u32)> {
    stack.lines().find_map(|line| {
        let at = line.rfind(&format!("{name}:"))?;
        let mut numbers = line[at + name.len() + 1..].trim_end().trim_end_matches(')').split(':');
        let line = numbers.next()?.parse().ok()?;
        let column = numbers.next().map_or(Ok(1), str::parse).ok()?;
        Some((line, column))
    })
}

#[cfg(test)]
mod tests {
    use super::first;

    #[test]
    fn the_first_frame_of_the_file_counts() {
        let stack = "    at find (<eval>:60:11)\n    at detect (names.js:3:22)\n    at f (names.js:9:1)\n";
        assert_eq!(first(stack, "names.js"), Some((3, 22)));
        assert_eq!(first("    at names.js:4:1\n", "names.js"), Some((4, 1)));
        assert_eq!(first("    at names.js:4\n", "names.js"), Some((4, 1)));
        assert_eq!(first("    at find (<eval>:60:11)\n", "names.js"), None);
    }
}
