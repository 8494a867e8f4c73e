/** Validation of the volume claim policies of a JobSet: the rules of upstream's webhook, and what a claim needs. Pure. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { JobSetSpec } from "../../crds/jobset.ts";
import type { PersistentVolumeClaim } from "../../platform/kube/kubernetes.ts";
import { dnsSubdomain } from "../../crds/name_syntax.ts";
import { DNS_LABEL_MAX } from "../../crds/names.ts";
import { isQuantity } from "../../platform/base/quantity.ts";
import { resolveVolumeClaims } from "./defaults.ts";
import { mountsVolume } from "./volume_claims.ts";

/** Returns what a claim lacks that the API server would refuse at its creation, when the TrainJob exists already. */
function specProblems({ spec }: PersistentVolumeClaim, path: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (!spec?.accessModes?.length) {
    const message = "at least 1 access mode is required, such as ReadWriteOnce";
    problems.push({ field: `${path}.accessModes`, message });
  }
  if (!isQuantity(`${spec?.resources?.requests?.storage}`)) {
    const message = "must be a quantity such as 10Gi";
    problems.push({ field: `${path}.resources.requests.storage`, message });
  }
  return problems;
}

/** Returns the problems of the policies; `jobSet` is the JobSet's name, if it is known. */
export function volumeClaimProblems(spec: JobSetSpec, jobSet: string | undefined): FieldProblem[] {
  const claims = resolveVolumeClaims(spec.volumeClaimPolicies, jobSet ?? "");
  const jobs = spec.replicatedJobs ?? [];
  return claims.flatMap(({ claimName, volumeName, template, path }, index) => {
    const problems = specProblems(template, `${path}.spec`);
    const add = (field: string, message: string) => problems.push({ field, message });
    const at = `${path}.metadata.name`;
    if (claims.slice(0, index).some((earlier) => earlier.volumeName === volumeName)) {
      add(at, "names must be unique for VolumeClaimPolicies template");
    }
    for (const message of dnsSubdomain(volumeName)) add(at, message);
    if (jobSet !== undefined && claimName.length > DNS_LABEL_MAX) {
      const limit = `"${claimName}" has more than ${DNS_LABEL_MAX} characters`;
      add(at, `VolumeClaimPolicies template name is too long: ${limit}`);
    }
    if (template.metadata?.namespace) {
      add(
        `${path}.metadata.namespace`,
        "namespace cannot be set for VolumeClaimPolicies templates",
      );
    }
    jobs.forEach((job, jobAt) => {
      job.template.spec?.template.spec?.volumes?.forEach(({ name }, volumeAt) => {
        if (name !== volumeName) return;
        add(
          `spec.replicatedJobs[${jobAt}].template.spec.template.spec.volumes[${volumeAt}].name`,
          `volume name conflicts with VolumeClaimPolicy template name: ${name}`,
        );
      });
    });
    if (!jobs.some((job) => mountsVolume(job.template.spec?.template.spec, volumeName))) {
      add(
        "spec.replicatedJobs",
        `replicatedJob containers don't have a matching volumeMount: ${volumeName} from VolumeClaimPolicies`,
      );
    }
    return problems;
  });
}
