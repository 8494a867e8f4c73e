/** The coscheduling plugin of scheduler-plugins itself with Milepost. */
import { testGangScheduler } from "./gangs/scenes.ts";
import { testV1Gang } from "./gangs/v1_scene.ts";
import { COSCHEDULING_PEER } from "./support/coscheduling.ts";

await testGangScheduler(COSCHEDULING_PEER);
await testV1Gang(COSCHEDULING_PEER);
