/** Settings of a manager that runs in a test: free ports of this machine alone, progress on. */

const PORTS = ["webhookPort", "statusPort", "metricsPort", "healthPort", "forwardPort"];

/** As flags, before those of the test itself. */
export const TEST_FLAGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(PORTS.map((port) => [port, "0"])),
  bindAddress: "127.0.0.1",
  featureGates: "TrainJobProgress=true",
};
