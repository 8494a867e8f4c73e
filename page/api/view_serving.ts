/** Serving of the page's API: curves are asked for at the owner of the state, lists are made from the caches here. */
import { type AnyJob, type JobKind } from "../../crds/job_kind.ts";
import type { ReaderParts } from "../../platform/http/callers/reader_checks.ts";
import type { Api } from "../../platform/http/api_shell.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { createJobList, type PushedProgress } from "../../views/list/job_list.ts";
import type { AskKind } from "../../owner/ask_kind.ts";
import type { OwnedState } from "../../owner/owned_state.ts";
import type { OwnerClient } from "../../owner/owner_client.ts";
import type { CurveAnswer, CurveAsk } from "../../crds/wire/shown_curves.ts";
import { createListTurns } from "./list_turns.ts";
import { createViewApi, type ViewApiOptions } from "./view_api.ts";

/** Part of a core that reads of lists may take: pushes are taken in the same process. */
export const LISTING_PART = 0.08;

/** Options of {@link serveView}. */
export interface ViewServingOptions
  extends
    Pick<ViewApiOptions, "kinds" | "runningKinds" | "slots">,
    Required<Pick<ViewApiOptions, "onRead">> {
  /** The checks of readers. */
  readonly readers: ReaderParts;
  /** The caches of jobs by their kind. */
  readonly jobs: ReadonlyMap<
    JobKind,
    { readonly jobs: Pick<Informer<AnyJob>, "get" | "list" | "onChange"> }
  >;
  /** The state of this replica. */
  readonly owned: Pick<OwnedState, "term" | "onPush">;
  readonly owner: OwnerClient;
  readonly asks: AskKind<CurveAsk, CurveAnswer>;
}

/** The served API. */
export interface ViewServing extends Api {
  /** Stops listening to the caches. */
  close(): void;
}

/** Serves the API; `handles` selects its requests. */
export function serveView(options: ViewServingOptions): ViewServing {
  const { readers, jobs, owned, owner, asks } = options;
  const { clock } = readers;
  const pushed: PushedProgress = {
    newestOf: (uid) => owned.term?.statuses.newestOf(uid),
    onPush: owned.onPush,
    clock,
  };
  const list = createJobList({ jobs, pushed });
  const api = createViewApi({
    ...readers,
    kinds: options.kinds,
    runningKinds: options.runningKinds,
    slots: options.slots,
    onRead: options.onRead,
    list,
    listInTurn: createListTurns(clock, LISTING_PART),
    cached: ({ kind, namespace, name }) => jobs.get(kind)?.jobs.get({ namespace, name }),
    ask: owner.asks(asks),
    follow: owner.follow.curves,
  });
  return {
    ...api,
    close: list.close,
  };
}
