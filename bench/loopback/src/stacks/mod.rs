//! The stacks that are measured, each in a file of its own; usrsctp and pion/sctp are programs in `peers/`.

mod closing;
pub mod msctp;
pub mod quic;
mod sans_io;
mod tcp;
mod udp;

use crate::job::Job;

/// A stack in this program.
pub struct Stack {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its title in the table, with its version.
    pub title: &'static str,
    server: fn(&Job) -> Result<(), String>,
    client: fn(&Job) -> Result<(), String>,
}

/// All stacks, in the order of the table.
pub const STACKS: &[Stack] = &[
    Stack {
        name: "msctp",
        title: "**msctp** (encrypts)",
        server: |job| msctp::server(job, true),
        client: |job| msctp::client(job, true),
    },
    Stack {
        name: "msctp-clear",
        title: "**msctp**, in clear",
        server: |job| msctp::server(job, false),
        client: |job| msctp::client(job, false),
    },
    Stack {
        name: "rtc",
        title: "rtc-sctp, GSO in the driver",
        server: sans_io::rtc_server,
        client: sans_io::rtc_client,
    },
    Stack {
        name: "sctp-proto",
        title: "sctp-proto, GSO in the driver",
        server: sans_io::proto_server,
        client: sans_io::proto_client,
    },
    Stack {
        name: "quinn",
        title: "quinn (encrypts)",
        server: |job| quic::server(job, false),
        client: |job| quic::client(job, false),
    },
    Stack {
        name: "quinn-large",
        title: "quinn (encrypts), windows of 16 MiB",
        server: |job| quic::server(job, true),
        client: |job| quic::client(job, true),
    },
    Stack {
        name: "udp",
        title: "UDP, sendmmsg and recvmmsg",
        server: udp::server_plain,
        client: udp::client_plain,
    },
    Stack {
        name: "udp-gso",
        title: "UDP, GSO and recvmmsg",
        server: udp::server_plain,
        client: udp::client_gso,
    },
    Stack { name: "udp-gro", title: "UDP, GSO and GRO", server: udp::server_gro, client: udp::client_gso },
    Stack { name: "tcp", title: "kernel TCP", server: tcp::server, client: tcp::client },
];

fn find(name: &str) -> Result<&'static Stack, String> {
    let names = || STACKS.iter().map(|stack| stack.name).collect::<Vec<_>>().join(" ");
    STACKS
        .iter()
        .find(|stack| stack.name == name)
        .ok_or_else(|| format!("no stack {name}: there are {}", names()))
}

pub fn server(name: &str, job: &Job) -> Result<(), String> {
    (find(name)?.server)(job)
}

pub fn client(name: &str, job: &Job) -> Result<(), String> {
    (find(name)?.client)(job)
}

/// Stacks measured with many associations. Their `len` is the number of associations.
pub const MANY: [&str; 5] = ["msctp", "quinn", "msctp-clear", "rtc", "sctp-proto"];

/// Returns the title of a stack, with its version.
pub fn title(name: &str) -> &'static str {
    STACKS.iter().find(|stack| stack.name == name).map_or("?", |stack| stack.title)
}

pub fn hold(name: &str, job: &Job) -> Result<(), String> {
    match name {
        "msctp" => msctp::hold(job, true),
        "msctp-clear" => msctp::hold(job, false),
        "quinn" => quic::hold(job),
        "rtc" => sans_io::rtc_hold(job),
        "sctp-proto" => sans_io::proto_hold(job),
        _ => Err(format!("no stack {name}: there are {}", MANY.join(" "))),
    }
}

pub fn open(name: &str, job: &Job) -> Result<(), String> {
    match name {
        "msctp" => msctp::open(job, true),
        "msctp-clear" => msctp::open(job, false),
        "quinn" => quic::open(job),
        "rtc" => sans_io::rtc_open(job),
        "sctp-proto" => sans_io::proto_open(job),
        _ => Err(format!("no stack {name}: there are {}", MANY.join(" "))),
    }
}
