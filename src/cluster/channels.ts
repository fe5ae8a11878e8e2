/** Hashes of cached replies that a client has rejected. */
export const responsesChannel = 'responses'
