/**
 * Milepost on a real control plane, as `deploy/` would install it: CRDs, namespace, service account,
 * the Lease of `deploy/`, and exactly the rights of `app/manager/rights.ts`; the manager runs with a
 * token of that account.
 *
 * ```ts
 * import { withCluster } from "./support/installation.ts";
 *
 * Deno.test("…", () =>
 *   withCluster(async ({ plane, installation, manager, kubectl }) => {
 *     await plane.client.create(KINDS.trainJob, trainJob("a", "shell"));   // as the administrator
 *     await kubectl(["wait", "--for=condition=Complete", "trainjob/a", "--timeout=60s"]);
 *     await manager.kill("SIGKILL");                    // a process of its own: `inProcess: false`
 *     await installation.startManager({ flags: { jobset: "builtin" } });   // a further replica
 *     await plane.apiServer.stop(); await plane.apiServer.start();         // same port, same data
 *     const audited = await plane.auditLog();           // with `plane: { audit: true }`
 *   }, { inProcess: false, plane: { audit: true } }));
 * ```
 *
 * `withCluster(work, options)`: control plane + installation + one manager that is ready + one node
 * (`node: false` for none). `withControlPlane` of `../control_plane/control_plane.ts` is the plane
 * alone; `install(plane)` and `startTestNode(plane)` put the rest on it. All stop whatever happens.
 * A start costs 7 s of a core: tests that need no plane of their own take that of `shared_cluster.ts`.
 */
import { z } from "zod";
import { managerRbac } from "../../../app/manager/manager_roles.ts";
import type { ManagerPart } from "../../../app/manager/rights.ts";
import { lease } from "../../../deploy/manager_manifests.ts";
import { DEFAULTS } from "../../../deploy/installation_settings.ts";
import { publicConfiguration } from "../../../deploy/roles.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { crdManifests } from "../../../crds/manifests.ts";
import { MANAGER } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import { type CommandResult, run } from "../../support/command.ts";
import { until } from "../../support/until.ts";
import {
  type ControlPlane,
  type ControlPlaneOptions,
  withControlPlane,
} from "../control_plane/control_plane.ts";
import {
  managerSettings,
  type ManagerStart,
  startManagerHere,
  startManagerProcess,
  type TestManager,
} from "./manager.ts";
import { startTestNode, type TestNode } from "./node.ts";

export type { ManagerStart, TestManager } from "./manager.ts";

/** Milepost's objects in a cluster. */
export interface Installation {
  readonly plane: ControlPlane;
  /** Of the manager's service account. */
  readonly kubeconfig: string;
  /** As the manager's service account. */
  readonly client: KubeClient;
  startManager(options?: ManagerStart): Promise<TestManager>;
  /** Ends every manager. */
  stop(): Promise<void>;
}

/** Options of an installation. */
export interface InstallOptions {
  /** Whether our CRD of JobSets is installed; false where upstream's is. Default true. */
  readonly jobSetCrd?: boolean;
  /** The parts of the manager whose rights its account gets. Default: all. */
  readonly parts?: readonly ManagerPart[];
}

/** Runs the kubectl of the control plane as the administrator; throws where it fails. */
export async function kubectl(
  plane: ControlPlane,
  args: readonly string[],
  stdin?: string,
): Promise<string> {
  const { code, stdout, stderr } = await tryKubectl(plane, args, stdin);
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}: ${stderr}`);
  return stdout;
}

/** Like {@link kubectl}, but answers also where it fails. */
export async function tryKubectl(
  plane: ControlPlane,
  args: readonly string[],
  stdin?: string,
): Promise<CommandResult> {
  return await run(plane.programs.kubectl ?? "kubectl", {
    args: [...args],
    env: { KUBECONFIG: plane.kubeconfig, HOME: plane.folder },
    timeoutMs: 120_000,
    ...stdin === undefined ? {} : { stdin },
  });
}

/** Applies objects as users do, client-side. */
export async function apply(plane: ControlPlane, objects: readonly unknown[]): Promise<void> {
  const list = { apiVersion: "v1", kind: "List", items: objects };
  // Checking takes seconds of a fresh server's time, and what is given here is not typed by hand.
  await kubectl(plane, ["apply", "--validate=false", "-f", "-"], JSON.stringify(list));
}

/** Waits until the API server serves these kinds, such as `crd/jobsets.jobset.x-k8s.io`; none: all of them. */
export async function crdsServed(plane: ControlPlane, names: readonly string[]): Promise<void> {
  const which = names.length > 0 ? names : ["crd", "--all"];
  // kubectl does not wait for an object that has no conditions at all yet: it fails at once.
  await until("CRDs are served", async () => {
    await kubectl(plane, ["wait", "--for=condition=Established", "--timeout=60s", ...which]);
    return true;
  });
}

const tokenSchema = z.looseObject({ status: z.looseObject({ token: z.string() }) });

/** A token of a service account for the API server, good for a day. */
export async function serviceAccountToken(
  client: KubeClient,
  account: { readonly namespace: string; readonly name: string },
): Promise<string> {
  const answer = await client.createSubresource(KINDS.serviceAccount, account, "token", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 86_400 },
  });
  return tokenSchema.parse(answer).status.token;
}

/** The rights of the manager's account. */
const rightsOf = ({ parts }: InstallOptions) =>
  managerRbac({ namespace: MANAGER.namespace, serviceAccount: MANAGER.name }, {}, parts);

/** Puts Milepost's objects into the cluster: all but the rights of its account, and others with them. */
export async function installWithoutRights(
  plane: ControlPlane,
  { jobSetCrd = true }: InstallOptions = {},
  others: readonly unknown[] = [],
): Promise<void> {
  const namespace = MANAGER.namespace;
  const crds = crdManifests().filter(({ spec }) =>
    jobSetCrd || spec.names.kind !== KINDS.jobSet.kind
  );
  await apply(plane, [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    ...crds,
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: MANAGER.name, namespace } },
    lease(DEFAULTS),
    ...publicConfiguration(DEFAULTS),
    ...others,
  ]);
  const names = crds.map(({ metadata }) => `crd/${metadata.name}`);
  await crdsServed(plane, names);
}

/** Puts Milepost's objects into the cluster. */
export async function install(
  plane: ControlPlane,
  options: InstallOptions = {},
): Promise<Installation> {
  await installWithoutRights(plane, options, rightsOf(options));
  return await installationOn(plane);
}

async function installationOn(plane: ControlPlane): Promise<Installation> {
  const account = { namespace: MANAGER.namespace, name: MANAGER.name };
  const token = await serviceAccountToken(plane.client, account);
  const kubeconfig = await plane.kubeconfigFor("manager", { token });
  const client = createClient({ connection: loadKubeconfig(kubeconfig) });
  const managers: TestManager[] = [];
  return {
    plane,
    kubeconfig,
    client,
    async startManager(start = {}) {
      const chosen = managerSettings(kubeconfig, start.flags);
      const manager = start.inProcess
        ? await startManagerHere(client, chosen, start)
        : await startManagerProcess(plane, chosen, start);
      managers.push(manager);
      return manager;
    },
    async stop() {
      await Promise.all(managers.map((manager) => manager.kill()));
    },
  };
}

/** A control plane with Milepost on it. */
export interface Cluster {
  readonly plane: ControlPlane;
  readonly installation: Installation;
  readonly manager: TestManager;
  readonly node: TestNode | undefined;
  /** Runs kubectl as the administrator. Returns its output; throws if it fails. */
  kubectl(args: readonly string[], stdin?: string): Promise<string>;
}

/** Options of an installation with its manager and node. */
export interface SharedClusterOptions extends ManagerStart, Pick<InstallOptions, "parts"> {
  /** Default true. */
  readonly node?: boolean;
  /** Called before the manager starts. */
  readonly beforeManager?: (installation: Installation) => Promise<void>;
}

/** Options of {@link withCluster}. */
export interface ClusterOptions extends SharedClusterOptions, InstallOptions {
  readonly plane?: ControlPlaneOptions;
}

/** Runs `work` with an installation, a manager that is ready and a node, which are stopped whatever happens. */
async function onInstallation(
  installation: Installation,
  work: (cluster: Cluster) => Promise<void>,
  options: SharedClusterOptions,
): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => installation.stop());
  const { plane } = installation;
  await options.beforeManager?.(installation);
  const manager = await installation.startManager(options);
  const node = options.node ?? true ? await startTestNode(plane) : undefined;
  cleanup.defer(() => node?.stop());
  await work({
    plane,
    installation,
    manager,
    node,
    kubectl: (args, stdin) => kubectl(plane, args, stdin),
  });
}

/** Runs `work` with a whole cluster, which is stopped whatever happens. */
export async function withCluster(
  work: (cluster: Cluster) => Promise<void>,
  options: ClusterOptions = {},
): Promise<void> {
  const installing = Promise.withResolvers<Installation>();
  await withControlPlane(async () => onInstallation(await installing.promise, work, options), {
    ...options.plane,
    async beforeControllers(serving) {
      await options.plane?.beforeControllers?.(serving);
      installing.resolve(await install(serving, options));
    },
  });
}

/** Runs `work` on a control plane that has all of Milepost but the rights of its account. */
export async function onSharedPlane(
  plane: ControlPlane,
  work: (cluster: Cluster) => Promise<void>,
  options: SharedClusterOptions,
): Promise<void> {
  await apply(plane, rightsOf(options));
  await onInstallation(await installationOn(plane), work, options);
}
