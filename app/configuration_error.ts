/** The error of somebody who starts Milepost wrongly: one line for them, exit code 2. */

/** Wrong use of a command: a flag, a variable, a file. Its message is the one line that is printed. */
export class ConfigurationError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ConfigurationError";
  }
}
