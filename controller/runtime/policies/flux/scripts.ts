/** Shell scripts of the flux policy: the installation of Flux in a pod, and the start of its broker. */
import { FLUX } from "../../../../crds/policy_names.ts";

/** The facts of an instance of Flux. */
export interface FluxInstance {
  /** Host name of every node up to its index, such as `tj-node-0-`. */
  readonly hostPrefix: string;
  /** The domain of the host names, such as `tj.ml.svc`. */
  readonly domain: string;
  readonly nodes: number;
  /** Processes of a node. */
  readonly tasks: number;
  /** GPUs of a node. */
  readonly gpus: number;
  readonly networkDevice: string;
  readonly queuePolicy: string;
}

const BASE = FLUX.volumes.install.mountPath;
const VIEW = `${BASE}/view`;
const CONFIG = `${BASE}/config`;
const SYSTEM = `${CONFIG}/etc/flux/system`;
const BROKER = `${CONFIG}/etc/flux/config`;
const CURVE = `${CONFIG}/etc/curve/${FLUX.curveKey}`;
const STATE = `${CONFIG}/var/lib/flux`;
const SOCKETS = `${CONFIG}/run/flux`;
/** Seconds between two attempts of a follower to reach the lead broker. */
const RETRY_SECONDS = 15;

/** A range from 0, as Flux writes it: `0` or `0-3`. */
function range(count: number): string {
  return count === 1 ? "0" : `0-${count - 1}`;
}

function hostList({ hostPrefix, nodes }: FluxInstance): string {
  return `${hostPrefix}[${range(nodes)}]`;
}

/** A text in TOML: its basic strings have the escapes of JSON. */
const toml = (text: string) => JSON.stringify(text);

function brokerConfiguration(instance: FluxInstance): string {
  const { networkDevice, domain, queuePolicy } = instance;
  return `[access]
allow-guest-user = true
allow-root-owner = true

[resource]
path = "${SYSTEM}/R"

[bootstrap]
curve_cert = "${CURVE}"
default_port = ${FLUX.port}
default_bind = ${toml(`tcp://${networkDevice}:%p`)}
default_connect = ${toml(`tcp://%h.${domain}:%p`)}
hosts = [{ host = ${toml(hostList(instance))} }]

[archive]
dbpath = "${STATE}/job-archive.sqlite"
period = "1m"
busytimeout = "50s"

[sched-fluxion-qmanager]
queue-policy = ${toml(queuePolicy)}`;
}

/** Returns the script of the init container, whose image has Flux: it puts Flux and its configuration into the volume. */
export function initScript(instance: FluxInstance): string {
  return `#!/bin/bash
# Installs Flux and its configuration into the volume that this pod's containers share.
set -eu

mkdir -p ${VIEW} ${BROKER} ${SYSTEM}/cron.d ${STATE} ${SOCKETS} ${CONFIG}/etc/curve
echo '${hostList(instance)}' > ${SYSTEM}/hostlist
cat > ${BROKER}/broker.toml << 'END_OF_BROKER_TOML'
${brokerConfiguration(instance)}
END_OF_BROKER_TOML

# The image has one view, whose files refer to /opt/software.
cp -R /opt/views/._view/*/. ${VIEW}/
cp -R /opt/software ${BASE}/
echo "Flux is installed for $(hostname)"
`;
}

/** Tasks of all nodes, and the GPUs of each task. */
function runFlags({ nodes, tasks, gpus }: FluxInstance): string {
  const perTask = Math.floor(gpus / tasks);
  return `-N ${nodes} -n ${nodes * tasks}${perTask > 0 ? ` -g ${perTask}` : ""}`;
}

function resourceFlags({ tasks, gpus }: FluxInstance): string {
  return `--cores=${range(tasks)}${gpus > 0 ? ` --gpus=${range(gpus)}` : ""}`;
}

/**
 * Returns the script of the node. Its first argument is the program with its arguments, quoted for the
 * shell; further arguments follow it. Node 0 leads and runs the program, the others serve it.
 */
export function entrypointScript(instance: FluxInstance): string {
  return `#!/bin/bash
# Starts the broker of Flux in this node; node 0 leads the others and runs the program.
set -u
program=\${1-}
[ $# -eq 0 ] || shift
eval "set -- $program \\"\\$@\\""

cp -R ${BASE}/software/. ${FLUX.volumes.spack.mountPath}/
export PATH="$PATH:${VIEW}/bin"
for library in ${VIEW}/lib/python3*; do
  python="${VIEW}/bin/\${library##*/}"
  [ -x "$python" ] || continue
  ln -sf "$python" ${VIEW}/bin/python3
  export PYTHONPATH="\${PYTHONPATH:+$PYTHONPATH:}$library/site-packages"
done
export FLUX_RC_EXTRA=${VIEW}/etc/flux/rc1.d
export FLUX_OUTPUT_DIR=/tmp/fluxout
mkdir -p "$FLUX_OUTPUT_DIR"

# For people: ". ${BASE}/flux-view.sh; flux proxy $fluxsocket" in a shell of the container.
{
  echo "export PATH='$PATH'"
  echo "export PYTHONPATH='\${PYTHONPATH:-}'"
  echo "export LD_LIBRARY_PATH='\${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}${VIEW}/lib'"
  echo "export fluxsocket=local://${SOCKETS}/local"
} > ${BASE}/flux-view.sh

# Flux takes a certificate that nobody else may read, of its own user.
rm -f ${CURVE}
cp /curve/${FLUX.curveKey} ${CURVE}
chmod 600 ${CURVE}
flux R encode --hosts="$(cat ${SYSTEM}/hostlist)" ${resourceFlags(instance)} > ${SYSTEM}/R

broker=(--config ${BROKER}
  -Scron.directory=${SYSTEM}/cron.d
  -Stbon.fanout=256
  -Srundir=${SOCKETS}
  -Sstatedir=${STATE}
  -Slocal-uri=local://${SOCKETS}/local
  -Slog-stderr-level=0
  -Slog-stderr-mode=local)

if [ "\${JOB_COMPLETION_INDEX:-}" = 0 ]; then
  if [ $# -eq 0 ]; then
    exec flux broker "\${broker[@]}"
  fi
  echo "Flux runs: flux run ${runFlags(instance)} $*"
  exec flux start -o "\${broker[@]}" flux run ${runFlags(instance)} "$@"
fi

until flux start -o "\${broker[@]}"; do
  echo "The lead broker cannot be reached (exit code $?); trying again in ${RETRY_SECONDS} s"
  sleep ${RETRY_SECONDS}
done
`;
}
