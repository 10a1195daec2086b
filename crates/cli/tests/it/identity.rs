//! `msctp identity`: the key of this user, and the known hosts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::PROGRAM;
use crate::process::{finish, folder};

const ONE: &str = "SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0";
const TWO: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

/// A user with an empty home folder.
struct User(PathBuf);

impl User {
    fn new(name: &str) -> Self {
        Self(folder(&format!("identity-{name}")))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(".config/msctp").join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.env("HOME", &self.0).env_remove("XDG_CONFIG_HOME").arg("identity").args(args);
        command
    }

    fn identity(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn succeeds(&self, args: &[&str]) -> String {
        let done = self.identity(args);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    fn fails(&self, args: &[&str], code: i32, message: &str) {
        let done = self.identity(args);
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(error.contains(message), "{error}");
        assert_eq!(done.status.code(), Some(code), "{error}");
    }
}

#[test]
fn the_key_is_generated_once_and_kept_secret() {
    let user = User::new("key");
    let first = user.succeeds(&[]);
    assert!(first.starts_with("SHA256:") && first.ends_with("/.config/msctp/key.der\n"), "{first}");
    assert_eq!(user.succeeds(&[]), first, "the same key");
    assert_eq!((mode(user.file("key.der")), mode(user.file("."))), (0o600, 0o700));
    assert_ne!(User::new("other-key").succeeds(&[])[..50], first[..50], "another user's");

    // XDG_CONFIG_HOME, but only if it is absolute.
    let elsewhere = user.0.join("elsewhere");
    for (folder, expected) in
        [(elsewhere.to_str().unwrap(), "elsewhere/msctp/key.der"), ("relative", "/.config/msctp/key.der")]
    {
        let mut command = Command::new(PROGRAM);
        let done =
            command.env("HOME", &user.0).env("XDG_CONFIG_HOME", folder).arg("identity").output().unwrap();
        assert!(String::from_utf8_lossy(&done.stdout).trim_end().ends_with(expected));
    }
}

#[test]
fn a_key_that_others_can_read_or_that_is_damaged_is_refused() {
    let user = User::new("readable");
    user.succeeds(&[]);
    let key = user.file("key.der");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    user.fails(&[], 2, "key.der: mode 0640 lets others use the key; want 0600: chmod 600 ");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&key, b"no key").unwrap();
    user.fails(&[], 2, "key.der: not an Ed25519 key in PKCS #8");
    assert_eq!(fs::read(&key).unwrap(), b"no key", "never replaced");
}

#[test]
fn forgetting_an_unknown_host_creates_no_file() {
    let user = User::new("unknown");
    user.fails(&["--forget", "nope"], 2, "--forget nope: ");
    assert!(!user.file("known_hosts.lock").exists());
}

#[test]
fn hosts_are_known_until_they_are_forgotten() {
    let user = User::new("hosts");
    let trust = |host: &str, key: &str| format!("--trust={host}={key}");
    user.succeeds(&[&trust("Files.example", ONE)]);
    user.succeeds(&[&trust("192.0.2.1:9000", TWO)]);
    user.succeeds(&[&trust("files.example", ONE)]);
    let file = user.file("known_hosts");
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("files.example {ONE}\n192.0.2.1:9000 {TWO}\n"));
    assert!(user.succeeds(&[]).ends_with(&format!("{ONE}  files.example\n{TWO}  192.0.2.1:9000\n")));

    let changed =
        format!("known_hosts:1 has {ONE}, the new key is {TWO}; an attacker may be between you and it.");
    user.fails(&[&trust("files.example", TWO)], 1, &changed);
    user.fails(&[&trust("files.example", TWO)], 1, "run `msctp identity --forget files.example`");
    assert!(fs::read_to_string(&file).unwrap().contains(ONE), "unchanged");

    fs::write(&file, format!("# mine\n\nfiles.example {ONE}\nother.example\t{TWO}\n")).unwrap();
    user.succeeds(&["--forget", "FILES.example"]);
    user.succeeds(&[&trust("files.example", TWO)]);
    let expected = format!("# mine\n\nother.example\t{TWO}\nfiles.example {TWO}\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    user.fails(
        &["--forget", "absent.example"],
        2,
        "known_hosts has no such host; `msctp identity` lists them",
    );
}

fn mode(path: PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
#[expect(clippy::disallowed_methods, reason = "waits for another process")]
fn a_change_waits_for_that_of_another_process_and_sees_it() {
    let user = User::new("locked");
    user.succeeds(&[]);
    let lock = fs::File::create(user.file("known_hosts.lock")).unwrap();
    lock.lock().unwrap();
    let trust = format!("--trust=files.example={TWO}");
    let mut other = user.command(&[&trust]).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(other.try_wait().unwrap().is_none(), "it waits for the lock");
    fs::write(user.file("known_hosts"), format!("files.example {ONE}\n")).unwrap();
    drop(lock);
    let other = finish(other);
    let error = String::from_utf8_lossy(&other.stderr);
    assert!(
        other.status.code() == Some(1) && error.contains("the key of files.example has changed"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(user.file("known_hosts")).unwrap(), format!("files.example {ONE}\n"));
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_an_empty_one() {
    let user = User::new("unreadable");
    user.succeeds(&[]);
    // The owner of a loop of links, and of one to a disk that is not mounted, sees an error, as anybody does.
    for target in ["known_hosts", "not-mounted/known_hosts"] {
        let (link, trust) = (user.file("known_hosts"), format!("--trust=files.example={ONE}"));
        std::os::unix::fs::symlink(target, &link).unwrap();
        user.fails(&[&trust], 2, "known_hosts: ");
        user.fails(&[], 2, "known_hosts: ");
        assert_eq!(fs::read_link(&link).unwrap(), PathBuf::from(target), "not replaced");
        fs::remove_file(link).unwrap();
    }
    let key = user.file("key.der");
    fs::remove_file(&key).unwrap();
    std::os::unix::fs::symlink("key.der", &key).unwrap();
    user.fails(&[], 2, "cannot read ");
}

#[test]
fn the_folder_is_made_and_kept_private() {
    let user = User::new("folder");
    user.succeeds(&[&format!("--trust=files.example={ONE}")]);
    assert_eq!(mode(user.file(".")), 0o700, "whichever file is the first");
    assert_eq!((mode(user.file("known_hosts")), mode(user.file("known_hosts.lock"))), (0o600, 0o600));
    for shared in [0o770, 0o702] {
        fs::set_permissions(user.file("."), fs::Permissions::from_mode(shared)).unwrap();
        let message =
            format!("msctp: mode {shared:04o} lets others replace the key and the known hosts; want 0700");
        user.fails(&[], 2, &message);
        user.fails(&["--forget", "files.example"], 2, &message);
    }
    fs::set_permissions(user.file("."), fs::Permissions::from_mode(0o755)).unwrap();
    user.succeeds(&["--forget", "files.example"]);
}

#[test]
fn errors_name_the_line_and_the_remedy() {
    let user = User::new("errors");
    user.fails(&["--trust", "files.example"], 2, "want HOST=FINGERPRINT");
    user.fails(&["--trust", "files.example=abc"], 2, "\"abc\" is not a fingerprint: want SHA256:");
    user.fails(&["--trust", &format!("a b={ONE}")], 2, "want a name or an address");
    user.succeeds(&[]);
    fs::write(user.file("known_hosts"), format!("# mine\nfiles.example {ONE} more\n")).unwrap();
    user.fails(&[], 2, "known_hosts:2: 3 words; want two, a host and a fingerprint");
    fs::write(user.file("known_hosts"), "files.example SHA256:abc\n").unwrap();
    user.fails(&[], 2, "known_hosts:1: \"SHA256:abc\" is not a fingerprint");
    let own = user.identity(&[]).stdout;
    assert!(own.starts_with(b"SHA256:"), "its own fingerprint is shown all the same");
    let file = user.0.join("file");
    fs::write(&file, "").unwrap();
    let mut command = user.command(&[]);
    let output = command.env("XDG_CONFIG_HOME", &file).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("the variable XDG_CONFIG_HOME names another folder for the keys"), "{error}");
}
