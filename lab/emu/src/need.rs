//! Checks the requirements of an emulation on this machine, and names the remedy for a missing one.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, unshare};

/// A requirement that this machine does not meet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{missing}\n  {remedy}")]
pub struct Missing {
    /// The requirement, and what fails.
    pub missing: String,
    /// How to meet it.
    pub remedy: String,
}

const ROOT: &str = "run it as root (sudo msctp-lab emulate …), or as the root of a user namespace of your own: unshare --user --map-root-user msctp-lab emulate …";

/// Checks all requirements.
///
/// # Errors
/// The first requirement that is missing, and how to meet it.
pub fn check() -> Result<(), Missing> {
    let missing =
        |missing: &str, remedy: &str| Err(Missing { missing: missing.into(), remedy: remedy.into() });
    if !Path::new("/dev/net/tun").exists() {
        return missing(
            "the emulator needs TUN devices, but /dev/net/tun does not exist",
            "load the module (modprobe tun); in a container, pass the device in (--device /dev/net/tun)",
        );
    }
    if let Err(e) = File::options().read(true).write(true).open("/dev/net/tun") {
        return missing(&format!("the emulator cannot open /dev/net/tun: {e}"), ROOT);
    }
    let ip = Command::new("ip").arg("-Version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !ip.is_ok_and(|status| status.success()) {
        return missing(
            "the emulator needs the command ip of iproute2, and cannot run it",
            "install it (apt-get install iproute2), in a folder of PATH",
        );
    }
    // In a thread of its own, with which the namespace ends.
    let tried = std::thread::Builder::new()
        .spawn(|| unshare(CloneFlags::CLONE_NEWNET))
        .map(std::thread::JoinHandle::join);
    match tried {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(e))) => missing(
            &format!(
                "the emulator needs network namespaces (CAP_SYS_ADMIN, CAP_NET_ADMIN), and cannot \
                 create one: {e}"
            ),
            ROOT,
        ),
        Ok(Err(_)) | Err(_) => {
            missing("the emulator cannot start a thread", "raise the limit of processes (ulimit -u)")
        }
    }
}
