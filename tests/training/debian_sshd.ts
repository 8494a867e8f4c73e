/** OpenSSH's server from Debian's packages, and the scripts that an image of MPI has instead of its configuration. */
import { isInstalled } from "../support/command.ts";
import { debianPackage, librariesOf, type Unpacked, writeScript } from "./debian_packages.ts";

/** Where the runtimes mount the keys. */
export const SSH_FOLDER = "/home/mpiuser/.ssh";
/** Port that the runtimes probe. */
const PORT = 2222;

/** Variables of a node's container that sessions have too, whatever the user's shell sets. */
const VARIABLES = "PATH|TMPDIR|KUBEFLOW_TRAINER_STATUS_[A-Z_]+";

/** Runs the server at the pod's own address, with a host key of its own. */
const server = (root: string, libraries: string) =>
  `#!/bin/bash
set -eu
key=$TMPDIR/host_key config=$TMPDIR/sshd_config session=$TMPDIR/session
[ -s "$key" ] || ssh-keygen -q -t ed25519 -N "" -f "$key"
address=$(getent ahostsv4 "$(uname -n)" | { read -r first _; echo "$first"; })
{
  echo "#!/bin/bash"
  export -p | grep -E '^declare -x (${VARIABLES})='
  echo 'exec sh -c "$SSH_ORIGINAL_COMMAND"'
} > "$session"
chmod +x "$session"
cat > "$config" << END
Port ${PORT}
ListenAddress $address
HostKey $key
AuthorizedKeysFile ${SSH_FOLDER}/authorized_keys
StrictModes no
PidFile none
UsePAM no
ForceCommand $session
END
export LD_LIBRARY_PATH=${libraries}
exec ${root}/usr/sbin/sshd -De -f "$config"
`;

/** The client takes a key only if nobody else may read it. */
const client = `#!/bin/bash
set -eu
identity=$TMPDIR/id_rsa.$$
install -m 600 ${SSH_FOLDER}/id_rsa "$identity"
exec /usr/bin/ssh -F none -p ${PORT} -i "$identity" -o LogLevel=ERROR \\
  -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "$@"
`;

/** Returns the programs `mpi-sshd` and `ssh`, or the reason why there are none. */
export async function debianSshd(): Promise<Unpacked> {
  if (!await isInstalled("/usr/bin/ssh")) return { missing: "OpenSSH's client is not installed" };
  return await debianPackage("openssh-server", async ({ root, bin }) => {
    await writeScript(`${bin}/mpi-sshd`, server(root, await librariesOf(root)));
    await writeScript(`${bin}/ssh`, client);
    return undefined;
  });
}
