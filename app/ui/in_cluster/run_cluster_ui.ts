/** `milepost ui --in-cluster` as a process: settings, logging, permissions, and the end by a signal. */
import type { z } from "zod";
import { UI } from "../../../crds/names.ts";
import { aborted } from "../../../platform/base/aborted.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import type { uiSettings } from "../../configuration/ui_settings.ts";
import { startLogging, stopLogging } from "../../logging.ts";
import { giveUpPermissions } from "../../permissions.ts";
import { stopSignal } from "../../signals.ts";
import { startClusterUi } from "./cluster_ui.ts";

/** Serves until it is stopped. */
export async function runClusterUi(
  { kubeconfig, context, uiPort: port, uiHosts: hosts, logLevel: level, ...settings }: z.infer<
    typeof uiSettings
  >,
): Promise<void> {
  await startLogging({ level });
  const signal = stopSignal();
  const connection = loadKubeconfig(kubeconfig, undefined, context);
  await giveUpPermissions({
    runsCredentialPlugin: connection.getCurrentUser()?.exec !== undefined,
    writesFiles: false,
  });
  const running = await startClusterUi({
    ...settings,
    port,
    hosts,
    namespace: settings.managerNamespace,
    managerToken: settings.managerToken ?? UI.managerToken,
  }, { connection });
  await aborted(signal);
  await running.stop();
  await stopLogging();
}
