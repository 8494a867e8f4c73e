/** Variables that lead a container to the API server, as a kubelet writes them for the Service `kubernetes`. Pure. */

/**
 * Returns the variables. Their host and port are those by which the kubelet reaches the API server itself: nothing here
 * routes the virtual address that the Service has. Throws a TypeError if `server` is no URL.
 */
export function serviceVariables(server: string): Record<string, string> {
  const { protocol, hostname, port: given } = new URL(server);
  const port = given || (protocol === "http:" ? "80" : "443");
  const url = `tcp://${hostname}:${port}`;
  const host = hostname.replace(/^\[|\]$/g, "");
  return {
    KUBERNETES_SERVICE_HOST: host,
    KUBERNETES_SERVICE_PORT: port,
    KUBERNETES_SERVICE_PORT_HTTPS: port,
    KUBERNETES_PORT: url,
    [`KUBERNETES_PORT_${port}_TCP`]: url,
    [`KUBERNETES_PORT_${port}_TCP_PROTO`]: "tcp",
    [`KUBERNETES_PORT_${port}_TCP_PORT`]: port,
    [`KUBERNETES_PORT_${port}_TCP_ADDR`]: host,
  };
}
