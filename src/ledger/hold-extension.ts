import { newTimeOrderedHex } from '../lib/ids.ts'

/** The id of a hold that is added to the hold of a request. */
export function newExtensionId(id: string): string {
  return `${id}+${newTimeOrderedHex()}`
}

/** Without its request it is worth nothing: the request's own hold is what is settled. */
export function isExtension(id: string): boolean {
  return id.includes('+')
}
