//! One line of a screen: what was written last at each place.

/// A line under way.
#[derive(Default)]
pub(crate) struct ScreenLine {
    letters: Vec<char>,
    at: usize,
}

impl ScreenLine {
    /// Writes a letter over what stands there.
    pub(crate) fn write(&mut self, letter: char) {
        if self.at > self.letters.len() {
            self.letters.resize(self.at, ' ');
        }
        match self.letters.get_mut(self.at) {
            Some(old) => *old = letter,
            None => self.letters.push(letter),
        }
        self.at += 1;
    }

    /// Goes back to the beginning.
    pub(crate) fn home(&mut self) {
        self.at = 0;
    }

    /// Goes back by one letter.
    pub(crate) fn back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// Erases to the end (0), to the beginning (1) or all of it; the next letter stands where it
    /// would have.
    pub(crate) fn erase(&mut self, part: u8) {
        match part {
            0 => self.letters.truncate(self.at),
            1 => {
                let before = self.letters.len().min(self.at + 1);
                self.letters[..before].fill(' ');
            }
            _ => self.letters.clear(),
        }
    }

    /// Ends the line.
    pub(crate) fn into_letters(self) -> impl Iterator<Item = char> {
        self.letters.into_iter()
    }
}
