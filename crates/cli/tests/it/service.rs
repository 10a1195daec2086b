//! Commands as services: `--config`, SIGHUP, `--drain`, as processes.

use crate::PROGRAM;
use crate::client::{Forward, echoes};
use crate::process::{HANGS, Server, by, end, folder, msctp, run, signal, stderr, wait_for};
use crate::targets::echo;

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;

/// Starts a client with a listener for each target.
fn forward(server: &str, targets: &[std::net::SocketAddr], more: &[&str]) -> Forward {
    let forwards: Vec<String> = targets.iter().map(|target| format!("0:{target}")).collect();
    let forwards = forwards.iter().flat_map(|forward| ["-L", forward]);
    Forward::start(server, &forwards.chain(more.iter().copied()).collect::<Vec<_>>())
}

/// Returns whether the connection echoes.
fn is_open(stream: &TcpStream) -> bool {
    echoes(stream, b"ping")
}

#[test]
fn a_file_has_the_options_of_the_command_line_which_overrides_it() {
    let (folder, echo) = (folder("service-config"), echo());
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let text = format!("# a server\nbind = [\"127.0.0.1:0\"]\nallow = [\"{echo}\"]\nmax-connections = 1\n");
    let serve = write("serve.toml", &text);
    let server = Server::start(&["serve", "--config", &serve]);
    let client = format!("host = \"{}\"\nL = [\"0:{echo}\"]\ntimeout = 600\nnat = \"never\"\n", server.at);
    let forward = Forward::of(&mut msctp(&["forward", "--config", &write("forward.toml", &client)]));
    let first = forward.connect(0);
    assert!(is_open(&first));
    assert!(!is_open(&forward.connect(0)), "max-connections = 1");
    drop(server);
    // The command line has more connections, and another target, which excludes that of the file.
    let server = Server::start(&["serve", &format!("--config={serve}"), "--max-connections", "9"]);
    let forward = self::forward(&server.at, &[echo], &[]);
    let streams = [forward.connect(0), forward.connect(0)];
    assert!(streams.iter().all(is_open));
    let client = format!("host = \"127.0.0.1:1\"\nL = \"0:{echo}\"\n");
    let client = write("client.toml", &client);
    let output = run(&["forward", "--config", &client, "-W", "127.0.0.1:1", &server.at]);
    assert_eq!(stderr(&output), "msctp: 127.0.0.1:1: forbidden by the server's rules: no rule allows it\n");
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_its_line() {
    let path = folder("service-errors").join("msctp.toml");
    for (command, text, want) in [
        (
            "serve",
            "\nmax-conections = 5",
            "2: max-conections: unknown key; did you mean \"max-connections\"?",
        ),
        ("serve", "[serve]\nkeep = true", "1: serve: unknown key"),
        ("serve", "config = \"a\"", "1: config: unknown key"),
        ("serve", "# a\nmtu = \"1280\"", "2: mtu: this is a string: want a whole number"),
        ("serve", "keep = 1", "1: keep: this is a whole number: want true or false"),
        ("serve", "bind = true", "1: bind: this is true or false: want a string in quotes"),
        ("serve", "bind = [1.5]", "1: bind: this is a fraction: want a string in quotes"),
        // As the default they would admit every client, and serve `msctp connect` in place of `forward`.
        ("serve", "only-clients = []", "1: only-clients: empty list: want at least one value"),
        ("serve", "allow = []", "1: allow: empty list: want at least one value"),
        ("tunnel", "route = []", "1: route: empty list: want at least one value"),
        ("serve", "psk = [\"a\"]", "1: psk: this is a list: want a string in quotes"),
        (
            "serve",
            "nat = \"x\"",
            "1: nat: invalid value 'x' for '--nat <WHEN>' [possible values: auto, always, never]",
        ),
        ("serve", "\n\nsctp-port = 0", "3: sctp-port: invalid value '0' for '--sctp-port <PORT>'"),
        ("serve", "keep = true\nkeep = true", "2: not TOML: duplicate key"),
        ("serve", "keep =", "1: not TOML: "),
        ("forward", "L = \"80:x\"", "1: L: invalid value '80:x' for '-L <[BIND:]PORT:HOST:HOSTPORT>'"),
        ("forward", "host = \"--quiet\"", "1: host: \"--quiet\" begins with \"-\": want a host"),
        ("forward", "metrics = \"x\"", "1: metrics: invalid value 'x'"),
    ] {
        fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let output = run(&[command, "--config", path]);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}: {errors}");
        assert!(errors.starts_with(&format!("msctp: {path}:{want}")), "{text}: {errors}");
    }
    let output = run(&["serve", "--config", "/no/such/file"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot read --config /no/such/file: No such file"));
    // What is wrong with several options together, and what the file leaves out.
    fs::write(&path, "insecure = true\npsk = \"key\"\n").unwrap();
    assert!(stderr(&run(&["serve", "--config", path.to_str().unwrap()])).contains("cannot be used with"));
    fs::write(&path, "quiet = true\n").unwrap();
    assert!(stderr(&run(&["forward", "--config", path.to_str().unwrap()])).contains("HOST[:PORT]"));
}

#[test]
fn sighup_reads_rules_and_keys_again_and_connections_stay() {
    let (folder, first, second) = (folder("service-reload"), echo(), echo());
    let [rules, keys, config] = ["rules", "keys", "serve.toml"].map(|name| folder.join(name));
    let identity = String::from_utf8(run(&["identity"]).stdout).unwrap();
    let own = identity.split_whitespace().find(|word| word.starts_with("SHA256:")).unwrap();
    let other = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    fs::write(&rules, format!("allow {first}\n")).unwrap();
    fs::write(&keys, own).unwrap();
    let text = format!("bind = \"127.0.0.1:0\"\nrules = {rules:?}\nonly-clients = [{keys:?}]\n");
    fs::write(&config, &text).unwrap();
    let server = Server::start(&["serve", "--config", config.to_str().unwrap()]);
    let forward = forward(&server.at, &[first, second], &[]);
    let open = forward.connect(0);
    assert!(is_open(&open) && !is_open(&forward.connect(1)));
    let address = server.at.clone();
    let reload = |want: &str| {
        signal(&server.child, "HUP");
        server.errors.line_with(want);
    };
    fs::write(&rules, format!("allow {second}\n")).unwrap();
    reload("SIGHUP: rules and keys are read again");
    assert!(is_open(&open), "a connection that was open goes on");
    assert!(!is_open(&forward.connect(0)) && is_open(&forward.connect(1)));
    // Files that cannot be used change nothing.
    fs::write(&rules, format!("allow {first}\npermit all\n")).unwrap();
    reload("rules:2: \"permit\" is not a rule");
    fs::write(&rules, format!("allow {first}\n")).unwrap();
    fs::write(&keys, "SHA256:short").unwrap();
    reload("; rules and keys stay as they were");
    fs::write(&keys, own).unwrap();
    fs::write(&config, format!("{text}alow = \"{first}\"\n")).unwrap();
    reload("serve.toml:4: alow: unknown key; did you mean \"allow\"?");
    assert!(is_open(&open) && !is_open(&forward.connect(0)) && is_open(&forward.connect(1)));
    // A rule of the file of --config; the key of a client goes.
    fs::write(&config, format!("{text}allow = \"{second}\"\n")).unwrap();
    reload("SIGHUP: rules and keys are read again");
    assert!(is_open(&forward.connect(0)) && is_open(&forward.connect(1)));
    // The last key goes.
    fs::write(&keys, "# nobody\n").unwrap();
    reload("--only-clients has no fingerprint: no client may connect");
    forward.errors.line_with("association lost: the peer ended the association: ");
    assert!(!is_open(&open), "the client's key is no longer accepted");
    let refused = || run(&["forward", "-W", &first.to_string(), &address]).status.code();
    assert_eq!(refused(), Some(1));
    fs::write(&keys, other).unwrap();
    reload("SIGHUP: rules and keys are read again");
    assert_eq!(refused(), Some(1));
}

#[test]
fn sighup_reads_the_shared_key_again_and_connections_stay() {
    let (folder, echo) = (folder("service-reload-key"), echo());
    let [first, second] = ["first", "second"].map(|name| {
        let path = folder.join(name);
        fs::write(&path, format!("{name} key of the service tests")).unwrap();
        path
    });
    let key = folder.join("key");
    fs::copy(&first, &key).unwrap();
    let allow = echo.to_string();
    let bind = ["serve", "--bind", "127.0.0.1:0", "--allow", &allow, "--insecure", "--key"];
    let server = Server::start(&[&bind[..], &[key.to_str().unwrap()]].concat());
    let to = format!("0:{echo}");
    let with = |file: &Path| {
        [&server.at, "-L", &to, "--insecure", "--key", file.to_str().unwrap()].map(String::from)
    };
    let (old, new) = (with(&first), with(&second));
    let (old, new) = (old.each_ref().map(String::as_str), new.each_ref().map(String::as_str));
    let start = |args: &[&str]| Forward::of(&mut msctp(&[&["forward"], args].concat()));
    let forward = start(&old);
    let open = forward.connect(0);
    assert!(is_open(&open));
    // A key that is too short changes nothing.
    fs::write(&key, "short").unwrap();
    signal(&server.child, "HUP");
    server.errors.line_with("key: 5 bytes; want at least 16; rules and keys stay as they were");
    assert!(is_open(&start(&old).connect(0)) && is_open(&open));
    fs::copy(&second, &key).unwrap();
    signal(&server.child, "HUP");
    server.errors.line_with("SIGHUP: rules and keys are read again");
    assert!(
        is_open(&start(&new).connect(0)) && is_open(&open),
        "the association under the first key goes on"
    );
    let refused = run(&[&["forward", "--timeout", "3"], &old[..]].concat());
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
}

#[test]
fn a_drain_without_connections_to_wait_for_is_refused() {
    let output = run(&["serve", "--bind", "127.0.0.1:0", "--drain", "30"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "msctp: --drain 30: want it with --allow or --rules\n");
}

#[test]
fn sigterm_lets_connections_end_before_the_server_does() {
    let echo = echo();
    let args = ["serve", "--bind", "127.0.0.1:0", "--allow", &echo.to_string(), "--drain", "3600"];
    let mut server = Server::start(&args);
    let forward = forward(&server.at, &[echo], &[]);
    let open = forward.connect(0);
    assert!(is_open(&open));
    signal(&server.child, "TERM");
    server.errors.line_with("terminated: waiting at most 3600 s until 1 connections end");
    assert!(!is_open(&forward.connect(0)), "no new connections");
    assert!(is_open(&open));
    // All of it arrives, the last bytes included.
    let data = vec![7; 3_000_000];
    let got = thread::scope(|scope| {
        let (mut writer, data) = (&open, &data);
        scope.spawn(move || {
            writer.write_all(data).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut got = Vec::new();
        open.try_clone().unwrap().read_to_end(&mut got).unwrap();
        got
    });
    assert!(got == data);
    assert_eq!(end(&mut server.child).code(), Some(143));
}

#[test]
fn a_drain_is_bounded_and_a_second_signal_ends_it() {
    let echo = echo();
    for (drain, second) in [("1", false), ("3600", true)] {
        let args = ["serve", "--bind", "127.0.0.1:0", "--allow", &echo.to_string(), "--drain", drain];
        let mut server = Server::start(&args);
        let forward = forward(&server.at, &[echo], &[]);
        let open = forward.connect(0);
        assert!(is_open(&open));
        signal(&server.child, "TERM");
        server.errors.line_with("terminated: waiting at most");
        if second {
            signal(&server.child, "TERM");
        }
        assert_eq!(end(&mut server.child).code(), Some(143));
        // The client learns of it, and resets the connection.
        forward.errors.line_with("association lost: the peer ended the association: terminated");
        assert!(!is_open(&open));
    }
}

/// ssh ends its ProxyCommand with SIGHUP.
#[test]
fn sighup_and_sigquit_end_a_client_and_the_server_learns_of_it() {
    let echo = echo();
    let server = Server::start(&["serve", "--bind", "127.0.0.1:0", "--allow", &echo.to_string()]);
    for (name, code, reason) in [("HUP", 129, "ended by SIGHUP"), ("QUIT", 131, "ended by SIGQUIT")] {
        // The test may run under nohup.
        let command = msctp(&["forward", &server.at, "-L", &format!("0:{echo}")]);
        let mut forward = Forward::of(&mut by(&["env", "--default-signal=HUP,QUIT"], &command));
        let open = forward.connect(0);
        assert!(is_open(&open));
        signal(&forward.child, name);
        assert_eq!(end(&mut forward.child).code(), Some(code));
        let lost = server.errors.line_with("association lost");
        assert!(lost.contains(reason), "{lost}");
    }
}

#[test]
fn a_client_under_nohup_ignores_sighup() {
    let echo = echo();
    let server = Server::start(&["serve", "--bind", "127.0.0.1:0", "--allow", &echo.to_string()]);
    let command = msctp(&["forward", &server.at, "-L", &format!("0:{echo}")]);
    let mut forward = Forward::of(&mut by(&["env", "--ignore-signal=HUP"], &command));
    // The kernel then discards the signal.
    assert!(ignores_hangups(&forward.child));
    signal(&forward.child, "HUP");
    assert!(is_open(&forward.connect(0)) && forward.child.try_wait().unwrap().is_none());
}

/// Returns whether a process ignores SIGHUP.
fn ignores_hangups(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 1 != 0
}

#[test]
fn a_client_that_drains_listens_no_more() {
    let echo = echo();
    let server = Server::start(&["serve", "--bind", "127.0.0.1:0", "--allow", &echo.to_string()]);
    let mut forward = forward(&server.at, &[echo], &["--drain", "3600"]);
    let open = forward.connect(0);
    assert!(is_open(&open));
    signal(&forward.child, "TERM");
    wait_for("it listens no more", || TcpStream::connect(forward.at[0]).is_err());
    assert!(is_open(&open));
    drop(open);
    assert_eq!(end(&mut forward.child).code(), Some(143));
}

/// Returns the repository's folder of packaging.
fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

#[test]
fn systemd_takes_the_units() {
    let folder = folder("service-units");
    let verify = |units: &[PathBuf]| {
        let mut command = std::process::Command::new("systemd-analyze");
        command.args(["verify", "--man=no", "--recursive-errors=no"]).args(units).output()
    };
    let mut units = Vec::new();
    for entry in fs::read_dir(packaging().join("systemd")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        // Each option that a unit names is one of the command.
        let line = text.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/msctp ")).unwrap();
        let command = line.split(' ').next().unwrap();
        let help = String::from_utf8(run(&[command, "--help"]).stdout).unwrap();
        assert!(
            line.split(' ').filter(|word| word.starts_with("--")).all(|word| help.contains(word)),
            "{line}"
        );
        assert!(text.contains("\nRestartPreventExitStatus=2\n"), "invalid options");
        // A minimal system has no /usr/bin/kill.
        for line in text.lines().filter(|line| line.starts_with("Exec")) {
            let program = line.split(['=', ' ']).nth(1).unwrap();
            assert!(["/usr/bin/msctp", "/bin/sh"].contains(&program), "{line}");
        }
        let unit = folder.join(path.file_name().unwrap().to_str().unwrap().replace('@', "@office"));
        fs::write(&unit, text.replace("/usr/bin/msctp", PROGRAM)).unwrap();
        units.push(unit);
    }
    assert_eq!(units.len(), 3);
    let Ok(output) = verify(&units) else { return eprintln!("left out: no systemd-analyze") };
    let errors = stderr(&output);
    let ours: Vec<_> = errors.lines().filter(|line| line.contains("msctp")).collect();
    assert!(output.status.success() && ours.is_empty(), "{errors}");
    // It reports a line that it does not know.
    let text = fs::read_to_string(&units[0]).unwrap();
    fs::write(&units[0], text.replace("[Install]", "ProtectSistem=yes\n[Install]")).unwrap();
    assert!(stderr(&verify(&units[..1]).unwrap()).contains("ProtectSistem"));
}

/// Every file of the Debian packages, as the manifests name them for cargo-deb, exists or is created by the
/// script.
#[test]
fn the_debian_package_takes_files_that_are_there_or_that_the_script_makes() {
    for (program, folder) in [("msctp", "../../crates/cli"), ("msctp-lab", "../../lab/cli")] {
        check_package(program, &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
    }
}

/// Checks the package of a program, whose manifest is in `folder`.
fn check_package(program: &str, folder: &Path) {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let script = fs::read_to_string(folder.join("../../scripts/package")).unwrap();
    let assets = manifest.split_once("\nassets = [\n").unwrap().1.split_once("\n]").unwrap().0;
    assert_eq!(assets.lines().count(), 13);
    for line in assets.lines() {
        let [from, to, mode]: [String; 3] = serde_json::from_str(line.trim().trim_end_matches(',')).unwrap();
        assert!(to.starts_with("usr/") && u32::from_str_radix(&mode, 8).is_ok(), "{line}");
        if let Some(made) = from.strip_prefix(&format!("../../target/package/{program}/")) {
            let name = made.trim_end_matches("/*.1").replace(program, "$program");
            assert!(script.contains(&format!("\"$made/{name}\"")), "{from}");
            continue;
        }
        if let Some(built) = from.strip_prefix("target/release/") {
            assert_eq!(built, program);
            continue;
        }
        let (parent, pattern) = from.rsplit_once('/').unwrap();
        let extension = pattern.strip_prefix('*').unwrap_or(pattern);
        let mut entries = fs::read_dir(folder.join(parent)).unwrap();
        assert!(
            entries.any(|entry| entry.unwrap().file_name().to_str().unwrap().ends_with(extension)),
            "{from}"
        );
    }
    // cargo-deb, if it is installed, reads the same manifest.
    let mut command = std::process::Command::new("cargo");
    command.args(["deb", "--version"]).stderr(std::process::Stdio::null());
    if !command.output().is_ok_and(|output| output.status.success()) {
        return eprintln!("left out: no cargo-deb");
    }
    let mut command = std::process::Command::new("cargo");
    command.args(["deb", "--no-build", "--no-strip", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    let output = command.arg("--output").arg(std::env::temp_dir()).output().unwrap();
    // Only files that the build and the script make may be missing.
    let errors = stderr(&output);
    assert!(output.status.success() || errors.contains("target/"), "{errors}");
}

/// Returns the Rust files below the folders `src` of the crates in a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|end| end == "rs") => found.push(path),
                false => {}
            }
        }
    }
    found
}

#[test]
fn the_container_recipe_copies_what_is_there_and_runs_a_command_that_exists() {
    let text = fs::read_to_string(packaging().join("Containerfile")).unwrap();
    let root = packaging().join("..");
    let copies = text.lines().filter_map(|line| line.strip_prefix("COPY "));
    let mut copied: Vec<String> = Vec::new();
    for line in copies.filter(|line| !line.starts_with("--from=")) {
        let mut sources: Vec<&str> = line.split(' ').collect();
        sources.pop();
        assert!(!sources.is_empty() && sources.iter().all(|path| root.join(path).exists()), "COPY {line}");
        copied.extend(sources.into_iter().map(str::to_owned));
    }
    // The workspace's members, without which cargo does not read its manifest.
    for needed in ["Cargo.toml", "Cargo.lock", "crates", "lab", "python", "web"] {
        assert!(copied.iter().any(|path| path == needed), "{needed} is not copied");
    }
    // The image has no clippy and rustfmt, which the file wants.
    assert!(!copied.iter().any(|path| path == "rust-toolchain.toml"), "rustup would download components");
    // The files that sources include: the program uses nothing of the laboratory.
    let root = root.canonicalize().unwrap();
    let mut included = 0;
    for file in sources(&root.join("crates")) {
        let text = fs::read_to_string(&file).unwrap();
        let literals = text.split("include_str!(\"").chain(text.split("include_bytes!(\"")).skip(1);
        for literal in literals.filter_map(|rest| rest.split('"').next()) {
            let Ok(path) = file.parent().unwrap().join(literal).canonicalize() else { continue };
            let path = path.strip_prefix(&root).unwrap();
            included += 1;
            assert!(copied.iter().any(|copy| path.starts_with(copy)), "{} is not copied", path.display());
        }
    }
    assert!(included > 1, "{included}");
    let toolchain = fs::read_to_string(root.join("rust-toolchain.toml")).unwrap();
    let image = text.split_once("docker.io/library/rust:").unwrap().1.split_once('-').unwrap().0;
    assert!(toolchain.contains(&format!("\"{image}\"")), "the image has Rust {image}: {toolchain}");
    let command = text.lines().find_map(|line| line.strip_prefix("CMD ")).unwrap();
    let words: Vec<String> = serde_json::from_str(command).unwrap();
    let help = String::from_utf8(run(&[&words[0], "--help"]).stdout).unwrap();
    assert!(
        words.iter().filter(|word| word.starts_with("--")).all(|word| help.contains(word.as_str())),
        "{command}"
    );
}

#[test]
fn the_examples_of_the_packages_are_taken() {
    let folder = folder("service-examples");
    let examples = packaging().join("examples");
    fs::write(folder.join("clients"), "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n").unwrap();
    fs::copy(examples.join("rules"), folder.join("rules")).unwrap();
    let serve = fs::read_to_string(examples.join("serve.toml")).unwrap();
    let serve = serve.replace("/etc/msctp", folder.to_str().unwrap());
    let path = folder.join("serve.toml");
    fs::write(&path, serve).unwrap();
    Server::start(&["serve", "--config", path.to_str().unwrap(), "--bind", "127.0.0.1:0"]);
    // Nobody answers at a port of loopback; the options are taken.
    for (command, file) in [("forward", "forward-office.toml"), ("tunnel", "tunnel-office.toml")] {
        let path = folder.join(file);
        let text = fs::read_to_string(examples.join(file)).unwrap();
        fs::write(&path, text.replace("192.0.2.1", "127.0.0.1:9").replace("2222:", "0:")).unwrap();
        let output = run(&[command, "--config", path.to_str().unwrap(), "--timeout", "1"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    }
}

#[test]
fn systemd_learns_when_a_service_is_ready() {
    use std::os::unix::net::UnixDatagram;
    let path = folder("service-notify").join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(HANGS)).unwrap();
    let ready = || {
        let mut buffer = [0; 64];
        let len = socket.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"READY=1");
    };
    let with = |args: &[&str]| {
        let mut command = msctp(args);
        command.env("NOTIFY_SOCKET", &path);
        command
    };
    let server = Server::start_as(with(&["serve", "--bind", "127.0.0.1:0", "--allow", "127.0.0.1:1"]));
    ready();
    let _forward = Forward::of(&mut with(&["forward", "-L", "0:127.0.0.1:1", &server.at]));
    ready();
    // A socket that is gone is no reason to fail.
    fs::remove_file(&path).unwrap();
    let server = Server::start_as(with(&["serve", "--bind", "127.0.0.1:0", "--allow", "127.0.0.1:1"]));
    server.errors.line_with("NOTIFY_SOCKET");
}
