import { isIPv4, isIPv6 } from 'node:net'
import { type Detector, findMatches, mergeSpans } from './detector.ts'

const label = '[IP_ADDRESS]'
const v4Pattern = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)/g
const v6Pattern = /(?<![\w:.])[0-9a-f:]{2,39}(?:(?:\d{1,3}\.){3}\d{1,3})?(?![\w:]|\.\d)/gi
/** `version 1.2.3.4`, `v1.2.3.4`, `section 4.1.2.3`: numbers of something else. */
const otherNumberPattern =
  /(?:\b(?:version|release|build|section|chapter|paragraph|figure|clause|v|ver|rev|kapitel|abschnitt)\.?|§)\s?$/i
const contextLength = 16

export const findIpAddresses: Detector = (text) =>
  mergeSpans([
    ...findMatches(text, v4Pattern, label, ({ 0: match, index }) => {
      const before = text.slice(Math.max(0, index - contextLength), index)
      return isIPv4(match) && !otherNumberPattern.test(before)
    }),
    ...findMatches(text, v6Pattern, label, ({ 0: match }) => isAddress(match)),
  ])

/** Scopes of programming languages look like short addresses: `a::b`. */
function isAddress(text: string): boolean {
  if (!isIPv6(text)) return false
  const groups = text.split(':').filter((group) => group !== '')
  return groups.length > 2 || (groups.length > 0 && /\d/.test(text))
}
