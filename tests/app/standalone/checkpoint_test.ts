/** Test of the example that goes on from its checkpoint, in plain Python; `tests/training` has that with PyTorch. */
import { isInstalled } from "../../support/command.ts";
import { seeResumed } from "../../support/resumed_training.ts";
import { withStandalone } from "../../support/standalone.ts";

Deno.test({
  name: "a program goes on from its checkpoint when its job was suspended and is resumed",
  ignore: !await isInstalled("python3"),
  fn: () =>
    withStandalone(({ client }) =>
      seeResumed(client, (job) => {
        const { trainer } = job.spec;
        const env = [...trainer?.env ?? [], { name: "STEP_SECONDS", value: "0.003" }];
        return { ...job, spec: { ...job.spec, trainer: { ...trainer, env } } };
      })
    ),
});
