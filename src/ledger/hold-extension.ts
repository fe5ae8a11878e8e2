import { newTimeOrderedHex } from '../platform/crypto/ids.ts'

const separator = '+'

/** SQL pattern that the ids of extensions match. */
export const extensionPattern = `%${separator}%`

/** The id of a hold that is added to the hold of a request. */
export function newExtensionId(id: string): string {
  return `${id}${separator}${newTimeOrderedHex()}`
}

/** Recognizes an extension. It is not settled without its request: the request's own hold is. */
export function isExtension(id: string): boolean {
  return id.includes(separator)
}

/** The request whose hold an extension adds to. */
export function requestIdOf(extensionId: string): string {
  return extensionId.slice(0, extensionId.indexOf(separator))
}
