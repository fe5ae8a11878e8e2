import { type Detector, mergeSpans, type Span } from './detector.ts'

const label = '[EMAIL]'
const maxLocalLength = 64

const signPattern = /[@＠]|%40|&#64;/g
/** Letters of scripts without spaces between words belong to an address only if it is all in that script. */
const latinLocal = /[\p{Script=Latin}\p{M}\d._%+'~-]/u
const anyLocal = /[\p{L}\p{N}._+-]/u
const latinDomain =
  /(?:[\p{Script=Latin}\d](?:[\p{Script=Latin}\d-]{0,61}[\p{Script=Latin}\d])?\.){1,8}(?:xn--[a-z0-9-]{2,59}|[a-z]{2,24})(?![\p{Script=Latin}\d]|-[a-z\d])/iuy
const anyDomain = /(?:[\p{L}\p{N}-]{1,63}\.){1,4}\p{L}{2,24}/uy
const literalDomain = /\[(?:\d{1,3}\.){3}\d{1,3}\]/y

const dot = '\\s{0,2}(?:[[({<]\\s{0,2}(?:dot|punkt|punto|point|\\.)\\s{0,2}[\\])}>]|\\.)\\s{0,2}'
/** `jane [at] example [dot] org`, as people write it to hide from robots. */
const bracketedPattern = new RegExp(
  `(?<![\\w.%+-])[\\w.%+-]{1,64}\\s{0,2}[[({<]\\s{0,2}(?:at|@|arroba|chiocciola)\\s{0,2}[\\])}>]\\s{0,2}[\\w-]{1,63}(?:${dot}[\\w-]{2,63}){1,4}`,
  'gi',
)
/** `jane dot doe at example dot org`. */
const spelledPattern =
  /(?<![\w+-])[\w+-]{1,64}(?: dot [\w+-]{1,64}){0,3} at [\w-]{1,63}(?: dot [a-z][\w-]{0,62}){0,3} dot (?:com|org|net|edu|gov|io|dev|co|uk|de|fr|es|it|nl|pt|eu|info|example|test)\b/gi

/** Names of files, such as `icon@2x.png`. */
const fileExtensions: ReadonlySet<string> = new Set(
  'png jpg jpeg gif svg webp ico css scss less js jsx mjs cjs ts tsx json html htm yml yaml toml lock tgz gz zip tar so dll exe service socket timer target conf log txt md py rb rs go java kt sh'.split(
    ' ',
  ),
)

export const findEmails: Detector = (text) => {
  const spans: Span[] = []
  for (const { index, 0: sign } of text.matchAll(signPattern)) {
    const span = readAddress(text, index, index + sign.length)
    if (span) spans.push(span)
  }
  for (const pattern of [bracketedPattern, spelledPattern]) {
    for (const { index, 0: match } of text.matchAll(pattern))
      spans.push({ start: index, end: index + match.length, label })
  }
  return mergeSpans(spans)
}

/** The address around a sign that begins and ends at these places. */
function readAddress(text: string, at: number, after: number): Span | null {
  const domain = readDomain(text, after)
  if (domain === '' || isFileOrVersion(domain)) return null
  const start = findLocalStart(text, at)
  const end = after + domain.length
  const isAddress = start < at && !isCredential(text, start) && !isRemote(text, start, at, end)
  return isAddress ? { start, end, label } : null
}

function readDomain(text: string, after: number): string {
  const [pattern, alternative] = text.charAt(after) === '[' ? [literalDomain] : [latinDomain, anyDomain]
  for (const one of [pattern, alternative]) {
    if (!one) continue
    one.lastIndex = after
    const domain = one.exec(text)?.[0]
    if (domain) return domain
  }
  return ''
}

/** `icon@2x.png`, `package@1.2.3-rc.next`. */
function isFileOrVersion(domain: string): boolean {
  return (
    fileExtensions.has(domain.slice(domain.lastIndexOf('.') + 1).toLowerCase()) ||
    /^v?\d+\.\d+\./.test(domain)
  )
}

function findLocalStart(text: string, at: number): number {
  const character = latinLocal.test(text.charAt(at - 1)) ? latinLocal : anyLocal
  let start = at
  while (start > 0 && at - start < maxLocalLength && character.test(text.charAt(start - 1))) start--
  // A quotation mark or a list sign before the address does not belong to it, nor does an escaped line break.
  while (start < at && !/[\p{L}\p{N}_+]/u.test(text.charAt(start))) start++
  return text.charAt(start - 1) === '\\' && /[ntr]/.test(text.charAt(start)) && start + 1 < at
    ? start + 1
    : start
}

/** `https://user:password@host`: part of a URL; `@user@host`: the name of an account. */
function isCredential(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - maxLocalLength), start)
  return /:\/\/(?:[^\s/?#"'<>]*:)?$/.test(before) || /(?:^|[^\w])@$/.test(before)
}

/** `git@host.org:path`, `deploy@host.org:/srv`: places that programs connect to. */
function isRemote(text: string, start: number, at: number, end: number): boolean {
  const after = text.slice(end, end + 2)
  if (/^:[/~]/.test(after) || (text.slice(start, at) === 'git' && /^[:/]/.test(after))) return true
  return /\b(?:ssh|scp|sftp|rsync|mosh)(?: -\w+(?: \S{1,40})?){0,4} $/.test(
    text.slice(Math.max(0, start - 80), start),
  )
}
