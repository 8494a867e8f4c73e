/** Options of a control plane. */
import type { ControlPlane } from "./control_plane.ts";

/** Flags added to those of a program; the last of a name holds. */
export interface ExtraFlags {
  readonly etcd?: readonly string[];
  readonly apiServer?: readonly string[];
  readonly controllerManager?: readonly string[];
  readonly scheduler?: readonly string[];
}

/** Options of {@link startControlPlane}. */
export interface ControlPlaneOptions {
  /** Whether pods find nodes. Default true. */
  readonly scheduler?: boolean;
  /** Whether the controllers of Kubernetes run (Jobs, garbage, service accounts). Default true. */
  readonly controllerManager?: boolean;
  /**
   * Rules of the audit policy, as YAML values; then {@link ControlPlane.auditLog} has what they
   * ask for. `true`: metadata of every request.
   */
  readonly audit?: true | readonly unknown[];
  /** Default `Node,RBAC`. */
  readonly authorizationMode?: string;
  /** Admission plugins beside those that are on by default. */
  readonly admissionPlugins?: readonly string[];
  readonly flags?: ExtraFlags;
  /**
   * Called when the API server serves, before scheduler and controllers start. CRDs that are put
   * there now are known to the garbage collector at once; of later ones it learns within 30 s.
   */
  readonly beforeControllers?: (plane: ControlPlane) => Promise<void>;
}
