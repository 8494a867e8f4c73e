/** `milepost ui` in this process, for the user of a connection, and a session of it. */
import { startUserUi } from "../../app/ui/user_ui.ts";
import { MANAGER } from "../../crds/names.ts";
import type { Connection } from "../../platform/kube/connection/connection.ts";
import { openSession, type PageSession } from "./page_client.ts";

/** Serves the page while `work` runs; `missing` returns what it says is missing. */
export async function withUserPage(
  connection: Connection,
  work: (page: PageSession, missing: () => readonly string[]) => Promise<void>,
  namespaces: readonly string[] = [],
): Promise<void> {
  const ui = await startUserUi({
    port: 0,
    namespaces,
    managerNamespace: MANAGER.namespace,
    managerService: MANAGER.name,
  }, { connection });
  try {
    await work(await openSession(ui.page.newAddress()), ui.missing);
  } finally {
    await ui.stop();
  }
}

/** The names of the jobs that a query lists. */
export async function jobNames(page: PageSession, query = ""): Promise<string[]> {
  const { rows = [] } = JSON.parse((await page.get(`/view/v1/jobs${query}`)).text);
  return rows.map(({ name }: { name: string }) => name);
}

/** An EndpointSlice of the manager's Service with one replica, and the path that creates it. */
export function managerSlice(pod: string, port: number) {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${MANAGER.namespace}/endpointslices`;
  const object = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: "manager-1",
      namespace: MANAGER.namespace,
      labels: { "kubernetes.io/service-name": MANAGER.name },
    },
    addressType: "IPv4",
    endpoints: [{
      addresses: ["10.0.0.1"],
      conditions: { ready: true },
      targetRef: { kind: "Pod", name: pod, namespace: MANAGER.namespace },
    }],
    ports: [{ name: "status", port, protocol: "TCP" }],
  };
  return { path, object };
}
