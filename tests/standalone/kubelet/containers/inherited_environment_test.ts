/** Tests of the caches and proxies that pods inherit. */
import assert from "node:assert/strict";
import {
  exceptPods,
  inheritedEnvironment,
} from "../../../../standalone/kubelet/containers/inherited_environment.ts";
import type { NameTable } from "../../../../standalone/kubelet/names/name_replacement.ts";
import { pod, shell, withKubelet } from "../rig.ts";

const names: NameTable = {
  namespace: "ns",
  subdomains: new Set(["job"]),
  podAddress: () => "",
  services: new Map([["svc", "127.64.0.1"]]),
  podIPs: new Map([["100.64.0.1", "127.64.0.1"]]),
};
const LOCAL = "localhost,127.0.0.1,127.0.0.0/8,::1,.svc,.cluster.local";

Deno.test("`inheritedEnvironment()` hands on caches by name, and nothing else", () => {
  assert.deepEqual(
    inheritedEnvironment({
      HOME: "/home/ada",
      HF_HOME: "/data/hf",
      TORCH_HOME: "/data/torch",
      PIP_CACHE_DIR: "/data/pip",
      HF_TOKEN: "secret",
      AWS_SECRET_ACCESS_KEY: "secret",
      NO_PROXY: "without.a.proxy",
    }),
    {
      XDG_CACHE_HOME: "/home/ada/.cache",
      HF_HOME: "/data/hf",
      TORCH_HOME: "/data/torch",
      PIP_CACHE_DIR: "/data/pip",
    },
  );
  assert.deepEqual(
    inheritedEnvironment({ HOME: "/home/ada", XDG_CACHE_HOME: "/big/cache", HF_HOME: "" }),
    { XDG_CACHE_HOME: "/big/cache" },
  );
  assert.deepEqual(inheritedEnvironment({}), {});
});

Deno.test("`inheritedEnvironment()` completes the exceptions of proxies, in both spellings", () => {
  const both = (list: string) => ({ NO_PROXY: list, no_proxy: list });
  assert.deepEqual(inheritedEnvironment({ HTTPS_PROXY: "http://proxy:3128" }), {
    HTTPS_PROXY: "http://proxy:3128",
    ...both(LOCAL),
  });
  assert.deepEqual(
    inheritedEnvironment({ http_proxy: "http://p", no_proxy: "intern, ::1", NO_PROXY: "other" }),
    {
      http_proxy: "http://p",
      ...both("other,intern,::1,localhost,127.0.0.1,127.0.0.0/8,.svc,.cluster.local"),
    },
  );
});

Deno.test("`exceptPods()` adds the namespace's Services and pods where there are proxies", () => {
  const list = "x,.ns,svc,job,127.64.0.1";
  assert.deepEqual(exceptPods({ A: "1", NO_PROXY: "x" }, names), {
    A: "1",
    NO_PROXY: list,
    no_proxy: list,
  });
  assert.deepEqual(exceptPods({ A: "1" }, names), { A: "1" });
});

Deno.test("`startKubelet()` gives pods caches and proxies, but a HOME of their own", () => {
  const environment = inheritedEnvironment({
    HOME: "/home/ada",
    HF_HOME: "/data/hf",
    HTTP_PROXY: "http://proxy:3128",
  });
  return withKubelet(async (rig) => {
    const env = [{ name: "HF_HOME", value: "/pod/hf" }];
    rig.create(pod("plain", [shell("echo $HOME; echo $HF_HOME $XDG_CACHE_HOME; echo $NO_PROXY")]));
    rig.create(pod("own", [shell("echo $HF_HOME", { env })]));
    await rig.phase("plain", "Succeeded");
    const [home = "", caches, exceptions = ""] = (await rig.logs("plain")).split("\n");
    assert.match(home, /\/pods\/.*\/home$/);
    assert.equal(caches, "/data/hf /home/ada/.cache");
    assert.ok(exceptions.startsWith(`${LOCAL},.ns,127.`), exceptions);
    await rig.phase("own", "Succeeded");
    assert.equal(await rig.logs("own"), "/pod/hf\n");
  }, { environment });
});
