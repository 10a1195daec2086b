//! Two hosts as network namespaces: a mobile with a WLAN and a cellular interface, a server that both lead
//! to. The namespaces have no names: they end with the processes that hold them, and those end with this one,
//! however it ends.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::process;

use nix::sched::{CloneFlags, setns};

/// Rates of the two links, both ways.
pub(crate) const WLAN: &str = "48mbit";
pub(crate) const CELL: &str = "16mbit";

/// The server's address, reached through either link.
pub(crate) const SERVER: &str = "10.9.0.1";

/// Returns why the tests cannot run here, if they cannot. With `MSCTP_NEED_NETNS` set, panics instead.
pub(crate) fn missing() -> Option<&'static str> {
    let missing = if !works("ip", &["-V"]) {
        "iproute2 is not installed"
    } else if !works("unshare", &["--net", "true"]) {
        "no permission to make network namespaces: want root"
    } else {
        return None;
    };
    left_out(missing)
}

/// As [`missing`], for a test that filters packets.
pub(crate) fn missing_or_filter() -> Option<&'static str> {
    missing().or_else(|| if works("nft", &["-v"]) { None } else { left_out("nftables is not installed") })
}

fn works(program: &str, args: &[&str]) -> bool {
    let run = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}

fn left_out(missing: &'static str) -> Option<&'static str> {
    assert!(std::env::var_os("MSCTP_NEED_NETNS").is_none(), "{missing}");
    eprintln!("left out: {missing}");
    Some(missing)
}

/// A namespace.
pub(crate) struct Host {
    holder: Child,
}

impl Host {
    pub(crate) fn new() -> Self {
        // Ends when its standard input does.
        let mut command = Command::new("unshare");
        command.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let holder = command.spawn().expect("unshare runs");
        let host = Self { holder };
        // `unshare` becomes `cat` when the namespace is there.
        let comm = format!("/proc/{}/comm", host.holder.id());
        while std::fs::read_to_string(&comm).is_ok_and(|name| name.trim() != "cat") {
            std::thread::sleep(Duration::from_millis(1));
        }
        host
    }

    /// Returns the number of the process that holds the namespace, which is its name.
    pub(crate) fn id(&self) -> u32 {
        self.holder.id()
    }

    /// Runs `f` in the namespace and returns its result. The sockets that it opens stay there.
    pub(crate) fn within<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        let namespace = File::open(format!("/proc/{}/ns/net", self.id())).expect("a namespace");
        let inside = move || {
            setns(namespace, CloneFlags::CLONE_NEWNET).expect("permission");
            f()
        };
        // A namespace is a thread's, and this one ends.
        std::thread::scope(|scope| scope.spawn(inside).join().expect("no panic"))
    }

    /// Returns a command that runs in the namespace.
    pub(crate) fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args);
        self.within_it(&command)
    }

    /// Returns `msctp` in the namespace, with the test's own folders and with pipes.
    pub(crate) fn msctp(&self, args: &[&str]) -> Command {
        self.within_it(&process::msctp(args))
    }

    fn within_it(&self, command: &Command) -> Command {
        process::by(&["nsenter", "--net", "--target", &self.id().to_string()], command)
    }

    /// Returns what a command prints; one line has all arguments.
    pub(crate) fn output(&self, line: &str) -> String {
        let (program, args) = line.split_once(' ').expect("arguments");
        let output = self.command(program, &args.split(' ').collect::<Vec<_>>()).output();
        String::from_utf8(output.expect("nsenter runs").stdout).expect("UTF-8")
    }

    /// Runs a command to its end; one line has all arguments.
    pub(crate) fn run(&self, line: &str) {
        let mut words = line.split(' ');
        let program = words.next().expect("a program");
        let output = self.command(program, &words.collect::<Vec<_>>()).output().expect("nsenter runs");
        assert!(output.status.success(), "{line}: {}", process::stderr(&output));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// Both hosts and the links between them.
pub(crate) struct Net {
    pub(crate) mobile: Host,
    pub(crate) server: Host,
}

impl Net {
    /// Creates the links, down.
    pub(crate) fn new() -> Self {
        let net = Self { mobile: Host::new(), server: Host::new() };
        net.server.run("ip link set lo up");
        net.server.run(&format!("ip address add {SERVER}/32 dev lo"));
        access(&net.mobile, &net.server, SERVER);
        net
    }

    /// Lifts the limits of the links' rates.
    pub(crate) fn unlimited(&self) {
        for host in [&self.mobile, &self.server] {
            for name in ["wlan0", "cell0"] {
                host.run(&format!("tc qdisc del dev {name} root"));
            }
        }
    }

    /// Sets the carrier of a link on or off, as a cable or a base station does.
    pub(crate) fn carrier(&self, name: &str, up: bool) {
        carrier(&self.server, name, up);
    }
}

/// Creates the mobile's two links, and its routes over them to the server's address. That address is `far` or
/// behind it.
pub(crate) fn access(mobile: &Host, far: &Host, server: &str) {
    for (name, subnet, rate) in [("wlan0", 1, WLAN), ("cell0", 2, CELL)] {
        mobile.run(&format!("ip link add {name} type veth peer name {name} netns {}", far.id()));
        mobile.run(&format!("ip address add 10.{subnet}.0.2/24 dev {name}"));
        far.run(&format!("ip address add 10.{subnet}.0.1/24 dev {name}"));
        for host in [mobile, far] {
            host.run(&format!("tc qdisc add dev {name} root tbf rate {rate} burst 16kb latency 100ms"));
        }
        // Its own end is up for good; whether there is a carrier is the other end's doing.
        mobile.run(&format!("ip link set {name} up"));
        let metric = 100 * subnet;
        mobile.run(&format!("ip route add {server} via 10.{subnet}.0.1 dev {name} metric {metric}"));
    }
}

/// Sets the carrier of a link of [`access`] on or off.
pub(crate) fn carrier(far: &Host, name: &str, up: bool) {
    far.run(&format!("ip link set {name} {}", if up { "up" } else { "down" }));
}

/// Waits until the mobile's kernel knows of the carrier of a link, which may take it a second.
pub(crate) fn wait_for_carrier(mobile: &Host, name: &str) {
    let line = format!("ip -br link show dev {name}");
    process::wait_for(&line, || mobile.output(&line).split_whitespace().nth(1) == Some("UP"));
}
