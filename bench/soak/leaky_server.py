"""A server that leaves a process behind which hides from everybody: another session, an empty environment.

    python leaky_server.py FOLDER ARGUMENTS OF stdio_server.py …

No clean-up can find such a process by what it inherited; a soak must see it. It ends by itself after ten minutes.
"""

import runpy
import subprocess
import sys

HIDE = "import sys, time; time.sleep(600)"

if __name__ == "__main__":
    folder, program = sys.argv[1], sys.argv[2]
    quiet = subprocess.DEVNULL
    subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", HIDE, folder],
        stdin=quiet,
        stdout=quiet,
        stderr=quiet,
        env={},
        start_new_session=True,
    )
    sys.argv = sys.argv[2:]
    runpy.run_path(program, run_name="__main__")
