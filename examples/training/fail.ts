/** A training program that fails: it says why, and ends with exit code 3. */
console.error("the data set is not there");
Deno.exit(3);
