/** Control plane with Milepost that tests of one process share, one after the other; each finds it as new. */
import { v1CrdManifests } from "../../../crds/v1/manifests.ts";
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from "../control_plane/control_plane.ts";
import { type EtcdState, keepState } from "../control_plane/etcd_state.ts";
import { installPodGroupCrds } from "../parity/pod_group_crds.ts";
import {
  apply,
  type Cluster,
  crdsServed,
  installWithoutRights,
  onSharedPlane,
  type SharedClusterOptions,
} from "./installation.ts";

/** As `withCluster` of `installation.ts`, on the control plane that is shared. */
export type WithSharedCluster = (
  work: (cluster: Cluster) => Promise<void>,
  options?: SharedClusterOptions,
) => Promise<void>;

interface SharedPlane {
  readonly plane: ControlPlane;
  readonly state: EtcdState;
}

/** Kinds of control planes that are shared, by what they have beside Milepost. */
const PLANES = {
  plain: {},
  /** With the definitions of the v1 kinds and of the pod groups of their gangs. */
  v1: {
    async beforeControllers(plane) {
      await apply(plane, v1CrdManifests());
      await installPodGroupCrds(plane);
      await crdsServed(plane, []);
    },
  },
  /** With the rights that owner references need where this plugin is on. */
  enforcing: { admissionPlugins: ["OwnerReferencesPermissionEnforcement"] },
} as const satisfies Readonly<Record<string, ControlPlaneOptions>>;

async function start({ beforeControllers, ...options }: ControlPlaneOptions): Promise<SharedPlane> {
  const plane = await startControlPlane({
    ...options,
    audit: true,
    async beforeControllers(serving) {
      await installWithoutRights(serving);
      await beforeControllers?.(serving);
    },
  });
  try {
    return { plane, state: await keepState(plane.etcdUrl) };
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

/** One that starts before the first test and stops after the last. */
function startAroundTests(options: ControlPlaneOptions): WithSharedCluster {
  let shared: SharedPlane | undefined;
  Deno.test.beforeAll(async () => {
    shared = await start(options);
  });
  Deno.test.afterAll(() => shared?.plane.stop());
  return async (work, options = {}) => {
    if (shared === undefined) throw new Error("the control plane is there while tests run");
    const { plane, state } = shared;
    try {
      await onSharedPlane(await plane.lend(), work, options);
    } finally {
      await state.restore();
    }
  };
}

const shared = new Map<keyof typeof PLANES, WithSharedCluster>();

/**
 * Shares a control plane with scheduler and controllers, on which every request is audited. A test that stops
 * one of its programs needs a control plane of its own.
 */
export function shareCluster(kind: keyof typeof PLANES = "plain"): WithSharedCluster {
  const known = shared.get(kind) ?? startAroundTests(PLANES[kind]);
  shared.set(kind, known);
  return known;
}
