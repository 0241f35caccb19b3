"""Whether smem accepts every command of measure.py: check.py SMEM. Measures nothing: SMEM_DEVICE names no device."""
import os
import shlex
import subprocess
import sys

import measure

wrong, checked = [], 0


class Checked(measure.Measured):
    def smem(self, words, quick=True):
        global checked
        checked += 1
        done = subprocess.run([self.options.smem, "bench", *shlex.split(words)], capture_output=True, text=True,
                              env=os.environ | {"SMEM_DEVICE": "there is no such device"})
        if done.returncode != 1:
            wrong.append(f"smem bench {words}: {done.stderr}")

    def cuda(self, case):
        return None

    def torch(self, make):
        return None


class Options:
    smem = sys.argv[1]
    shapes = 1


for name, table in measure.TABLES.items():
    if name != "products":  # draws its own commands
        table(Checked(Options))
print(f"{checked} commands")
if wrong:
    sys.exit("\n".join(wrong))
