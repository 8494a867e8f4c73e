/** Picture of the README: from a pod's push to the TrainJob and to Katib. */
import type { Diagram } from "./diagram.ts";

/** The picture. */
export const OVERVIEW: Diagram = {
  title:
    "A training pod pushes progress and metrics to the status endpoint of any replica. The leader " +
    "writes progress to the TrainJob, and rows and early stops to Katib.",
  size: [900, 400],
  frames: [{ at: [296, 142], size: [588, 136], label: "milepost manager, 2 or more replicas" }],
  boxes: [
    {
      at: [16, 20],
      size: [180, 66],
      title: "You",
      lines: ["kubectl, Kubeflow SDK"],
      kind: "outside",
    },
    {
      at: [325, 20],
      size: [250, 66],
      title: "TrainJob",
      lines: ["STATE Running, PROGRESS 45 %"],
      kind: "object",
    },
    {
      at: [16, 172],
      size: [180, 86],
      title: "Training pod",
      lines: ["an identity of its own:", "token, CA, URL"],
      kind: "outside",
    },
    {
      at: [320, 172],
      size: [220, 86],
      title: "Status endpoint",
      lines: ["every replica: who pushes,", "and for which job?"],
      kind: "ours",
    },
    {
      at: [650, 172],
      size: [220, 86],
      title: "Leader",
      lines: ["controllers, progress,", "observations, rules"],
      kind: "ours",
    },
    {
      at: [650, 324],
      size: [220, 66],
      title: "Katib",
      lines: ["Trial, Experiment"],
      kind: "object",
    },
  ],
  arrows: [
    { points: [[196, 53], [323, 53]], label: "apply, watch", labelAt: [259, 44] },
    {
      points: [[400, 86], [400, 114], [106, 114], [106, 170]],
      label: "JobSet, Jobs, pods",
      labelAt: [253, 106],
    },
    { points: [[196, 204], [318, 204]], label: "push", labelAt: [246, 195] },
    {
      points: [[320, 234], [198, 234]],
      label: "200, or stop",
      labelAt: [246, 252],
      isDashed: true,
    },
    { points: [[540, 215], [648, 215]], label: "mutual TLS", labelAt: [594, 206] },
    {
      points: [[760, 172], [760, 53], [577, 53]],
      label: "progress, metrics, state",
      labelAt: [668, 44],
    },
    { points: [[760, 258], [760, 322]], label: "rows, early stop", labelAt: [826, 304] },
  ],
};
