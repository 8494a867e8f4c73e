/** Tests of the hosts files of namespaces. */
import assert from "node:assert/strict";
import {
  HostsFiles,
  hostsText,
  type NamespaceNames,
  withHostsFileFirst,
} from "../../../../standalone/kubelet/names/hosts_file.ts";

const ns: NamespaceNames = {
  namespace: "ns",
  pods: [
    { namespace: "ns", hostname: "job-0", subdomain: "job", loopback: "127.64.0.1" },
    { namespace: "ns", hostname: "alone", subdomain: "", loopback: "127.64.0.2" },
    { namespace: "ns", hostname: "localhost", subdomain: "", loopback: "127.64.0.3" },
  ],
  services: new Map([["web", "127.64.0.2"], ["localhost", "127.64.0.2"]]),
};
const other: NamespaceNames = {
  namespace: "other",
  pods: [{ namespace: "other", hostname: "a", subdomain: "job", loopback: "127.64.9.1" }],
  services: new Map([["web", "127.64.9.1"]]),
};
const MACHINE = "127.0.0.1 localhost\n10.0.0.1 web\n";

Deno.test("`hostsText()` has pods and Services in all forms, those of other namespaces in the long ones", () => {
  assert.deepEqual(hostsText("ns", [ns, other], MACHINE).trimEnd().split("\n"), [
    "127.64.0.1 job-0.job.ns.svc.cluster.local",
    "127.64.0.1 job-0.job.ns.svc",
    "127.64.0.1 job-0.job.ns",
    "127.64.0.1 job-0.job",
    "127.64.0.2 web.ns.svc.cluster.local",
    "127.64.0.2 web.ns.svc",
    "127.64.0.2 web.ns",
    "127.64.0.2 web",
    "127.64.0.2 localhost.ns.svc.cluster.local",
    "127.64.0.2 localhost.ns.svc",
    "127.64.0.2 localhost.ns",
    "127.64.9.1 a.job.other.svc.cluster.local",
    "127.64.9.1 a.job.other.svc",
    "127.64.9.1 a.job.other",
    "127.64.9.1 web.other.svc.cluster.local",
    "127.64.9.1 web.other.svc",
    "127.64.9.1 web.other",
    "127.64.0.1 job-0",
    "127.64.0.2 alone",
    "127.0.0.1 localhost",
    "10.0.0.1 web",
  ]);
  assert.equal(hostsText("empty", [], MACHINE).trimStart(), MACHINE);
});

const SWITCHES: Record<string, [string, string | undefined]> = {
  "leaves a file alone that has them first": ["passwd: files\nhosts: files dns\n", undefined],
  "leaves a file without hosts alone": ["passwd: files\n", undefined],
  "moves them before systemd-resolved": [
    "group: files\nhosts: mymachines resolve [!UNAVAIL=return] files myhostname dns\n#\n",
    "group: files\nhosts: files mymachines resolve [!UNAVAIL=return] myhostname dns\n#\n",
  ],
  "moves them with what follows them": [
    "hosts:\tdns files [NOTFOUND=return] x",
    "hosts: files dns x",
  ],
  "adds them": ["hosts: dns", "hosts: files dns"],
};
for (const [sentence, [text, want]] of Object.entries(SWITCHES)) {
  Deno.test(`\`withHostsFileFirst()\` ${sentence}`, () => {
    assert.equal(withHostsFileFirst(text), want);
  });
}

Deno.test("`HostsFiles` follows the names in the same file, longer and shorter", async () => {
  const folder = await Deno.makeTempDir();
  try {
    let names = [ns, other];
    const files = new HostsFiles({ folder, names: () => names, machineHosts: () => MACHINE });
    files.changed();
    const path = files.fileFor("ns");
    const text = () => Deno.readTextFileSync(path);
    const inode = Deno.statSync(path).ino;
    const before = text();
    assert.equal(before, hostsText("ns", names, MACHINE));
    const late = { namespace: "ns", hostname: "job-1", subdomain: "job", loopback: "127.64.0.7" };
    for (const next of [[{ ...ns, pods: [...ns.pods, late] }, other], [other], [ns, other]]) {
      names = next;
      files.changed();
      files.changed();
      await Promise.resolve();
      assert.equal(text(), hostsText("ns", names, MACHINE));
      assert.equal(Deno.statSync(path).ino, inode);
    }
    assert.equal(text(), before);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
