/** All conformance cases, by theme. */
import { access } from "./access.ts";
import { createAndRead } from "./create_and_read.ts";
import { customObjects } from "./custom_objects.ts";
import { customRules } from "./custom_rules.ts";
import { customSchemas } from "./custom_schemas.ts";
import { defaults } from "./defaults.ts";
import { definitions } from "./definitions.ts";
import { deletion } from "./deletion.ts";
import { discovery } from "./discovery.ts";
import { dryRun } from "./dry_run.ts";
import { errors } from "./errors.ts";
import { escalation } from "./escalation.ts";
import { garbageCollection } from "./garbage_collection.ts";
import { immutableFields } from "./immutable_fields.ts";
import { lists } from "./lists.ts";
import { namespaces } from "./namespaces.ts";
import { nodes } from "./nodes.ts";
import { patches } from "./patches.ts";
import { podValidation } from "./pod_validation.ts";
import { preconditions } from "./preconditions.ts";
import type { Suite } from "./runner.ts";
import { strategicPatches } from "./strategic_patches.ts";
import { subresources } from "./subresources.ts";
import { tables } from "./tables.ts";
import { tokens } from "./tokens.ts";
import { updates } from "./updates.ts";
import { validation } from "./validation.ts";
import { watches } from "./watches.ts";
import { webhookCalls } from "./webhook_calls.ts";
import { webhooks } from "./webhooks.ts";

export const suite: Suite = {
  "creating and reading": createAndRead,
  "defaults": defaults,
  "updates and conflicts": updates,
  "what cannot change": immutableFields,
  "patches": patches,
  "strategic patches": strategicPatches,
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
  "definitions": definitions,
  "custom objects": customObjects,
  "schemas of custom kinds": customSchemas,
  "rules of custom kinds": customRules,
  "nodes": nodes,
  "tokens": tokens,
  "access": access,
  "escalation and impersonation": escalation,
  "webhooks": webhooks,
  "calls of webhooks": webhookCalls,
  "validation of pods": podValidation,
  "validation": validation,
  "errors": errors,
};
