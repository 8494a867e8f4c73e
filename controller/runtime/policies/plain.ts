/** ML policy of runtimes whose nodes need not find each other. */
import type { Policy } from "../policy.ts";

/** Node count and variables of the trainer are all that it has, and every policy has those. */
export const plain: Policy = {};
