/** docs/reference/settings.md: the manager's settings. */
import { settingEntries } from "../../app/configuration/setting_entries.ts";
import { settings } from "../../app/configuration/settings.ts";
import { code, page, table } from "./table.ts";

const INTRODUCTION = `A setting of \`milepost manager\` is a flag (\`--webhook-port\`), a variable
(\`MILEPOST_WEBHOOK_PORT\`) or a key of the YAML file of \`--config\` (\`webhookPort\`). A flag comes before a variable, a variable
before the file; a variable that Kubernetes has made for a Service (\`tcp://…\`) is ignored. All settings are checked before anything starts; wrong usage prints one line on standard error and exits with 2.
The settings in force are logged at start (message \`settings\`).`;

const NOTES =
  `A duration is written as in Go: \`250ms\`, \`15s\`, \`1m30s\`. A port of 0 takes any free port.

\`--config FILE\` (\`MILEPOST_CONFIG\`) names the file:

\`\`\`yaml
webhookPort: 9443
featureGates: { TrainJobProgress: true }
adoptCollectors: [StdOut, File]
\`\`\`

Also read from the environment: \`POD_NAME\`, \`POD_UID\` and \`POD_IP\`, by which a replica is known in the Lease and to other
replicas; \`KATIB_CORE_NAMESPACE\`, \`KATIB_DB_MANAGER_SERVICE_IP\` and \`KATIB_DB_MANAGER_SERVICE_PORT\`; for traces \`OTEL_DENO\` and
\`OTEL_EXPORTER_OTLP_ENDPOINT\` of the runtime. What each setting does to clients: [limits](limits.md). When to change
one: [operate](../guides/operate.md).`;

/** The page. */
export function settingsPage(): string {
  const rows = settingEntries(settings).map((setting) => [
    code(setting.flag),
    code(setting.variable),
    code(setting.name),
    setting.isValue ? code(setting.default) : setting.default,
    setting.description,
  ]);
  return page("Settings of the manager", [
    INTRODUCTION,
    table(["flag", "variable", "key", "default", ""], rows),
    NOTES,
  ]);
}
