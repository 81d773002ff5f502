//! What becomes of large blocks that the gate gives back.
//!
//! The allocator of the GNU C library takes a large block from the system and gives it back, until one is freed: from then on blocks
//! of that size stay with the thread that had them (mallopt(3), `M_MMAP_THRESHOLD`). The body of a request, the text of its leaf and
//! the body that leaves are each as large as the other, and another thread often has the next of them: what one gave back would be
//! there beside what another takes.

/// From so many bytes on, a block is the system's again as soon as it is freed.
const LARGE: libc::c_int = 4 << 20;

/// Has large blocks go back to the system, and smaller ones stay with who may take them again.
pub(super) fn give_back_large_blocks() {
    // SAFETY: both are numbers for the allocator, which takes its lock.
    #[allow(unsafe_code, reason = "the allocator can be told by nothing else once the program runs")]
    let told = unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) & libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * LARGE)
    };
    debug_assert_eq!(told, 1, "both are numbers that the allocator takes");
}
