import { z } from 'zod'

/** Valid in a header: a line break in a pasted key would fail every request with it. */
export const printablePattern = /^[\x20-\x7e]+$/
export const printableMessage = 'must be printable ASCII characters'

export const credentialField = z.string().min(1).max(4096).regex(printablePattern, printableMessage)
