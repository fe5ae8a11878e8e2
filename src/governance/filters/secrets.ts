import { findAssignedSecrets, isPassword } from './assigned-secrets.ts'
import { type Detector, mergeSpans, type Span } from './detector.ts'
import { computeEntropy, isPlaceholder } from './random-text.ts'
import { type SecretFormat, secretFormats } from './secret-formats.ts'

/** Keys and tokens by the formats their issuers publish, and random values that are named as secrets. */
export const findSecrets: Detector = (text) =>
  mergeSpans([
    ...findPrivateKeys(text),
    ...findFormats(text),
    ...findAssignedSecrets(text),
    ...findPasswords(text),
  ])

/** Formats by the codes of the first two characters of their prefix; those of one character for all that may follow. */
const formatsByStart = new Map<number, SecretFormat[]>()
/** Formats that begin with no certain characters: they are tried at long words only. */
const formatsWithoutPrefix = secretFormats.filter(({ prefix }) => prefix === '')
const minWordLength = 8
const asciiLimit = 128

for (const format of secretFormats) {
  const [first, second] = [format.prefix.charCodeAt(0), format.prefix.charCodeAt(1)]
  const all = format.prefix.length === 1 ? Array.from({ length: asciiLimit }, (_, code) => code) : [second]
  for (const code of format.prefix === '' ? [] : all) {
    const start = first * asciiLimit + code
    formatsByStart.set(start, [...(formatsByStart.get(start) ?? []), format])
  }
}

/** Letters, digits and `_` are 1; hyphens are 2. */
const characterKinds = Uint8Array.from({ length: asciiLimit }, (_, code) => {
  const character = String.fromCharCode(code)
  return /\w/.test(character) ? 1 : character === '-' ? 2 : 0
})
const kindAt = (text: string, index: number) => characterKinds[text.charCodeAt(index)] ?? 0

function findFormats(text: string): Span[] {
  const spans: Span[] = []
  const add = (format: SecretFormat, at: number) => {
    const span = readFormat(text, at, format)
    if (span) spans.push(span)
  }
  for (let at = 0; at < text.length; at++) {
    if (kindAt(text, at) !== 1 || !isWordStart(text, at)) continue
    const start = text.charCodeAt(at) * asciiLimit + text.charCodeAt(at + 1)
    for (const format of formatsByStart.get(start) ?? []) add(format, at)
    if (hasLength(text, at, minWordLength)) for (const format of formatsWithoutPrefix) add(format, at)
  }
  return spans
}

/** Not in the middle of a longer word, but after an escaped line break. */
function isWordStart(text: string, at: number): boolean {
  if (at === 0 || kindAt(text, at - 1) !== 1) return true
  return text.charAt(at - 2) === '\\' && 'nrt'.includes(text.charAt(at - 1))
}

function hasLength(text: string, start: number, length: number): boolean {
  for (let at = start; at < start + length; at++) if (kindAt(text, at) === 0) return false
  return true
}

function readFormat(text: string, start: number, { id, prefix, pattern }: SecretFormat): Span | null {
  if (!text.startsWith(prefix, start)) return null
  pattern.lastIndex = start
  const match = pattern.exec(text)?.[0]
  if (match === undefined || isFiller(id, match.slice(prefix.length))) return null
  if (id === 'ethereum-private-key' && isPublicHash(text, start)) return null
  return { start, end: start + match.length, label: `[SECRET:${id}]`, kind: id }
}

const minEntropy = 2.2
/** Forms that so many checks leave that nothing else has them. */
const certainFormats: ReadonlySet<string> = new Set([
  'json-web-token',
  'slack-webhook-url',
  'teams-webhook-url',
])

/** `ghp_xxxx`, `AKIAIOSFODNN7EXAMPLE`: documentation. */
function isFiller(id: string, body: string): boolean {
  return !certainFormats.has(id) && (isPlaceholder(body) || computeEntropy(body) < minEntropy)
}

/** Transactions, blocks and topics have public names of the same form. */
function isPublicHash(text: string, index: number): boolean {
  const [before, after] = [text.slice(Math.max(0, index - 40), index), text.slice(index + 66, index + 100)]
  const name = /\b(?:tx|txn|transaction|block|parent|hash|topics?|root|digest|commitment|salt|event|receipt)/i
  return (
    (name.test(before) || /^\W{0,6}(?:is )?(?:the |a )?(?:tx|transaction|block|hash)/i.test(after)) &&
    !/priv|secret/i.test(before)
  )
}

const blockMark = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
/** A key without its end is redacted up to here. */
const maxBlockLength = 20_000

function findPrivateKeys(text: string): Span[] {
  const spans: Span[] = []
  let start: number | null = null
  const add = (end: number) => {
    if (start === null) return
    const kind = 'private-key-block'
    spans.push({ start, end: Math.min(end, start + maxBlockLength), label: `[SECRET:${kind}]`, kind })
    start = null
  }
  for (const { index, 0: mark, 1: side } of text.matchAll(blockMark)) {
    add(side === 'END' ? index + mark.length : index)
    if (side === 'BEGIN' && !isQuotedMark(text, index + mark.length)) start = index
  }
  add(text.length)
  return spans
}

/** `startsWith("-----BEGIN PRIVATE KEY-----")`: code about keys. */
function isQuotedMark(text: string, end: number): boolean {
  return /^["'`]\s{0,8}[);\]}]/.test(text.slice(end, end + 10))
}

/** What stands before a password, and the pattern that reads on from there: the password is its first group. */
const passwordPlaces: readonly { kind: string; mark: RegExp; rest: RegExp }[] = [
  {
    kind: 'url-password',
    mark: /[a-z]:\/\//gi,
    rest: /[^\s:@/"'<>]{0,100}:([^\s@"'`<>/]{3,256})@[\w[.-]/y,
  },
  {
    kind: 'assigned-password',
    mark: /pass(?:word|wd|phrase)?|pwd|passwort/gi,
    rest: /["'`\]\\]{0,3}\s{0,3}(?:[:=]>|:?={1,3}|:| is )\s{0,3}(?:["'`]|\\["'])?([^\s"'`<>,;(){}\\]{8,128})(?=["'`\s,;<\\]|$)/y,
  },
  {
    kind: 'basic-authentication',
    mark: /\s(?:-u|--user)[ =]/g,
    rest: /["']?[\w.@-]{1,64}:([^\s"'`<>]{6,128})(?=["'\s]|$)/y,
  },
  {
    kind: 'azure-client-secret',
    mark: /(?<![A-Za-z0-9_~.-])(?=[A-Za-z0-9_~.]{3}\dQ~)/g,
    rest: /([A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34})(?![A-Za-z0-9_~.-])/y,
  },
]
const urlPlaceholder = /^(?:pass(?:word|wd|phrase)?|pwd|pw|\*+|x+|\.+)$|^[$%{<[]/i

function findPasswords(text: string): Span[] {
  return passwordPlaces.flatMap(({ kind, mark, rest }) =>
    [...text.matchAll(mark)].flatMap(({ index, 0: words }) => {
      rest.lastIndex = index + words.length
      const match = rest.exec(text)
      const value = match?.[1]
      if (match === null || value === undefined || !isPasswordOf(kind, value)) return []
      const start = index + words.length + match[0].lastIndexOf(value)
      return [{ start, end: start + value.length, label: `[SECRET:${kind}]`, kind }]
    }),
  )
}

function isPasswordOf(kind: string, value: string): boolean {
  if (kind === 'url-password') return !urlPlaceholder.test(value) && !isPlaceholder(value)
  return !/^[$%{<[]/.test(value) && isPassword(value)
}
