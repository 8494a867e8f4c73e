/** Tests of many tabs of the page in Chromium, apart from other journeys: they take half as long as all others. */
import { journey } from "./journey.ts";

Deno.test(
  journey("tabs", { sentence: "twelve tabs live by one connection and one code", jobs: 50 }),
);
Deno.test(
  journey("again", {
    sentence: "the printed address opens again in its browser, and in no other one",
    jobs: 50,
  }),
);
Deno.test(
  journey("alone", { sentence: "a tab without a worker has a stream of its own", jobs: 50 }),
);
