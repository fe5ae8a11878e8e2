/** Statuses that any request to a model may end with, beside those of every operation. */
export const inferenceErrors = [402, 404, 408, 422, 429, 502, 503]
