/** List of addresses and networks, such as `10.0.0.1` and `fd00::/64`. */
import { BlockList, isIP } from "node:net";

/** Returns whether a peer's address is in the list. */
export type AddressList = (peer: string) => boolean;

interface Entry {
  readonly address: string;
  readonly family: "ipv4" | "ipv6";
  /** Bits of the network; absent for one address. */
  readonly prefix?: number;
}

function entryOf(text: string): Entry | undefined {
  const [, address = "", bits] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  const family = version === 4 ? "ipv4" : "ipv6";
  if (bits === undefined) return { address, family };
  const prefix = Number(bits);
  return prefix <= (version === 4 ? 32 : 128) ? { address, family, prefix } : undefined;
}

/** Returns whether the text is an address or a network. */
export function isAddressOrNetwork(text: string): boolean {
  return entryOf(text) !== undefined;
}

/** Creates an {@link AddressList}. Throws a TypeError for what is neither an address nor a network. */
export function createAddressList(entries: readonly string[]): AddressList {
  const list = new BlockList();
  for (const text of entries) {
    const entry = entryOf(text);
    if (entry === undefined) throw new TypeError(`must be an address or a network, not "${text}"`);
    const { address, family, prefix } = entry;
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, prefix, family);
  }
  return (peer) => {
    const version = entries.length === 0 ? 0 : isIP(peer);
    return version !== 0 && list.check(peer, version === 4 ? "ipv4" : "ipv6");
  };
}
