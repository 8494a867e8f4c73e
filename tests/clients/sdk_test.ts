/** Tests of the real Kubeflow SDK against `standalone`. */
import { withStandalone } from "../support/standalone.ts";
import { pythonEnvironment } from "../support/python_environment.ts";
import { checkSdkSession } from "./sdk_session.ts";

Deno.test("the Kubeflow SDK trains, reports, waits, reads logs and deletes", async () => {
  const python = await pythonEnvironment("kubeflow==0.5.0");
  if ("missing" in python) {
    // deno-lint-ignore no-console -- a word to whoever runs the tests
    console.log(`the SDK's test is skipped: ${python.missing}`);
    return;
  }
  await withStandalone(({ client, kubeconfig, folder: home }) =>
    checkSdkSession({
      client,
      kubeconfig,
      home,
      bin: python.bin,
      runtimes: [
        "deepspeed-distributed",
        "jax-distributed",
        "mlx-distributed",
        "plain",
        "tensorflow-distributed",
        "torch-distributed",
        "xgboost-distributed",
      ],
    })
  );
});
