import { domainToUnicode } from 'node:url'
import { toAsciiHost } from '../http/host-name.ts'

/** RFC 5321: the longest address that can be delivered to. */
const maxLength = 254

/** An e-mail address in the form in which addresses are compared. */
export interface EmailAddress {
  /** Lower case, with the domain in ASCII. */
  address: string
  domain: string
  /** The same address with the domain in Unicode; as a member may have entered it. */
  unicodeAddress: string
}

/**
 * Null for text that is not an address, or that has characters such as `ａ` or `K` (the Kelvin sign) before the `@`, which one
 * system reads as a letter of ASCII and another as a different person. In a domain, IDNA says which letter they are.
 */
export function parseEmailAddress(text: string): EmailAddress | null {
  const composed = text.normalize('NFC')
  if (composed.length > maxLength) return null
  const [, local, host] = /^([^\s@"(),:;<>[\]\\\p{Cc}\p{Cf}]+)@([^\s@]+)$/u.exec(composed) ?? []
  if (local === undefined || host === undefined || hasLookalikes(text.slice(0, text.lastIndexOf('@'))))
    return null
  const domain = parseEmailDomain(host)
  if (domain === null) return null
  const name = local.toLowerCase()
  return { address: `${name}@${domain}`, domain, unicodeAddress: `${name}@${domainToUnicode(domain)}` }
}

/** The domain of e-mail addresses, as domains are compared (`toAsciiHost`); null if it is none. */
export function parseEmailDomain(text: string): string | null {
  const domain = toAsciiHost(text)
  const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
  const isName = new RegExp(`^(?:${label}\\.)+(?!\\d+$)${label}$`).test(domain)
  return isName && domain.length <= 253 ? domain : null
}

/** Composed and decomposed letters are the same; other characters that normalization replaces are not. */
function hasLookalikes(text: string): boolean {
  const composed = text.normalize('NFC')
  return composed !== text.normalize('NFKC') || (composed !== text && text.normalize('NFD') !== text)
}
