/** Bounds of one job: its pods, and the texts that name all of them. */

/** The bounds; upstream's controllers have none. */
export const JOB_LIMITS = {
  /** Pods, unless `--max-pods-per-job` says otherwise. */
  pods: 10_000,
  /** Bytes of `NAME=value`: Linux starts no program with a longer one (MAX_ARG_STRLEN, without the end of the text). */
  variableBytes: 131_071,
  /** Bytes of all copies of such variables in one object; etcd takes 1.5 MiB. */
  variablesBytes: 1_048_576,
  /** Bytes of the values of a ConfigMap (Kubernetes' MaxSecretSize). */
  configMapBytes: 1_048_576,
} as const;
