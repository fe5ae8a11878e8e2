import { isIPv4, isIPv6 } from 'node:net'
import { type Detector, findMatches, mergeSpans } from './detector.ts'

const label = '[IP_ADDRESS]'
const v4Pattern = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d|-[a-z]|[ ](?:build|release)\b)/g
/** `192[.]0[.]2[.]1`, as reports of attacks write it. */
const defangedPattern =
  /(?<![\w.])\d{1,3}(?:\[\.\]|\(\.\)|\[dot\])\d{1,3}(?:(?:\[\.\]|\(\.\)|\[dot\]|\.)\d{1,3}){2}(?![\w])/g
const v6Pattern = /(?<![\w:.])[0-9a-f]{0,4}:[0-9a-f:]{1,38}(?:(?:\d{1,3}\.){3}\d{1,3})?(?![\w:]|\.\d)/gi
/** `version 1.2.3.4`, `v1.2.3.4`, `section 4.1.2.3`, `Chrome/1.2.3.4`: numbers of something else. */
const otherNumberPattern =
  /(?:(?<![\p{L}\d])(?:version|release|build|section|sec|chapter|paragraph|figure|clause|article|appendix|table|step|oid|firmware|v|ver|rev|kapitel|abschnitt|absatz|versión|versione|versão|versie|artikel|artículo|articolo|artigo|バージョン|版本)["']?[.:=]?\s?["']?|§\s?|\b(?:chrome|chromium|edga?|opr|safari|crios|firefox|webkit|headlesschrome|electron|brave|vivaldi)\/|[~^]|[<>=~!]=\s?|[<>] )$/iu
const contextLength = 24

export const findIpAddresses: Detector = (text) =>
  mergeSpans([
    ...findMatches(text, v4Pattern, label, ({ 0: match, index }) => isV4(text, match, index)),
    ...findMatches(text, defangedPattern, label, ({ 0: match }) =>
      isIPv4(match.replace(/\[\.\]|\(\.\)|\[dot\]/g, '.')),
    ),
    ...findMatches(text, v6Pattern, label, ({ 0: match, index }) => isV6(text, match, index)),
  ])

function isV4(text: string, match: string, index: number): boolean {
  if (!isIPv4(match)) return false
  const before = text.slice(Math.max(0, index - contextLength), index)
  return !otherNumberPattern.test(before)
}

/** Scopes of programming languages look like short addresses: `a::b`; so do slices of lists: `x[::2]`. */
function isV6(text: string, match: string, index: number): boolean {
  if (!isIPv6(match)) return false
  if (text.charAt(index - 1) === '[' && /[\w)\]]/.test(text.charAt(index - 2))) return false
  const groups = match.split(':').filter((group) => group !== '')
  if (groups.length > 2) return true
  if (match.startsWith('::')) return groups.length > 0 && !/^::(?!1$)\d{1,2}$/.test(match) && /\d/.test(match)
  return /\d/.test(match) && (groups[0]?.length ?? 0) > 2
}
