/** Fault that ends a controller at a chosen write, before or after the write takes effect. */
import type { MemoryCluster } from "../controller/memory_cluster.ts";

/** A controller that can be killed and started again. */
interface Killable {
  readonly cluster: MemoryCluster;
  afterPass?: () => void;
  restart(): void;
}

const WRITES = ["create", "replace", "patch", "delete"];

/**
 * Kills the controller at the write of that number, from 0; nothing that it has under way is done
 * any more, and a new one starts. Returns whether that write was reached.
 */
export function killAt(
  world: Killable,
  { write, phase }: { write: number; phase: "before" | "after" },
): () => boolean {
  let seen = 0;
  let dead = false;
  let killed = false;
  world.cluster.faults.push((call, when) => {
    if (dead) return new Error("the process is dead");
    if (killed || when !== phase || !WRITES.includes(call.verb) || seen++ !== write) return;
    dead = killed = true;
    return new Error("killed");
  });
  world.afterPass = () => {
    if (!dead) return;
    dead = false;
    world.restart();
  };
  return () => killed;
}
