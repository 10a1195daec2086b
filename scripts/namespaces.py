"""Two hosts of this machine for benchmarks: network namespaces that end with the processes that hold them."""
import atexit
import subprocess
import time


def run(*command, check=True):
    """Runs a command to its end and returns what it prints; with `check`, a failure ends the program with the command's error."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


class Hosts:
    """A mobile and a server: each the words before a command that runs there. They end with this program at the latest."""

    def __init__(self):
        self.holders = []
        atexit.register(self.end)
        self.mobile, self.server = self.host(), self.host()

    def host(self):
        """One more host: the words before a command that runs there."""
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.holders.append(holder)
        while "sleep" not in open(f"/proc/{holder.pid}/comm").read():
            time.sleep(0.01)
        words = ["nsenter", "--net", "--target", str(holder.pid)]
        run(*words, "ip", "link", "set", "lo", "up")
        return words

    def end(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()
