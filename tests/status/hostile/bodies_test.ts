/** Tests of the endpoint against hostile bodies. */
import { BODY_CASES } from "./body_cases.ts";
import { testAll } from "./case.ts";

testAll("createPushHandler()", BODY_CASES);
