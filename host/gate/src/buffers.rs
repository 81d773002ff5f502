//! Buffers of bodies, used again.
//!
//! A body is there for some milliseconds, and who gives it back is often another thread than the one
//! that read it. An allocator keeps what it got back between what is still in use, for each thread
//! apart, and so a gate would take twice the memory of the bodies in flight. A buffer that is used
//! again stays one piece, and the system need not give its pages anew.
//!
//! Whoever takes a buffer gets it empty: of the body before nothing can be read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Smaller buffers are the allocator's, which is good at them.
const LEAST: usize = 128 * 1024;

/// Larger ones are needed so seldom that none is kept.
const MOST: usize = 4 << 20;

/// Bytes that are kept while nobody uses them.
const IDLE: usize = 8 << 20;

/// Buffers have a multiple of so many bytes: the next turn of a conversation is a little longer.
const STEP: usize = 128 * 1024;

/// The buffers that nobody uses.
#[derive(Default)]
pub(crate) struct Buffers {
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// Those that were given back last stand last.
    buffers: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Buffers {
    /// Returns an empty buffer with room for so many bytes.
    pub(crate) fn take(&self, room: usize) -> Vec<u8> {
        if room < LEAST {
            return Vec::with_capacity(room);
        }
        if room > MOST {
            // Of the very size that was asked for: the block of a leaf that was decoded serves it.
            return Vec::with_capacity(room);
        }
        let room = room.next_multiple_of(STEP);
        let used = self.lock().take(room);
        used.unwrap_or_else(|| Vec::with_capacity(room))
    }

    /// Gives a buffer room for so many bytes in all.
    pub(crate) fn enlarge(&self, bytes: &mut Vec<u8>, room: usize) {
        if room > MOST {
            // The system moves the pages of a large buffer, and copies none.
            return bytes.reserve_exact(room - bytes.len());
        }
        let mut larger = self.take(room);
        larger.extend_from_slice(bytes);
        self.give_back(std::mem::replace(bytes, larger));
    }

    /// Returns what a buffer holds. It comes back when nobody has it any more.
    pub(crate) fn share(self: &Arc<Self>, bytes: Vec<u8>) -> Bytes {
        match is_kept(&bytes) {
            true => Bytes::from_owner(Taken { bytes, home: Arc::clone(self) }),
            false => Bytes::from(bytes),
        }
    }

    fn give_back(&self, bytes: Vec<u8>) {
        if is_kept(&bytes) {
            let superfluous = self.lock().put(bytes);
            // The system takes them back while nobody waits for the lock.
            drop(superfluous);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        // A panic leaves at worst a count behind that keeps fewer buffers.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_kept(bytes: &Vec<u8>) -> bool {
    (LEAST..=MOST).contains(&bytes.capacity())
}

impl Idle {
    /// Returns the smallest buffer that fits: one that is much too large is left to a larger body.
    fn take(&mut self, room: usize) -> Option<Vec<u8>> {
        let fits = |capacity: &usize| (room..=room + room / 4).contains(capacity);
        let sized = self.buffers.iter().enumerate().map(|(place, bytes)| (bytes.capacity(), place));
        let (capacity, place) = sized.filter(|(capacity, _)| fits(capacity)).min()?;
        self.bytes -= capacity;
        self.buffers.remove(place)
    }

    /// Keeps a buffer; gives those for which there is no room any more, the oldest.
    fn put(&mut self, mut bytes: Vec<u8>) -> Vec<Vec<u8>> {
        bytes.clear();
        self.bytes += bytes.capacity();
        self.buffers.push_back(bytes);
        let mut superfluous = Vec::new();
        while self.bytes > IDLE
            && let Some(oldest) = self.buffers.pop_front()
        {
            self.bytes -= oldest.capacity();
            superfluous.push(oldest);
        }
        superfluous
    }
}

/// A buffer in use.
struct Taken {
    bytes: Vec<u8>,
    home: Arc<Buffers>,
}

impl AsRef<[u8]> for Taken {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.home.give_back(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(buffers: &Buffers) -> Vec<usize> {
        let idle = buffers.lock();
        let sizes: Vec<usize> = idle.buffers.iter().map(Vec::capacity).collect();
        assert_eq!(sizes.iter().sum::<usize>(), idle.bytes);
        assert!(idle.bytes <= IDLE, "{} bytes", idle.bytes);
        sizes
    }

    #[test]
    fn a_buffer_comes_back_with_the_last_who_has_it_and_is_empty_then() {
        let buffers = Arc::new(Buffers::default());
        let mut taken = buffers.take(1_000_000);
        taken.extend_from_slice(b"a secret");
        let (place, capacity) = (taken.as_ptr(), taken.capacity());
        let shared = buffers.share(taken);
        let part = shared.slice(2..);
        drop(shared);
        assert_eq!((idle(&buffers), &part[..]), (vec![], &b"secret"[..]));
        drop(part);
        assert_eq!(idle(&buffers), [capacity]);
        // The next turn is a little longer.
        let again = buffers.take(1_001_000);
        assert_eq!((again.as_ptr(), again.len(), idle(&buffers)), (place, 0, vec![]));
    }

    #[test]
    fn what_is_much_too_large_or_too_small_is_left_to_others() {
        let buffers = Arc::new(Buffers::default());
        for room in [LEAST, 1 << 20, 2 << 20] {
            drop(buffers.share(buffers.take(room)));
        }
        assert_eq!(buffers.take(300_000).capacity(), 300_000_usize.next_multiple_of(STEP));
        assert_eq!(buffers.take(1_000_000).capacity(), 1 << 20);
        assert_eq!(idle(&buffers), [LEAST, 2 << 20]);
    }

    #[test]
    fn neither_small_nor_very_large_ones_are_kept_and_no_more_than_the_bound() {
        let buffers = Arc::new(Buffers::default());
        for room in [0, 1, LEAST - 1, MOST + 1] {
            let taken = buffers.take(room);
            assert!((room..room + STEP).contains(&taken.capacity()), "{room}");
            drop(buffers.share(taken));
        }
        assert!(idle(&buffers).is_empty());
        let used: Vec<Bytes> = (0..12).map(|_| buffers.share(buffers.take(1 << 20))).collect();
        drop(used);
        drop(buffers.share(buffers.take(MOST)));
        // The oldest have made room.
        assert_eq!(idle(&buffers), [1 << 20, 1 << 20, 1 << 20, 1 << 20, MOST]);
    }

    #[test]
    fn a_buffer_that_is_enlarged_keeps_what_it_holds_and_leaves_its_place() {
        let buffers = Arc::new(Buffers::default());
        for room in [1 << 20, MOST + 1] {
            let mut bytes = buffers.take(2 * LEAST);
            bytes.extend_from_slice(b"begun");
            buffers.enlarge(&mut bytes, room);
            assert!(bytes.capacity() >= room);
            assert_eq!(bytes, b"begun");
        }
        assert!(idle(&buffers).is_empty(), "the second one took what the first had left");
    }
}
