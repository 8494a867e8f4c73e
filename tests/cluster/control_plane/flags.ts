/** The flags of each program of the control plane. Pure. */
import type { ControlPlaneOptions } from "./options.ts";

/** Folders and addresses of the programs. */
export interface Places {
  /** Files of the control plane, with keys and certificates in it. */
  readonly folder: string;
  readonly ports: { readonly etcd: number; readonly etcdPeers: number; readonly apiServer: number };
}

/** Files that are written before a start, in the folder. */
export const FILES = {
  ca: "ca.crt",
  caKey: "ca.key",
  serverCert: "apiserver.crt",
  serverKey: "apiserver.key",
  kubeletClientCert: "kubelet-client.crt",
  kubeletClientKey: "kubelet-client.key",
  tokenKey: "service-accounts.key",
  tokenPublicKey: "service-accounts.pub",
  auditPolicy: "audit-policy.yaml",
  auditLog: "audit.log",
} as const;

/** Flags of etcd. It may lose what it has when the machine stops, not when it does. */
export function etcdFlags({ folder, ports }: Places, options: ControlPlaneOptions): string[] {
  const url = (port: number) => `http://127.0.0.1:${port}`;
  return [
    `--data-dir=${folder}/etcd`,
    "--unsafe-no-fsync",
    `--listen-client-urls=${url(ports.etcd)}`,
    `--advertise-client-urls=${url(ports.etcd)}`,
    `--listen-peer-urls=${url(ports.etcdPeers)}`,
    `--initial-advertise-peer-urls=${url(ports.etcdPeers)}`,
    `--initial-cluster=default=${url(ports.etcdPeers)}`,
    "--log-level=warn",
    ...options.flags?.etcd ?? [],
  ];
}

/** Flags of kube-apiserver. */
export function apiServerFlags({ folder, ports }: Places, options: ControlPlaneOptions): string[] {
  const file = (name: keyof typeof FILES) => `${folder}/${FILES[name]}`;
  const plugins = options.admissionPlugins ?? [];
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    `--secure-port=${ports.apiServer}`,
    `--tls-cert-file=${file("serverCert")}`,
    `--tls-private-key-file=${file("serverKey")}`,
    `--client-ca-file=${file("ca")}`,
    `--service-account-key-file=${file("tokenPublicKey")}`,
    `--service-account-signing-key-file=${file("tokenKey")}`,
    `--service-account-issuer=https://127.0.0.1:${ports.apiServer}`,
    "--service-cluster-ip-range=10.0.0.0/16",
    `--authorization-mode=${options.authorizationMode ?? "Node,RBAC"}`,
    `--kubelet-client-certificate=${file("kubeletClientCert")}`,
    `--kubelet-client-key=${file("kubeletClientKey")}`,
    `--kubelet-certificate-authority=${file("ca")}`,
    "--kubelet-preferred-address-types=InternalIP",
    "--shutdown-delay-duration=0s",
    ...plugins.length > 0 ? [`--enable-admission-plugins=${plugins.join(",")}`] : [],
    ...options.audit
      ? [
        `--audit-policy-file=${file("auditPolicy")}`,
        `--audit-log-path=${file("auditLog")}`,
        "--audit-log-mode=blocking",
      ]
      : [],
    ...options.flags?.apiServer ?? [],
  ];
}

/**
 * Flags of kube-controller-manager; it serves nothing. Its calls a second are Kubernetes' own, as in a cluster of
 * users; the accounts of all controllers, which it makes when it starts, do not wait for them.
 */
export function controllerManagerFlags(
  { folder }: Places,
  kubeconfig: string,
  options: ControlPlaneOptions,
): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--service-account-private-key-file=${folder}/${FILES.tokenKey}`,
    `--root-ca-file=${folder}/${FILES.ca}`,
    "--use-service-account-credentials",
    "--leader-elect=false",
    "--secure-port=0",
    "--kube-api-burst=300",
    ...options.flags?.controllerManager ?? [],
  ];
}

/** Flags of kube-scheduler; it serves nothing. */
export function schedulerFlags(kubeconfig: string, options: ControlPlaneOptions): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
    "--secure-port=0",
    ...options.flags?.scheduler ?? [],
  ];
}
