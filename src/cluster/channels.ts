/** Hashes of cached replies that a client has rejected. */
export const responsesChannel = 'responses'
/** Meters whose leases another node needs. */
export const recallsChannel = 'lease-recalls'
