//! The listener of the admin API, and the runtime file that publishes its address.

use leafgate_admin::RuntimeFile;
use leafgate_gate::{AdminToken, Gate};
use leafgate_http::Listener;

use crate::managed;
use crate::runtime::{self, Published};
use crate::settings::GateSetup;

/// A published admin API. Dropping it removes the runtime file.
pub(super) struct AdminListener {
    listener: Listener,
    token: AdminToken,
    pub(super) file: RuntimeFile,
    published: Published,
}

impl AdminListener {
    /// Listens and publishes the address. `None` with `--no-admin`. A call that comes before
    /// [`AdminListener::serve`] waits in the system's queue.
    pub(super) async fn open(setup: &GateSetup, clients: &Listener) -> anyhow::Result<Option<AdminListener>> {
        let Some(address) = setup.admin_listen else { return Ok(None) };
        let listener = Listener::bind(address).await?;
        let token = AdminToken::generate()?;
        let file = RuntimeFile {
            pid: std::process::id(),
            admin: format!("http://{}", listener.address()),
            token: token.expose().to_owned(),
            listen: format!("http://{}", clients.address()),
            client: setup.client.clone(),
            standing: setup.standing.is_some(),
            started_with: setup.standing.clone(),
            enforced: managed::enforced()?,
        };
        let published = runtime::publish(&runtime::folder()?, clients.address().port(), &file)?;
        Ok(Some(AdminListener { listener, token, file, published }))
    }

    /// Serves until `stopped` is ready, then removes the runtime file.
    pub(super) async fn serve(self, gate: &Gate, stopped: impl Future<Output = ()>) {
        gate.serve_admin(self.listener, self.token, stopped).await;
        drop(self.published);
    }
}
