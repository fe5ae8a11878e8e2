import { type Detector, findMatches, mergeSpans } from './detector.ts'

const label = '[SSN]'
const separatedPattern = /(?<![\d-])(\d{3})([- ])(\d{2})\2(\d{4})(?![\d-])/g
/** Nine digits alone may be anything. */
const namedPattern =
  /(?<=(?:\b|_)(?:ssn|social[ _]security)(?:[ _](?:number|no\.?|num|is)){0,3}\W{0,4})(\d{3})()(\d{2})(\d{4})(?!\d)/gi

/** Numbers of the United States' social security; areas, groups and serials that are never issued do not count. */
export const findSsns: Detector = (text) =>
  mergeSpans([
    ...findMatches(text, separatedPattern, label, isIssuable),
    ...findMatches(text, namedPattern, label, isIssuable),
  ])

function isIssuable([, area = '', , group = '', serial = '']: RegExpExecArray): boolean {
  return area !== '000' && area !== '666' && area < '900' && group !== '00' && serial !== '0000'
}
