/** Watch of Katib's pod webhook: a warning while it is called for the pods of trials. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../crds/kinds.ts";
import { KATIB } from "../crds/katib_names.ts";
import type { MutatingWebhookConfiguration } from "../platform/kube/kubernetes.ts";
import { EVENT_REASONS } from "../crds/names.ts";
import type { EventRecorder } from "../platform/kube/events.ts";
import type { Informer } from "../platform/kube/watching/informer.ts";
import { katibKeepsOut } from "./katib_exclusion.ts";
import { aborted } from "../platform/base/aborted.ts";

const log = getLogger(["milepost", "katib"]);

type Configurations = Pick<Informer<MutatingWebhookConfiguration>, "get" | "onChange">;

/** The warning while Katib's webhook is called for the pods of trials. */
const WITHOUT_PATCH = {
  initializers: "their pods without the primary container, such as initializers, are denied",
  adoption: "trials of other collectors are not adopted: Katib puts its own into their pods",
  todo: "apply deploy/katib, see docs/guides/katib.md",
} as const;

/** Whether no webhook of Katib's is called for the pods of trials; also true without Katib. */
export function katibIsKeptOut(configurations: Pick<Configurations, "get">): boolean {
  return katibKeepsOut(configurations.get({ name: KATIB.webhookConfiguration }));
}

/** Options of {@link watchKatibsWebhook}. */
export interface KatibsWebhookParts {
  readonly configurations: Configurations;
  readonly events: Pick<EventRecorder, "record">;
  /** Kinds of collectors to adopt. */
  readonly adopts: readonly string[];
}

function warn({ events, adopts }: KatibsWebhookParts): void {
  const { initializers, adoption, todo } = WITHOUT_PATCH;
  log.warn("Katib's webhook is called for the pods of trials", {
    initializers,
    adoption,
    adopts,
    todo,
  });
  const { group, version, kind } = KINDS.mutatingWebhookConfiguration;
  events.record(
    { apiVersion: `${group}/${version}`, kind, name: KATIB.webhookConfiguration },
    {
      type: "Warning",
      reason: EVENT_REASONS.notSupported,
      message:
        `it is called for the pods of Milepost's trials: ${initializers}; ${adoption}; ${todo}`,
    },
  );
}

/** Logs and records each change of {@link katibIsKeptOut} until `signal` aborts. */
export async function watchKatibsWebhook(
  parts: KatibsWebhookParts,
  signal: AbortSignal,
): Promise<void> {
  const { configurations } = parts;
  let wasKeptOut = true;
  const check = () => {
    const keptOut = katibIsKeptOut(configurations);
    if (keptOut === wasKeptOut) return;
    wasKeptOut = keptOut;
    if (keptOut) log.info("Katib's webhook is no longer called for the pods of trials");
    else warn(parts);
  };
  const stop = configurations.onChange(check);
  check();
  await aborted(signal);
  stop();
}
