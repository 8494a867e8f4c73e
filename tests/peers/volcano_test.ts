/** Volcano itself with Milepost. */
import { testGangScheduler } from "./gangs/scenes.ts";
import { VOLCANO_PEER } from "./support/volcano.ts";

await testGangScheduler(VOLCANO_PEER);
