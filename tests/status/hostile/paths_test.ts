/** Tests of the endpoint against hostile targets, methods and Authorization headers. */
import { testAll } from "./case.ts";
import { PATH_CASES } from "./path_cases.ts";

testAll("createPushHandler()", PATH_CASES);
