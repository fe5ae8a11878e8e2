import { newTimeOrderedHex } from '../platform/crypto/ids.ts'

const separator = '+'

/** Of the ids of extensions, in SQL. */
export const extensionPattern = `%${separator}%`

/** The id of a hold that is added to the hold of a request. */
export function newExtensionId(id: string): string {
  return `${id}${separator}${newTimeOrderedHex()}`
}

/** Without its request it is worth nothing: the request's own hold is what is settled. */
export function isExtension(id: string): boolean {
  return id.includes(separator)
}

/** The request whose hold an extension adds to. */
export function requestIdOf(extensionId: string): string {
  return extensionId.slice(0, extensionId.indexOf(separator))
}
