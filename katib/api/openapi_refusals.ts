/** Refusals of the observation API as its OpenAPI document describes them. */

/** Refusals by code: what they mean, and the headers that come with them. */
export type Refusals = Readonly<Record<number, { description: string; header?: string }>>;

/** Of reads of one observation. */
export const REFUSALS: Refusals = {
  401: {
    description: "No token, or one that the API server does not accept for this audience.",
    header: "WWW-Authenticate",
  },
  403: { description: "The bearer may not get the TrainJob." },
  404: { description: "There is no such TrainJob, or no such path." },
  405: { description: "Only GET is taken.", header: "Allow" },
  422: { description: "The query is not valid." },
  429: { description: "Too many reads, streams or failed authentications.", header: "Retry-After" },
  500: { description: "A fault of the manager; its log says more." },
  503: { description: "Log or API server are out of reach now.", header: "Retry-After" },
};

/** Of streams of many jobs. */
export const JOBS_REFUSALS: Refusals = {
  ...REFUSALS,
  403: { description: "The bearer may not list and watch the jobs of the namespace." },
  404: { description: "There is no such path." },
  405: { description: "Only POST is taken.", header: "Allow" },
  413: { description: "The body is too long." },
  422: { description: "The body is not valid, or the selector matches too many jobs." },
  503: { description: "The API server is out of reach now.", header: "Retry-After" },
};

/** Of requests to stop a job. */
export const STOP_REFUSALS: Refusals = {
  ...REFUSALS,
  403: {
    description: "The bearer may not update the TrainJob, or the Katib Trial that controls it.",
  },
  404: { description: "There is no such TrainJob, it is being deleted, or there is no such path." },
  405: { description: "Only POST is taken.", header: "Allow" },
  409: { description: "The TrainJob, or its Trial, has ended, and was not stopped early." },
  413: { description: "The body is too long." },
  422: { description: "The body is not valid, or the TrainJob is run in another cluster." },
  429: { description: "Too many requests or failed authentications.", header: "Retry-After" },
  503: {
    description:
      "The decision cannot be stored now, or the cluster's TrainJobs have no status.stop.",
    header: "Retry-After",
  },
};

/** Of requests to restart one. */
export const RESTART_REFUSALS: Refusals = {
  ...STOP_REFUSALS,
  409: {
    description:
      "The TrainJob has ended, has not begun, is suspended or being stopped; a restart of it is under way; or the count is not that of the next one.",
  },
  422: { description: "The body is not valid, or Milepost does not run the TrainJob." },
  503: {
    description:
      "The restart cannot be stored now, or the cluster's TrainJobs have no status.restart.",
    header: "Retry-After",
  },
};
