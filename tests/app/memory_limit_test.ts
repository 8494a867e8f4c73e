/** Tests of the memory limit that is found. */
import assert from "node:assert/strict";
import { findMemoryLimit, memoryLimitHere } from "../../app/memory_limit.ts";

const MI = 1 << 20;
const NONE_V1 = "9223372036854771712";

interface Case {
  readonly files: Readonly<Record<string, string>>;
  readonly given?: number;
  readonly want: { readonly bytes: number; readonly source: string };
}

const cases: Record<string, Case> = {
  "neither version": { files: {}, want: { bytes: 8192 * MI, source: "machine" } },
  "version 2, as a container sees it": {
    files: { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": `${512 * MI}\n` },
    want: { bytes: 512 * MI, source: "cgroup v2" },
  },
  "version 2 without a limit": {
    files: { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "max\n" },
    want: { bytes: 8192 * MI, source: "machine" },
  },
  "version 2, where a group around it has the least limit": {
    files: {
      "/proc/self/cgroup": "0::/system.slice/milepost.service\n",
      "/sys/fs/cgroup/system.slice/milepost.service/memory.max": `${600 * MI}\n`,
      "/sys/fs/cgroup/system.slice/memory.max": `${300 * MI}\n`,
      "/sys/fs/cgroup/memory.max": "max\n",
    },
    want: { bytes: 300 * MI, source: "cgroup v2" },
  },
  "version 1, of several controllers": {
    files: {
      "/proc/self/cgroup": "5:cpu,cpuacct:/other\n4:memory:/kubepods/pod1/c1\n0::/\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": NONE_V1,
      "/sys/fs/cgroup/memory/kubepods/pod1/c1/memory.limit_in_bytes": `${256 * MI}`,
    },
    want: { bytes: 256 * MI, source: "cgroup v1" },
  },
  "version 1 in a container, whose path is that outside": {
    files: {
      "/proc/self/cgroup": "4:memory:/kubepods/pod1/c1\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": `${256 * MI}`,
    },
    want: { bytes: 256 * MI, source: "cgroup v1" },
  },
  "both versions": {
    files: {
      "/proc/self/cgroup": "4:memory:/\n0::/\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": `${256 * MI}`,
      "/sys/fs/cgroup/memory.max": `${512 * MI}`,
    },
    want: { bytes: 256 * MI, source: "cgroup v1" },
  },
  "a limit beyond the machine's memory": {
    files: { "/proc/self/cgroup": "0::/", "/sys/fs/cgroup/memory.max": `${16_384 * MI}` },
    want: { bytes: 8192 * MI, source: "machine" },
  },
  "the setting, whatever else there is": {
    given: 1024 * MI,
    files: { "/proc/self/cgroup": "0::/", "/sys/fs/cgroup/memory.max": `${512 * MI}` },
    want: { bytes: 1024 * MI, source: "--memory-limit" },
  },
};

for (const [name, { files, given, want }] of Object.entries(cases)) {
  Deno.test(`\`findMemoryLimit()\`: ${name}`, () => {
    const read = (path: string) => files[path];
    assert.deepEqual(findMemoryLimit({ given, read, machineBytes: 8192 * MI }), want);
  });
}

Deno.test("`memoryLimitHere()` finds a limit on this machine", () => {
  const { bytes } = memoryLimitHere(undefined);
  assert(bytes > 64 * MI && bytes <= Deno.systemMemoryInfo().total);
});
