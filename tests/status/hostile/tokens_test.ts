/** Tests of the endpoint against hostile tokens. */
import { testAll } from "./case.ts";
import { TOKEN_CASES } from "./token_cases.ts";

testAll("createPushHandler()", TOKEN_CASES);
