/** All conformance cases, by theme. */
import { createAndRead } from "./create_and_read.ts";
import { deletion } from "./deletion.ts";
import { discovery } from "./discovery.ts";
import { dryRun } from "./dry_run.ts";
import { garbageCollection } from "./garbage_collection.ts";
import { lists } from "./lists.ts";
import { namespaces } from "./namespaces.ts";
import { patches } from "./patches.ts";
import { preconditions } from "./preconditions.ts";
import type { Suite } from "./runner.ts";
import { subresources } from "./subresources.ts";
import { tables } from "./tables.ts";
import { updates } from "./updates.ts";
import { watches } from "./watches.ts";

export const suite: Suite = {
  "creating and reading": createAndRead,
  "updates and conflicts": updates,
  "patches": patches,
  "lists": lists,
  "watches": watches,
  "deletion": deletion,
  "garbage collection": garbageCollection,
  "preconditions": preconditions,
  "dry runs, names and fields": dryRun,
  "subresources": subresources,
  "tables": tables,
  "discovery and OpenAPI": discovery,
  "namespaces": namespaces,
};
