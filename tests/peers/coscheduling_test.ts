/** The coscheduling plugin of scheduler-plugins itself with Milepost. */
import { testGangScheduler } from "./gangs/scenes.ts";
import { COSCHEDULING_PEER } from "./support/coscheduling.ts";

await testGangScheduler(COSCHEDULING_PEER);
