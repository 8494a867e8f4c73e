/**
 * Looks whether Katib's pod webhook is kept away from the pods of trials, as `deploy/katib/` does, and
 * says what does not work where it is not.
 */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../crds/kinds.ts";
import { KATIB } from "../../crds/katib_names.ts";
import type { MutatingWebhookConfiguration } from "../../crds/kubernetes.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { Informer } from "../../kube/informer.ts";
import { katibKeepsOut } from "../../webhook/katib_webhook.ts";
import { aborted } from "../signals.ts";

const log = getLogger(["milepost", "katib"]);

type Configurations = Pick<Informer<MutatingWebhookConfiguration>, "get" | "onChange">;

/** What is said where Katib's webhook is called for the pods of trials. */
const WITHOUT_PATCH = {
  initializers: "their pods without the primary container, such as initializers, are denied",
  adoption: "trials of other collectors are not adopted: Katib puts its own into their pods",
  todo: "apply deploy/katib, see docs/guides/katib.md",
} as const;

/** Whether no webhook of Katib's is called for the pods of trials; also where Katib is not there. */
export function katibIsKeptOut(configurations: Pick<Configurations, "get">): boolean {
  return katibKeepsOut(configurations.get({ name: KATIB.webhookConfiguration }));
}

/** What {@link watchKatibsWebhook} works with. */
export interface KatibsWebhookParts {
  readonly configurations: Configurations;
  readonly events: Pick<EventRecorder, "record">;
  /** Collector kinds that are to be adopted. */
  readonly adopts: readonly string[];
}

function complain({ events, adopts }: KatibsWebhookParts): void {
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

/** Says it each time that it changes whether Katib's webhook is kept away; until `signal` aborts. */
export async function watchKatibsWebhook(
  parts: KatibsWebhookParts,
  signal: AbortSignal,
): Promise<void> {
  const { configurations } = parts;
  let said = true;
  const look = () => {
    const keptOut = katibIsKeptOut(configurations);
    if (keptOut === said) return;
    said = keptOut;
    if (keptOut) log.info("no webhook of Katib's is called for the pods of trials any more");
    else complain(parts);
  };
  const stop = configurations.onChange(look);
  look();
  await aborted(signal);
  stop();
}
