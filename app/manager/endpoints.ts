/** Addresses of the manager: of its webhook for the API server, of its status endpoint for pods. */
import { PORTS } from "../../crds/names.ts";
import type { WebhookTarget } from "../../webhook/configurations.ts";
import type { ManagerContext } from "./manager_parts.ts";

type Context = Pick<ManagerContext, "configuration" | "host">;

/** Where a manager without a Service is reached. */
const ownUrl = ({ host }: Context, port: number) =>
  host === undefined ? undefined : `https://${host}:${port}`;

/** Returns the base URL that pods are given: that of the flag, else its own, else the Service's (docs/decisions/0033). */
export function statusBaseUrl(context: Context, port: number): string {
  const { statusBaseUrl, serviceName, namespace } = context.configuration;
  return statusBaseUrl ?? ownUrl(context, port) ??
    `https://${serviceName}.${namespace}.svc:${PORTS.status}`;
}

/** Returns how the API server reaches the webhook: by the flag's URL, else its own, else the Service. */
export function webhookTarget(context: Context, port: number): WebhookTarget {
  const { webhookBaseUrl, namespace, serviceName: name } = context.configuration;
  const baseUrl = webhookBaseUrl ?? ownUrl(context, port);
  if (baseUrl !== undefined) return { baseUrl };
  return { service: { namespace, name, port: PORTS.webhookService } };
}
