import { type Detector, mergeSpans, type Span } from './detector.ts'

const label = '[EMAIL]'
const maxLocalLength = 64

const localCharacter = /[\p{L}\p{N}!#$%&'*+/=?^_`{|}~.-]/u
const domainPattern =
  /(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,8}(?:xn--[a-z0-9-]{2,59}|\p{L}{2,24})(?![\p{L}\p{N}-])/uy

/** `jane [at] example [dot] org`, as people write it to hide from robots. */
const spelledPattern =
  /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]{1,64}\s{0,2}[[({<]\s{0,2}(?:at|@)\s{0,2}[\])}>]\s{0,2}[\p{L}\p{N}-]{1,63}(?:\s{0,2}(?:[[({<]\s{0,2}(?:dot|\.)\s{0,2}[\])}>]|\.)\s{0,2}[\p{L}\p{N}-]{2,63}){1,4}/giu

/** Names of files, such as `icon@2x.png`. */
const fileExtensions: ReadonlySet<string> = new Set(
  'png jpg jpeg gif svg webp ico css scss less js jsx mjs cjs tsx json html htm yml yaml toml lock tgz gz zip tar so dll exe'.split(
    ' ',
  ),
)

export const findEmails: Detector = (text) => {
  const spans: Span[] = []
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    const span = readAddress(text, at)
    if (span) spans.push(span)
  }
  for (const { index, 0: match } of text.matchAll(spelledPattern))
    spans.push({ start: index, end: index + match.length, label })
  return mergeSpans(spans)
}

/** The address around an `@`. */
function readAddress(text: string, at: number): Span | null {
  domainPattern.lastIndex = at + 1
  const domain = domainPattern.exec(text)?.[0]
  if (!domain || fileExtensions.has(domain.slice(domain.lastIndexOf('.') + 1).toLowerCase())) return null
  const start = findLocalStart(text, at)
  const end = at + 1 + domain.length
  const isAddress = start < at && !isCredential(text, start) && !isRemote(text, start, at, end)
  return isAddress ? { start, end, label } : null
}

function findLocalStart(text: string, at: number): number {
  let start = at
  while (start > 0 && at - start < maxLocalLength && localCharacter.test(text.charAt(start - 1))) start--
  // A quotation mark or a list sign before the address does not belong to it.
  while (start < at && !/[\p{L}\p{N}_+]/u.test(text.charAt(start))) start++
  return start
}

/** `https://user:password@host`: part of a URL. */
function isCredential(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - maxLocalLength), start)
  return /:\/\/[^\s/]*$/.test(before)
}

/** `git@host.org:path`: the address of a repository. */
function isRemote(text: string, start: number, at: number, end: number): boolean {
  return text.slice(start, at) === 'git' && /^[:/]/.test(text.slice(end, end + 1))
}
