"""What the server runs: sshd, and nginx with a file and a video. All of it keeps its files in one folder."""
import os
import subprocess

SSH, WEB, ECHO = 2222, 8443, 9000
# Seconds of video, and its rate in bit/s.
VIDEO_LENGTH, VIDEO_RATE = 180, 4_000_000

SSHD = """Port {SSH}
ListenAddress 0.0.0.0
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PidFile none
Subsystem sftp internal-sftp
"""
NGINX = """worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
    access_log off;
    types {{ application/vnd.apple.mpegurl m3u8; video/mp2t ts; }}
    client_body_temp_path {folder}/tmp;
    proxy_temp_path {folder}/tmp;
    fastcgi_temp_path {folder}/tmp;
    uwsgi_temp_path {folder}/tmp;
    scgi_temp_path {folder}/tmp;
    server {{
        listen {WEB} ssl http2;
        ssl_certificate {folder}/web.crt;
        ssl_certificate_key {folder}/web.key;
        root {folder}/www;
    }}
}}
"""
# Answers each datagram with itself.
ECHO_SERVER = """import socket
echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
echo.bind(("0.0.0.0", {ECHO}))
while True:
    echo.sendto(*echo.recvfrom(2048))
"""


def quiet(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def prepare(folder, megabytes):
    """Keys, the files to load and the video: once for all transports."""
    www = os.path.join(folder, "www")
    os.makedirs(www)
    os.makedirs(os.path.join(folder, "tmp"))
    os.makedirs("/run/sshd", exist_ok=True)
    # nginx's worker and sshd give up root; they read from here.
    os.chmod(folder, 0o755)
    for name in ("host", "key"):
        quiet("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(folder, name))
    quiet("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=server",
          "-keyout", f"{folder}/web.key", "-out", f"{folder}/web.crt")
    with open(os.path.join(folder, "film"), "wb") as film:
        for _ in range(megabytes):
            film.write(os.urandom(1_000_000))
    with open(os.path.join(www, "large"), "wb") as large:
        large.truncate(8_000_000_000)
    quiet("ffmpeg", "-f", "lavfi", "-i", f"testsrc2=size=1280x720:rate=25:duration={VIDEO_LENGTH}", "-c:v", "libx264",
          "-preset", "ultrafast", "-b:v", str(VIDEO_RATE), "-minrate", str(VIDEO_RATE), "-maxrate", str(VIDEO_RATE),
          "-bufsize", str(VIDEO_RATE), "-g", "50", "-f", "hls", "-hls_time", "2", "-hls_list_size", "0", f"{www}/video.m3u8")
    for name, text in (("sshd.conf", SSHD), ("nginx.conf", NGINX), ("echo.py", ECHO_SERVER)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text.format(folder=folder, SSH=SSH, WEB=WEB, ECHO=ECHO))


def start(folder, prefix):
    """Starts the services, each behind `prefix`; the processes."""
    def service(*command):
        return subprocess.Popen([*prefix, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)
    return [
        service("/usr/sbin/sshd", "-D", "-f", f"{folder}/sshd.conf"),
        service("nginx", "-c", f"{folder}/nginx.conf"),
        service("python3", f"{folder}/echo.py"),
    ]
