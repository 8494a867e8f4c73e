/** Addresses of the manager: of its webhook for the API server, of its status endpoint for pods. */
import { PORTS } from "../../crds/names.ts";

/** Settings of the addresses. */
export interface EndpointSettings {
  readonly namespace: string;
  readonly serviceName: string;
  readonly webhookBaseUrl: string | undefined;
  readonly statusBaseUrl: string | undefined;
}

/** Returns the base URL that pods are given: that of the flag, else the Service's (docs/decisions/0033). */
export function statusBaseUrl(settings: EndpointSettings): string {
  return settings.statusBaseUrl ??
    `https://${settings.serviceName}.${settings.namespace}.svc:${PORTS.status}`;
}

/** How the API server reaches the webhook: the flag's URL, else the Service. */
export function webhookTarget(settings: EndpointSettings):
  | { readonly baseUrl: string }
  | {
    readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  } {
  if (settings.webhookBaseUrl !== undefined) return { baseUrl: settings.webhookBaseUrl };
  const { namespace, serviceName: name } = settings;
  return { service: { namespace, name, port: PORTS.webhookService } };
}
