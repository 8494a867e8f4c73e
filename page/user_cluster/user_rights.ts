/** Rights of the one user whose page it is, as the API server says of that user itself. */
import { createReviewCalls } from "../../platform/http/callers/review_calls.ts";
import {
  type AccessObject,
  type AccessVerb,
  BELIEVED_MS,
} from "../../platform/http/callers/reader_access.ts";
import { createExpiringMemory } from "../../platform/base/expiring_memory.ts";
import { createReservedBudget } from "../../platform/http/limits/reserved_budget.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { isForbidden, messageOf } from "../../platform/kube/errors.ts";
import { mayDo } from "../../platform/kube/self_reviews.ts";

/** Reviews a second, and at once: one look asks about each kind in each of 20 namespaces. */
const REVIEWS = { perSecond: 50, burst: 500 } as const;
const MAX_ANSWERS = 5_000;

const NO_REVIEWS = "the user may not create selfsubjectaccessreviews, " +
  "so nobody can say here what else it may: nothing is shown";

/** Creates them. Answers are believed as long as those about other readers are. */
export function createUserRights(
  { client, clock }: { readonly client: Pick<KubeClient, "create">; readonly clock: Clock },
) {
  const answers = createExpiringMemory<boolean>(clock, MAX_ANSWERS);
  const take = createReservedBudget(REVIEWS.perSecond, REVIEWS.burst);
  const reviews = createReviewCalls<boolean>({ clock, about: "rights", take });
  let problem: string | undefined;

  return {
    /** Returns whether the user may do that; undefined if nobody can say now. */
    async may({ kind, namespace, name }: AccessObject, verb: AccessVerb) {
      const key = [verb, kind.group, kind.version, kind.plural, namespace, name].join("/");
      const known = answers.get(key);
      if (known !== undefined) return known;
      const { answer } = await reviews.ask({
        key,
        first: true,
        ask: async (signal) => {
          try {
            const may = await mayDo(client, { verb, kind, namespace, name }, signal);
            problem = undefined;
            answers.set(key, may, BELIEVED_MS[may ? "allowed" : "denied"]);
            return may;
          } catch (error) {
            problem = isForbidden(error)
              ? NO_REVIEWS
              : `the API server cannot be asked what the user may: ${messageOf(error)}`;
            throw error;
          }
        },
      });
      return answer;
    },
    /** Returns what is missing to know them, for people. */
    missing: (): readonly string[] => problem === undefined ? [] : [problem],
    /** Ends what runs, and resolves when nothing does. */
    close: reviews.close,
  };
}

/** The rights. */
export type UserRights = ReturnType<typeof createUserRights>;
