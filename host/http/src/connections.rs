//! How many connections a listener holds, and which one gives way to a new one.
//!
//! A connection is a file, and a process has few of them. A listener that takes every connection can be filled with idle ones, and then
//! nobody else gets in. So each connection has a [`Slot`]. Where none is free, the connection that has been idle for the longest time is
//! closed, and where none is idle, the next one waits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

/// How long a connection that must give way may take to close.
pub(crate) const CLOSING: Duration = Duration::from_secs(1);

/// The connections of one listener.
pub(crate) struct Connections {
    slots: Arc<Semaphore>,
    limit: u32,
    shared: Arc<SharedConnections>,
}

#[derive(Default)]
struct SharedConnections {
    idle: Mutex<IdleConnections>,
    became_idle: Notify,
}

/// The idle connections, those that are idle for the longest time first.
#[derive(Default)]
struct IdleConnections {
    since: BTreeMap<u64, Arc<Notify>>,
    next: u64,
}

/// The place of one connection; dropping it makes room for another.
pub(crate) struct Slot {
    pub(crate) connection: Arc<ConnectionState>,
    _permit: OwnedSemaphorePermit,
}

/// Whether a connection has a request in flight.
pub(crate) struct ConnectionState {
    shared: Arc<SharedConnections>,
    close: Arc<Notify>,
    /// Its number among the idle ones.
    idle_since: Mutex<Option<u64>>,
}

/// A request in flight; the connection is idle again when it is dropped.
pub(crate) struct BusyConnection(Arc<ConnectionState>);

impl Connections {
    /// Makes room for at most `limit` connections, and for one at least.
    pub(crate) fn new(limit: usize) -> Self {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX).clamp(1, 1 << 20);
        let slots = Arc::new(Semaphore::new(limit as usize));
        Connections { slots, limit, shared: Arc::default() }
    }

    /// Takes a slot where one is free.
    pub(crate) fn free(&self) -> Option<Slot> {
        let permit = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        Some(Slot::new(permit, &self.shared))
    }

    /// Takes a slot as soon as there is one, and has idle connections closed for it.
    pub(crate) async fn next(&self) -> Slot {
        loop {
            let became_idle = self.shared.became_idle.notified();
            let asked = self.slots.available_permits() == 0 && self.shared.close_one();
            tokio::select! {
                permit = Arc::clone(&self.slots).acquire_owned() => {
                    return Slot::new(permit.expect("the semaphore is never closed"), &self.shared);
                }
                () = became_idle, if !asked => {}
                // The one that was asked has a request by now.
                () = sleep(CLOSING), if asked => {}
            }
        }
    }

    /// Returns once no connection is left.
    pub(crate) async fn all_closed(&self) {
        // Never an error: the semaphore is not closed.
        let _ = self.slots.acquire_many(self.limit).await;
    }
}

impl SharedConnections {
    fn lock(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the connection that is idle for the longest time to close; returns false where none is idle.
    fn close_one(&self) -> bool {
        let longest = self.lock().since.pop_first();
        longest.map(|(_, close)| close.notify_one()).is_some()
    }
}

impl Slot {
    fn new(permit: OwnedSemaphorePermit, shared: &Arc<SharedConnections>) -> Self {
        let state = ConnectionState {
            shared: Arc::clone(shared),
            close: Arc::default(),
            idle_since: Mutex::new(None),
        };
        state.rest();
        Slot { connection: Arc::new(state), _permit: permit }
    }

    /// Returns when another connection needs the slot more. A request may have come meanwhile: see [`Slot::is_idle`].
    pub(crate) async fn asked_to_close(&self) {
        self.connection.close.notified().await;
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.connection.idle_since().is_some()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.connection.wake();
    }
}

impl ConnectionState {
    /// A request has come.
    pub(crate) fn begin(self: &Arc<Self>) -> BusyConnection {
        self.wake();
        BusyConnection(Arc::clone(self))
    }

    fn idle_since(&self) -> MutexGuard<'_, Option<u64>> {
        self.idle_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        if let Some(number) = self.idle_since().take() {
            self.shared.lock().since.remove(&number);
        }
    }

    fn rest(&self) {
        let mut idle = self.shared.lock();
        let number = idle.next;
        idle.next += 1;
        idle.since.insert(number, Arc::clone(&self.close));
        drop(idle);
        *self.idle_since() = Some(number);
        self.shared.became_idle.notify_waiters();
    }
}

impl Drop for BusyConnection {
    fn drop(&mut self) {
        self.0.rest();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    async fn is_asked(slot: &Slot) -> bool {
        timeout(Duration::from_millis(1), slot.asked_to_close()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn the_connection_that_is_idle_for_the_longest_time_gives_way() {
        let connections = Connections::new(3);
        let slots = [connections.free().unwrap(), connections.free().unwrap(), connections.free().unwrap()];
        assert!(connections.free().is_none());
        // The first one had a request, so the second is idle for longer.
        drop(slots[0].connection.begin());
        let next = connections.next();
        tokio::pin!(next);
        assert!(timeout(Duration::from_millis(1), &mut next).await.is_err());
        assert!(is_asked(&slots[1]).await && !is_asked(&slots[0]).await && !is_asked(&slots[2]).await);
        let [_first, second, _third] = slots;
        drop(second);
        next.await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_a_request_is_not_closed_until_it_is_idle() {
        let connections = Connections::new(1);
        let slot = connections.free().unwrap();
        let busy = slot.connection.begin();
        let next = connections.next();
        tokio::pin!(next);
        assert!(timeout(Duration::from_secs(60), &mut next).await.is_err());
        assert!(!is_asked(&slot).await && !slot.is_idle());
        drop(busy);
        assert!(timeout(Duration::from_millis(1), &mut next).await.is_err());
        assert!(is_asked(&slot).await && slot.is_idle());
        drop(slot);
        next.await;
    }

    #[tokio::test(start_paused = true)]
    async fn all_are_closed_when_the_last_one_is() {
        let connections = Connections::new(2);
        let slot = connections.free().unwrap();
        assert!(timeout(Duration::from_secs(1), connections.all_closed()).await.is_err());
        drop(slot);
        connections.all_closed().await;
    }
}
