/** Volcano itself with Milepost. */
import { testGangScheduler } from "./gangs/scenes.ts";
import { testV1Gang } from "./gangs/v1_scene.ts";
import { VOLCANO_PEER } from "./support/volcano.ts";

await testGangScheduler(VOLCANO_PEER);
await testV1Gang(VOLCANO_PEER);
